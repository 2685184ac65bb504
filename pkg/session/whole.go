package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/registry"
	"github.com/dezren39/mcpx/pkg/roof"
	"github.com/dezren39/mcpx/pkg/wire"
)

// errClosed is what is asked for a host that is gone.
var errClosed = errors.New("the connection is closed")

// whole is all of a server's list, as this session may see it: what is kept while
// it does not run, else what it says itself, all pages in one.
func (l *lane) whole(ctx context.Context, s *spot, k roof.Kind) ([]byte, error) {
	list := lists[k.Method()]
	server := s.verdict.server
	l.listed(list.family, listing{offer: s.verdict.offer(list.family)}) // also of one that does not answer: it is told of later
	if err := s.missing(); err != nil {
		return nil, err
	}
	lease, up := l.c.o.Servers.Running(server, s.rs.Key, l.c.who.Session)
	if !up {
		if cat, kept := l.c.o.Servers.Catalogue(server); kept {
			if result := listOf(cat, k, server); result != nil {
				return result, nil
			}
		}
		var err error
		if lease, err = l.lease(ctx, s); err != nil {
			return nil, err
		}
	}
	defer lease.Release()
	p := l.enter(lease, !s.perCall())
	if p == nil {
		return nil, errClosed
	}
	defer p.leave()
	l.listed(list.family, listing{offer: s.verdict.offer(list.family), on: p.on})
	if !p.lists.has(list.family) {
		return emptyList(list.member), nil
	}
	result, complete, err := lease.Mux().List(ctx, k.Method(), list.member)
	switch {
	case k == roof.Templates && isUnknownMethod(err): // no capability of its own promises it
		return emptyList(list.member), nil
	case err != nil:
		return nil, err
	case !complete:
		l.note(fmt.Errorf("server %q: %s has no end, or is too long: it was cut", l.name, k.Method()))
	}
	return onlyAllowed(k.Method(), result, server), nil
}

// listOf is a server's list as far as it is kept; nil when it is not.
func listOf(cat *registry.Catalogue, k roof.Kind, s *config.Resolved) []byte {
	list := lists[k.Method()]
	switch {
	case cat.Lists[k.Method()] != nil:
		return onlyAllowed(k.Method(), cat.Lists[k.Method()], s)
	case k == roof.Templates, !offered(cat.Handshake).has(list.family):
		return emptyList(list.member)
	}
	return nil
}

func isUnknownMethod(err error) bool {
	e, ok := errors.AsType[*mux.Error](err)
	return ok && e.Code == wire.CodeMethodNotFound
}
