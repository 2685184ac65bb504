package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// listings are the lists of a catalogue: the capability that promises each, the
// method, and the member that holds its items.
var listings = [...]struct{ kind, method, member string }{
	{"tools", "tools/list", "tools"},
	{"prompts", "prompts/list", "prompts"},
	{"resources", "resources/list", "resources"},
	{"resources", templates, "resourceTemplates"},
}

const templates = "resources/templates/list"

// follow lists what the server has after its start and whenever it says that
// this has changed. It holds no lease: an idle instance stays idle.
func (in *instance) follow() {
	if scope.PerCall(in.key) && in.sv.catalogue() != nil {
		in.listedAll(in.sv.catalogue()) // a process of one call has better things to do
		return
	}
	for {
		c, err := in.list()
		switch {
		case in.life.Err() != nil:
			return
		case err != nil:
			in.listFailed(err)
		default:
			in.listedAll(c)
			in.sv.publish(c, stamp(in.conn.Program()))
		}
		select {
		case <-in.news:
		case <-in.life.Done():
			return
		}
	}
}

// publish keeps a new catalogue and tells whom it may concern.
func (sv *server) publish(c *Catalogue, p program) {
	if kinds := sv.keep(c, p); len(kinds) > 0 && sv.r.o.Changed != nil {
		sv.r.o.Changed(sv.def, kinds)
	}
}

// listedAll notes for status that a listing succeeded.
func (in *instance) listedAll(c *Catalogue) {
	tools, prompts, resources := c.Tools(), c.Prompts(), c.Resources()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.listed, in.fault = true, ""
	in.tools, in.prompts, in.resources = tools, prompts, resources
}

// listFailed notes for status why a listing failed; the log has it once. What
// was kept before stays (report G4).
func (in *instance) listFailed(err error) {
	in.mu.Lock()
	told := in.fault == err.Error()
	in.fault = err.Error()
	in.mu.Unlock()
	if !told {
		in.sv.r.log.Warn("got no list", "server", in.sv.conf.Name, "key", in.key, "err", err)
	}
}

// list asks for all that the handshake promises, within startTimeout. Half a
// catalogue is none (report F11).
func (in *instance) list() (*Catalogue, error) {
	ctx, cancel := context.WithTimeout(in.life, in.sv.conf.StartTimeout)
	defer cancel()
	hs := in.mux.Handshake()
	c := &Catalogue{Handshake: hs.Initialize, ProtocolVersion: hs.ProtocolVersion, Lists: map[string][]byte{}}
	for _, l := range listings {
		if !upstream.Offers(hs.Result, l.kind) {
			continue
		}
		result, complete, err := in.mux.List(ctx, l.method, l.member)
		switch {
		case err == nil && complete:
			c.Lists[l.method] = result
		case err == nil:
			return nil, fmt.Errorf("%s: the list has no end, or is too long to be kept", l.method)
		case l.method == templates && isUnknownMethod(err):
			// No capability of its own promises it.
		default:
			return nil, fmt.Errorf("%s: %w", l.method, err)
		}
	}
	return c, nil
}

// isUnknownMethod reports whether the server does not know the method at all.
func isUnknownMethod(err error) bool {
	e, ok := errors.AsType[*mux.Error](err)
	return ok && e.Code == wire.CodeMethodNotFound
}
