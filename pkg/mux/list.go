package mux

import (
	"context"
	"fmt"

	"github.com/dezren39/mcpx/pkg/wire"
)

// The most that is fetched of one list (threat T34).
const (
	maxPages     = 1000
	maxItems     = 10_000
	maxListBytes = 32 << 20
)

// List fetches all pages of a list and makes one result of them: the first
// page's, with the items of every page, raw and in order, under field, and
// without a cursor. complete is false when the server's list had no end within
// the limits, or came back to a cursor that it had given before; what was
// gathered is returned all the same.
func (m *Mux) List(ctx context.Context, method, field string) (result []byte, complete bool, err error) {
	var (
		first, items []byte
		count        int
		params       []byte
		seen         = map[string]bool{}
	)
	for range maxPages {
		page, err := m.Call(ctx, method, params)
		if err != nil {
			return nil, false, err
		}
		if first == nil {
			first = page
		}
		at, ok := wire.Member(page, field)
		if !ok || page[at.Start] != '[' {
			return nil, false, fmt.Errorf("server %q: %s: answered without a list of %s", m.server, method, field)
		}
		list := page[at.Start:at.End]
		for item := range wire.Elements(list) {
			if count == maxItems || len(items)+item.End-item.Start >= maxListBytes {
				return joined(first, field, items), false, nil
			}
			if count++; count > 1 {
				items = append(items, ',')
			}
			items = append(items, list[item.Start:item.End]...)
		}
		cursor := cursorOf(page)
		switch {
		case cursor == nil:
			return joined(first, field, items), true, nil
		case seen[string(cursor)]:
			return joined(first, field, items), false, nil
		}
		seen[string(cursor)] = true
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	return joined(first, field, items), false, nil
}

// cursorOf is the raw cursor of the next page; nil when this was the last.
func cursorOf(page []byte) []byte {
	at, ok := wire.Member(page, "nextCursor")
	if !ok {
		return nil
	}
	if cursor := page[at.Start:at.End]; cursor[0] == '"' && string(cursor) != `""` {
		return cursor
	}
	return nil
}

// joined is the page with all items in place of its own.
func joined(page []byte, field string, items []byte) []byte {
	all := append(append([]byte{'['}, items...), ']')
	return wire.ReplaceMember(wire.DeleteMember(page, "nextCursor"), field, all)
}
