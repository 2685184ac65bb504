package daemon

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/session"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// maxRoots bounds what is set for one session (threat T35).
const maxRoots = 64

func (d *Daemon) getSessions(w http.ResponseWriter, _ *http.Request) {
	api.WriteJSON(w, http.StatusOK, d.status().Sessions)
}

// ofSession finds the open session that a request is about, or answers it.
func (d *Daemon) ofSession(w http.ResponseWriter, r *http.Request) *session.Session {
	id := r.PathValue("id")
	s := d.table.Session(id)
	if s == nil {
		api.WriteError(w, http.StatusNotFound, api.Error{Field: "session", Msg: fmt.Sprintf("no open session is called %q", id), Hint: "mcpx sessions lists them"})
	}
	return s
}

func (d *Daemon) putVisible(w http.ResponseWriter, r *http.Request) {
	var req api.SwitchRequest
	if err := api.ReadJSON(r, &req); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	d.flip(w, r, req)
}

func (d *Daemon) deleteVisible(w http.ResponseWriter, r *http.Request) {
	if err := nothing(r); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	d.flip(w, r, api.SwitchRequest{Op: string(visibility.Reset)})
}

// flip changes a session's switch. Who may not widen may still narrow: such a
// switch only takes away from what the rules show, wherever the session goes.
func (d *Daemon) flip(w http.ResponseWriter, r *http.Request, req api.SwitchRequest) {
	d.choosing.Lock()
	defer d.choosing.Unlock()
	s := d.ofSession(w, r)
	if s == nil {
		return
	}
	now := s.Decision()
	o, err := now.Change(visibility.Op(req.Op), req.Servers...)
	if err != nil {
		refuseWith(w, err)
		return
	}
	id := r.PathValue("id")
	typed := strings.Join(append([]string{"mcpx sessions", req.Op}, req.Servers...), " ") + " --session " + id
	no := d.consent(r, typed)
	o.Narrow = false
	more := s.Widened(o)
	if no != nil && len(more) > 0 {
		no.Msg = fmt.Sprintf("it would show %s to the session; %s", visibility.Allow{Servers: more}, no.Msg)
		api.WriteError(w, http.StatusForbidden, *no)
		return
	}
	o.Narrow = o.Set && no != nil && (!now.Override.Set || now.Override.Narrow)
	if err := s.Switch(o); err != nil {
		refuseWith(w, err)
		return
	}
	d.o.Log.Info("switched session", "session", id, "rule", cmp.Or(o.String(), "reset"), "pid", by(r))
	d.readout(w, id)
}

func (d *Daemon) putRoots(w http.ResponseWriter, r *http.Request) {
	var req api.RootsRequest
	if err := api.ReadJSON(r, &req); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	d.choosing.Lock()
	defer d.choosing.Unlock()
	s := d.ofSession(w, r)
	if s == nil {
		return
	}
	var dirs []string
	for _, asked := range req.Dirs {
		dir, err := canon.Dir(asked)
		if err != nil && req.Op == "remove" { // it may be gone
			dir, err = canon.Deepest(asked)
		}
		if err != nil {
			api.WriteError(w, http.StatusConflict, api.Error{Field: "dirs", Msg: fmt.Sprintf("%s: %v", asked, canon.Reason(err)), Hint: "name a directory that exists"})
			return
		}
		dirs = append(dirs, dir)
	}
	now := s.Roots()
	next, err := changeRoots(now, req.Op, dirs, d.ceiling())
	if err != nil {
		api.WriteError(w, http.StatusConflict, *err)
		return
	}
	id := r.PathValue("id")
	typed := strings.Join(append([]string{"mcpx roots", req.Op}, req.Dirs...), " ") + " --session " + id
	if no := d.consent(r, typed); no != nil && !onlyLess(now, next) && !(d.managed(r, id) && inside(now, next)) {
		api.WriteError(w, http.StatusForbidden, *no)
		return
	}
	if err := s.SetRoots(next); err != nil {
		refuseWith(w, err)
		return
	}
	d.o.Log.Info("set roots of session", "session", id, "dir", strings.Join(next, " "), "pid", by(r))
	d.readout(w, id)
}

// ceiling is what may be set: nothing outside of these directories, if there are
// any.
func (d *Daemon) ceiling() (dirs []string) {
	for _, dir := range d.loader.View("").Daemon.RootsCeiling {
		if rest, ok := strings.CutPrefix(dir, "~"); ok {
			dir = d.o.Dirs.Home + rest
		}
		if real, err := canon.Deepest(dir); err == nil {
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// changeRoots is what a person's set is after a change; nil after a reset. Without
// one, what is added or removed is so from where the session stands now. Pure.
func changeRoots(now []roots.Root, op string, dirs, ceiling []string) ([]string, *api.Error) {
	if (op == "reset") != (len(dirs) == 0) {
		return nil, &api.Error{Field: "dirs", Msg: fmt.Sprintf("%s with %d directories", op, len(dirs)), Hint: "add, remove and set name directories; reset does not"}
	}
	have := standing(now)
	var next []string
	switch op {
	case "reset":
		return nil, nil
	case "set":
		next = dirs
	case "add":
		next = append(have, dirs...)
	case "remove":
		for _, dir := range dirs {
			if !slices.Contains(have, dir) {
				return nil, &api.Error{Field: "dirs", Msg: dir + " is no root of this session", Hint: "mcpx roots lists them"}
			}
		}
		next = slices.DeleteFunc(have, func(dir string) bool { return slices.Contains(dirs, dir) })
		if len(next) == 0 {
			return nil, &api.Error{Field: "dirs", Msg: "that would leave the session without a root", Hint: "mcpx roots set DIR names another, mcpx roots reset goes back to where the host is"}
		}
	default:
		return nil, &api.Error{Field: "op", Msg: fmt.Sprintf("roots have no %q", op), Hint: "known here: add, remove, set, reset"}
	}
	next = unique(next)
	if len(next) > maxRoots {
		return nil, &api.Error{Field: "dirs", Msg: fmt.Sprintf("%d roots are more than the %d that a session may have", len(next), maxRoots)}
	}
	for _, dir := range next {
		if !within(dir, ceiling) {
			return nil, &api.Error{Field: "daemon.rootsCeiling", Msg: dir + " is outside of what may be set: " + strings.Join(ceiling, ", "), Hint: "choose a directory inside, or widen rootsCeiling in the daemon block"}
		}
	}
	return next, nil
}

// standing are the directories that a session's roots are.
func standing(now []roots.Root) (dirs []string) {
	for _, r := range now {
		if r.Ignored == "" {
			dirs = append(dirs, r.Path)
		}
	}
	return dirs
}

// onlyLess reports whether a change takes roots away and moves the session
// nowhere: that needs nobody's consent (design D11).
func onlyLess(now []roots.Root, next []string) bool {
	have := standing(now)
	return len(next) > 0 && len(have) > 0 && next[0] == have[0] &&
		!slices.ContainsFunc(next, func(dir string) bool { return !slices.Contains(have, dir) })
}

// inside reports whether next goes nowhere that the session does not reach now.
func inside(now []roots.Root, next []string) bool {
	have := standing(now)
	return len(next) > 0 && len(have) > 0 && !slices.ContainsFunc(next, func(dir string) bool { return !within(dir, have) })
}

func within(dir string, ceiling []string) bool {
	return len(ceiling) == 0 || slices.ContainsFunc(ceiling, func(top string) bool { return scope.Under(dir, top) })
}

// unique keeps the first of each.
func unique(dirs []string) (out []string) {
	for _, dir := range dirs {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// readout answers with the session as it is now.
func (d *Daemon) readout(w http.ResponseWriter, id string) {
	for _, s := range d.status().Sessions {
		if s.ID == id {
			api.WriteJSON(w, http.StatusOK, s)
			return
		}
	}
	api.WriteError(w, http.StatusNotFound, api.Error{Field: "session", Msg: fmt.Sprintf("session %q has ended meanwhile", id)})
}
