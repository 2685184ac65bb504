package daemon

import (
	"fmt"
	"net/http"
	"os"
	"slices"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/page"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/scope"
)

// callerDepth bounds how far up a caller's ancestors are looked for a host.
const callerDepth = 64

// approve decides whether a caller may trust, widen or move (design D11). An
// agent can run every command a person can, so a caller that descends from the
// host of an open session is refused under "person". nil: it may. Pure.
func approve(policy config.Approve, caller []proc.Info, hosts []proc.ID, typed string) *api.Error {
	switch policy {
	case config.ApproveAny:
		return nil
	case config.ApproveNever:
		return &api.Error{Field: "daemon.approve", Msg: "this daemon lets nobody change that", Hint: `edit the file, or set "approve" to "person" in the daemon block`}
	}
	for _, p := range caller {
		if slices.Contains(hosts, p.ID) {
			return &api.Error{
				Field: "daemon.approve",
				Msg:   fmt.Sprintf("asked from inside an agent's session or a server (pid %d), and that is for a person to say", p.PID),
				Hint:  "in a terminal of your own, type: " + typed,
			}
		}
	}
	return nil
}

// approveVisitor decides the same for who looks at the page: it is a person's when
// a person opened it. Pure.
func approveVisitor(policy config.Approve, v page.Visitor, typed string) *api.Error {
	if policy == config.ApprovePerson && !v.Person {
		return &api.Error{
			Field: "daemon.approve",
			Msg:   "this page was opened from inside an agent's session, and that is for a person to say",
			Hint:  "in a terminal of your own, type: mcpx ui, or " + typed,
		}
	}
	return approve(policy, nil, nil, typed)
}

// manages decides whether a caller is a server of the session's own, in a daemon
// whose user lets a model choose among the roots that its session has (threat T8).
// Where nobody may, a model may not. Pure.
func manages(d config.Daemon, caller []proc.Info, session string, instances []api.InstanceStatus) bool {
	if d.Approve == config.ApproveNever || !slices.Contains(d.ManagementTools, config.ManageRoots) {
		return false
	}
	key := scope.Session.Key(scope.CallContext{Session: session})
	return slices.ContainsFunc(instances, func(in api.InstanceStatus) bool {
		return in.PID != 0 && in.Key == key && slices.ContainsFunc(caller, func(p proc.Info) bool { return p.PID == in.PID })
	})
}

func (d *Daemon) managed(r *http.Request, session string) bool {
	return manages(d.loader.View("").Daemon, d.callers(r), session, d.servers.Snapshot())
}

// hosts are the host programs of the open sessions, and the daemon: what it
// started is a server, by which an agent may reach a shell.
func (d *Daemon) hosts() []proc.ID {
	start, _ := proc.StartTime(os.Getpid())
	ids := []proc.ID{{PID: os.Getpid(), Start: start}}
	for _, c := range d.table.All() {
		if id := c.Identity().Host; id.PID != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}
