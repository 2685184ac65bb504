package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/dezren39/mcpx/pkg/roof"
	"github.com/dezren39/mcpx/pkg/wire"
)

// The most that a list may hold (threat T34).
const (
	maxPages = 1000
	maxItems = 10_000
	maxBytes = 32 << 20
)

// List is a list with all its pages as one: the first as it came, with the items
// of the others and without a cursor.
func (c *Client) List(ctx context.Context, k roof.Kind) ([]byte, error) {
	var first, items []byte
	var params []byte
	count, seen := 0, map[string]bool{}
	for n := range maxPages {
		page, err := c.Request(ctx, k.Method(), params)
		if err != nil {
			return nil, err
		}
		at, ok := wire.Member(page, k.Member())
		if !ok || page[at.Start] != '[' {
			return nil, fmt.Errorf("%s: answered without a list of %s", k.Method(), k.Member())
		}
		cursor := member(page, "nextCursor")
		if cursor == nil && n == 0 {
			return page, nil
		}
		if first == nil {
			first = page
		}
		list := page[at.Start:at.End]
		for item := range wire.Elements(list) {
			if count++; count > 1 {
				items = append(items, ',')
			}
			items = append(items, list[item.Start:item.End]...)
		}
		switch {
		case cursor == nil:
			return wire.ReplaceMember(wire.DeleteMember(first, "nextCursor"), k.Member(), append(append([]byte{'['}, items...), ']')), nil
		case seen[string(cursor)]:
			return nil, fmt.Errorf("%s: the list has no end: the server names cursor %.100s again", k.Method(), cursor)
		case count > maxItems, len(items) > maxBytes:
			return nil, tooMuch(k)
		}
		seen[string(cursor)] = true
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	return nil, tooMuch(k)
}

func tooMuch(k roof.Kind) error {
	return fmt.Errorf("%s: the list has no end within %d pages, %d items and %d MiB", k.Method(), maxPages, maxItems, maxBytes>>20)
}

// Lacks reports whether err says that there is no such method: a server without
// prompts, say.
func Lacks(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == wire.CodeMethodNotFound
}

// member is a raw value; nil when it is absent or null.
func member(object []byte, key string) []byte {
	at, ok := wire.Member(object, key)
	if !ok || object[at.Start] == 'n' {
		return nil
	}
	return object[at.Start:at.End]
}
