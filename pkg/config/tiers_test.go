package config

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDisabledAloneIsAWholeOverride(t *testing.T) {
	user := file(t, "/h/u.json", User, servers(`"a": {"command": "x"}, "b": {"command": "y"}`))
	near := file(t, "/p/.mcpx.json", Project, servers(`"a": {"mcpx": {"disabled": true}}, "b": {"disabled": true}`))
	view := Merge(near, user)
	for _, name := range []string{"a", "b"} {
		if s := view.Servers[name]; s == nil || !s.Disabled || s.Tier != User {
			t.Errorf("server %s: got %+v, want the user's, disabled", name, s)
		}
	}
}

// What is bad takes the name with it, unless a nearer file has said all that
// starts the server.
func TestABadEntry(t *testing.T) {
	const (
		whole    = `{"command": "x"}`
		override = `{"mcpx": {"max": 2}}`
		bad      = `{"args": ["-v"], "mcpx": {"max": 9, "description": "bad"}}`
	)
	tests := []struct {
		name    string
		entries []string // nearest first
		want    string   // "" for left out
	}{
		{"nearer than the definition leaves the name out", []string{bad, whole}, ""},
		{"farther than the definition says nothing", []string{whole, bad}, "x with max 4"},
		{"behind an override and the definition says nothing", []string{override, whole, bad}, "x with max 2"},
		{"behind an override alone leaves the name out", []string{override, bad}, ""},
		{"between an override and a definition leaves the name out", []string{override, bad, whole}, ""},
		{"of the mcpx block alone is as bad", []string{`{"mcpx": {"scope": "nowhere"}}`, whole}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var files []*File
			for i, entry := range tt.entries {
				files = append(files, file(t, fmt.Sprintf("/h/%d.json", i), User, servers(`"a": `+entry)))
			}
			view := Merge(files...)
			got, left := "", []string{"a"}
			if a := view.Servers["a"]; a != nil {
				got, left = fmt.Sprintf("%s with max %d%s", a.Command, a.Max, a.Description), nil
			}
			if got != tt.want || !cmp.Equal(view.Invalid, left) {
				t.Errorf("got %q and left out %v, want %q", got, view.Invalid, tt.want)
			}
			if len(view.Problems) != 1 || !view.Problems.HasErrors() {
				t.Errorf("got problems %v, want that of the bad entry", view.Problems)
			}
		})
	}
}

func TestFilesOfOneRealPathAreOneFile(t *testing.T) {
	src := servers(`"a": {"command": "./srv"}`)
	project := file(t, "/src/nix/.mcpx.json", Project, src)
	user := file(t, "/h/.config/mcpx/config.json", User, src)
	user.Real = "/src/nix/.mcpx.json"
	again := file(t, "/h/.mcpx.json", User, src)
	again.Real = user.Real
	view := Merge(project, user, again)
	if diff := cmp.Diff([]string{user.Path}, view.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if a := view.Servers["a"]; a.Tier != User || a.Dir != "/src/nix" || a.EnvPolicy != Inherit {
		t.Errorf("got tier %s in %s with envPolicy %s, want the user's, where the file really is", a.Tier, a.Dir, a.EnvPolicy)
	}
}

func TestDaemonBlocksMergeByKey(t *testing.T) {
	near := file(t, "/h/u.json", User, `{"daemon": {"maxStarts": 2, "http": {"listen": "127.0.0.1:1"}, "rules": {"onError": "closed"}}}`)
	far := file(t, "/etc/s.json", System, `{"daemon": {"maxStarts": 9, "idleExit": "never", "env": {"A": "b"}, "path": ["/bin"],
		"http": {"listen": "[::1]:2", "auth": "none"}, "rules": {"path": "/r.json", "logDecisions": false}}}`)
	want := Daemon{
		MaxStarts: 2, MaxInstances: 64, StopGrace: 5e9, IdleExit: 0, Approve: ApprovePerson,
		Env: map[string]string{"A": "b"}, Path: []string{"/bin"},
		HTTP:  &HTTP{Listen: "127.0.0.1:1", Auth: "token"},
		Rules: Rules{Path: "/r.json", OnError: "closed", ApplyToRunningSessions: true},
	}
	if diff := cmp.Diff(want, Merge(near, far).Daemon); diff != "" {
		t.Errorf("daemon (-want +got):\n%s", diff)
	}
}

func TestParentSessionIsPsession(t *testing.T) {
	view := Merge(file(t, "f.json", User, servers(`"a": {"command": "x", "mcpx": {"scope": "parent-session"}}`)))
	if got := view.Servers["a"].Scope; got != "psession" {
		t.Errorf("got scope %q, want psession", got)
	}
}

// No merged server has a credential of one file and a destination of another,
// whatever the files say (threats §5 item 5).
func TestCredentialsNeverCrossFiles(t *testing.T) {
	parts := []string{
		`"command": "T"`, `"url": "https://T"`, `"env": {"T": "T"}`, `"headers": {"T": "T"}`,
		`"command": "T", "env": {"T": "T"}`, `"url": "https://T", "headers": {"T": "T"}`,
		`"command": "T", "mcpx": {"secrets": {"T": {"file": "T"}}}`,
		`"mcpx": {"max": 3}`, `"mcpx": {"secrets": {"T": {"file": "T"}}}`,
	}
	tiers := []struct {
		tier Tier
		mark string
	}{{Project, "p"}, {User, "u"}, {System, "s"}}
	n := len(parts)
	for i := range n * n * n {
		var files []*File
		for j, part := range []string{parts[i%n], parts[i/n%n], parts[i/n/n]} {
			src := replaceMark(servers(`"a": {`+part+`}`), tiers[j].mark)
			files = append(files, file(t, "/"+tiers[j].mark+"/f.json", tiers[j].tier, src))
		}
		a := Merge(files...).Servers["a"]
		if a == nil {
			continue
		}
		marks := map[string]bool{a.Dir[1:]: true, a.Command + a.URL[max(0, len(a.URL)-1):]: true}
		for _, v := range a.Env {
			marks[v] = true
		}
		for _, v := range a.Headers {
			marks[v] = true
		}
		for _, v := range a.Secrets {
			marks[v.File] = true
		}
		if len(marks) != 1 {
			t.Errorf("combination %d: got parts of %v in one server: %+v", i, marks, a)
		}
	}
}

func replaceMark(s, mark string) string {
	out := []byte(s)
	for i := range out {
		if out[i] == 'T' {
			out[i] = mark[0]
		}
	}
	return string(out)
}
