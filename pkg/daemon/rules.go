package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/session"
	"github.com/dezren39/mcpx/pkg/source"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// RulesOf is the document in force, and what sessions in dirs would see.
func RulesOf(l *source.Loader, dirs []string) api.Rules { return rulesOf(l, l.Rules(), dirs) }

func rulesOf(l *source.Loader, r *source.Rules, dirs []string) api.Rules {
	out := api.Rules{
		Path: r.Path, Exists: r.Exists, Broken: r.Broken, Default: r.Document.Default, OnError: "open", Live: r.Live,
		Rules: []api.Rule{}, Problems: api.Problems(r.Problems), Sees: []api.Sees{},
	}
	if r.Closed {
		out.OnError = "closed"
	}
	for _, row := range r.Document.Rows {
		out.Rules = append(out.Rules, api.Rule{Path: row.Path, Servers: row.Allow})
	}
	for _, dir := range dirs {
		d := session.Decide(l.View(dir), r.Table, dir, visibility.Override{})
		s := api.Sees{
			Dir: dir, Servers: d.Allow, Badge: d.Badge(false),
			Visible: list(d.Visible()), Hidden: list(d.Hidden()), Missing: list(d.Missing),
		}
		if d.Row >= 0 {
			s.Rule = &d.Rule
		}
		out.Sees = append(out.Sees, s)
	}
	return out
}

// EditRules makes one change to the document. agree is asked about one by which
// somebody would see a server that is hidden now.
func EditRules(l *source.Loader, req api.RulesRequest, dirs []string, agree func(widened string) error) error {
	return l.EditRules(editOf(req), func(before, after *source.Rules) error {
		if widened := widens(l, before.Table, after.Table, dirs); widened != "" {
			return agree(widened)
		}
		return nil
	})
}

// previewRules is the document as a change would leave it; nothing is written.
func previewRules(l *source.Loader, req api.RulesRequest, dirs []string) (api.Rules, error) {
	out, enough := RulesOf(l, dirs), errors.New("seen enough")
	err := l.EditRules(editOf(req), func(_, after *source.Rules) error {
		out = rulesOf(l, after, dirs)
		return enough
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return out, err
}

func editOf(req api.RulesRequest) source.RulesEdit {
	return func(file string, data []byte, disk visibility.Disk) ([]byte, error) {
		switch req.Op {
		case "set":
			return visibility.Set(file, data, disk, req.Path, req.Servers)
		case "unset":
			return visibility.Unset(file, data, disk, req.Path)
		case "default":
			return visibility.SetDefault(file, data, req.Servers)
		}
		return nil, refusal(http.StatusBadRequest, api.Error{Field: "op", Msg: fmt.Sprintf("%q is not known", req.Op), Hint: "known here: set, unset, default"})
	}
}

// widens says where a change of the rules shows a server that is hidden now: in
// the directory of a rule, old or new, in one of dirs, or where no rule is.
func widens(l *source.Loader, before, after *visibility.Table, dirs []string) string {
	own := l.View("").Names
	could := map[string][]string{}
	for _, t := range []*visibility.Table{before, after} {
		for _, d := range t.Preview(nil) {
			could[d.Dir] = own
		}
	}
	for _, dir := range dirs {
		could[dir] = l.View(dir).Names
	}
	for _, dir := range slices.Sorted(maps.Keys(could)) {
		was, now := before.Decide(could[dir], dir, visibility.Override{}), after.Decide(could[dir], dir, visibility.Override{})
		if more := visibility.Widened(was, now); len(more) > 0 {
			return fmt.Sprintf("in %s sessions would see %s", cmp.Or(dir, "directories without a rule"), visibility.Allow{Servers: more})
		}
	}
	return ""
}

func (d *Daemon) getRules(w http.ResponseWriter, r *http.Request) {
	if dirs, ok := askedDirs(w, r); ok {
		api.WriteJSON(w, http.StatusOK, RulesOf(d.loader, dirs))
	}
}

// askedDirs are those that a request is about (?dir=); false when it was answered.
func askedDirs(w http.ResponseWriter, r *http.Request) (dirs []string, ok bool) {
	for _, asked := range r.URL.Query()["dir"] {
		dir, err := canon.Deepest(asked)
		if err != nil {
			api.WriteError(w, http.StatusBadRequest, api.Error{Field: "dir", Msg: err.Error(), Hint: "name an absolute directory"})
			return nil, false
		}
		dirs = append(dirs, dir)
	}
	return dirs, true
}

func (d *Daemon) putRules(w http.ResponseWriter, r *http.Request) {
	var req api.RulesRequest
	if err := api.ReadJSON(r, &req); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	dirs, ok := askedDirs(w, r)
	if !ok {
		return
	}
	if req.Dry {
		then, err := previewRules(d.loader, req, dirs)
		if err != nil {
			refuseWith(w, err)
			return
		}
		api.WriteJSON(w, http.StatusOK, then)
		return
	}
	err := EditRules(d.loader, req, d.liveDirs(), func(widened string) error {
		if no := d.consent(r, "mcpx rules "+typedRule(req)); no != nil {
			no.Msg = widened + "; " + no.Msg
			return refusal(http.StatusForbidden, *no)
		}
		return nil
	})
	if err != nil {
		refuseWith(w, err)
		return
	}
	d.o.Log.Info("changed rules", "rule", typedRule(req), "pid", by(r))
	d.reread()
	api.WriteJSON(w, http.StatusOK, RulesOf(d.loader, dirs))
}

// typedRule is the change as a person types it.
func typedRule(req api.RulesRequest) string {
	names := strings.ReplaceAll(req.Servers.String(), ", ", " ")
	switch req.Op {
	case "unset":
		return "unset " + req.Path
	case "default":
		return "set default " + names
	}
	return "set " + req.Path + " " + names
}

// refusal is an error that crosses the socket as it is.
func refusal(status int, e api.Error) error { return &api.Refusal{Status: status, Err: e} }

// refuseWith answers with an error.
func refuseWith(w http.ResponseWriter, err error) {
	if r, ok := errors.AsType[*api.Refusal](err); ok {
		api.WriteError(w, r.Status, r.Err)
		return
	}
	api.WriteError(w, http.StatusConflict, api.Error{Msg: err.Error(), Hint: config.HintOf(err)})
}
