package registry

import (
	"cmp"
	"slices"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/remote"
	"github.com/dezren39/mcpx/pkg/upstream"
)

// listFailed is the one state that a pool does not know.
const listFailed = "list-failed"

// Snapshot is every instance, and every key that is backing off or has failed,
// for status: by server, then key.
func (r *Registry) Snapshot() []api.InstanceStatus {
	all := []api.InstanceStatus{}
	for _, sv := range r.all() {
		for _, i := range sv.pool.Snapshot() {
			st := api.InstanceStatus{
				ID: i.ID, Server: sv.conf.Name, Scope: string(sv.conf.Scope), Key: i.Key, Root: i.Root,
				State: string(i.State), Reason: i.Reason, Leases: i.Leases,
				StartedAt: i.StartedAt, LastUsed: i.LastUsed, RetryAt: i.RetryAt, LastError: i.LastError,
			}
			if in, ok := i.Upstream.(*instance); ok {
				in.describe(&st)
			}
			all = append(all, st)
		}
	}
	slices.SortStableFunc(all, func(a, b api.InstanceStatus) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// describe adds what a running instance says of itself. It is connected only
// once a list has succeeded (design §6).
func (in *instance) describe(st *api.InstanceStatus) {
	plan, hs, stats := in.conn.Plan(), in.mux.Handshake(), in.mux.Stats()
	st.Cwd, st.CwdSource = in.sv.r.dirOf(plan), string(plan.DirSource)
	st.Era, st.ProtocolVersion = string(hs.Era), hs.ProtocolVersion
	st.Sessions, st.Calls, st.Errors, st.Dropped = stats.Ports, stats.Calls, stats.Errors, stats.Dropped
	st.Excess = stats.Excess
	st.Noise = in.conn.Noise()
	if st.PID = in.conn.PID(); st.PID != 0 {
		st.RSSBytes = proc.RSS(st.PID)
	}
	switch c := in.conn.(type) {
	case *remote.Conn:
		st.LastError = cmp.Or(c.Trouble(), st.LastError)
	case *upstream.Conn:
		st.NoiseLines = c.NoiseLines()
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	st.Tools, st.Prompts, st.Resources = in.tools, in.prompts, in.resources
	switch {
	case st.State != string(pool.Connected):
	case in.fault != "":
		st.State, st.Reason = listFailed, in.fault
	case !in.listed:
		st.State = string(pool.Starting)
	}
}
