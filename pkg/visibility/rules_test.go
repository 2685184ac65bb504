package visibility

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
)

// linux is a machine on which every path is spelled as it is.
var linux = Disk{Home: "/home/you"}

func parse(t testing.TB, text string) Rules {
	t.Helper()
	r, problems := Parse("rules.json", []byte(text))
	if problems != nil {
		t.Fatalf("%s: %v", text, problems)
	}
	return r
}

func report(ps config.Problems) (out []string) {
	for _, p := range ps {
		kind := "error "
		if p.Warning {
			kind = "warning "
		}
		out = append(out, kind+p.Error()+" | "+p.Hint)
	}
	return out
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, in string
		want     Rules
	}{
		{"a document", "{ // for all\n  \"default\": [\"a\"],\n  \"rules\": [\n    { \"servers\": \"*\", \"path\": \"~/x\" },\n    {\"path\": \"/y\", \"servers\": [],},\n  ],\n}",
			Rules{Default: Allow{Servers: []string{"a"}},
				Rows: []Row{
					{Path: "~/x", Allow: Allow{All: true}, At: config.Origin{File: "rules.json", Line: 4, Col: 5}},
					{Path: "/y", At: config.Origin{File: "rules.json", Line: 5, Col: 5}},
				},
				Named: []Name{{"a", "default[0]", config.Origin{File: "rules.json", Line: 2, Col: 15}, -1}}}},
		{"an empty one", "{}", None()},
		{"after a byte order mark", "\xef\xbb\xbf{ \"default\": [] }", Rules{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, problems := Parse("rules.json", []byte(tt.in))
			if diff := cmp.Diff(tt.want, got); diff != "" || problems != nil {
				t.Errorf("%v (-want +got):\n%s", problems, diff)
			}
		})
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	const write = `write { "default": "*", "rules": [ { "path": "~/src", "servers": ["NAME"] } ] }`
	tests := []struct {
		name, in string
		want     []string
	}{
		{"no JSON", `{ "default" "*" }`, []string{`error r.json:1:13: invalid character '"' after object name | mend the syntax: JSON with comments and trailing commas`}},
		{"nothing", " \n", []string{`error r.json:1:1: the file is empty | ` + write}},
		{"a list", `[]`, []string{`error r.json:1:1: is not of the right kind | ` + write}},
		{"a word for a list", `{"default":"all"}`, []string{`error r.json:1:12: default: is not of the right kind | ` + write}},
		{"keys nobody knows", `{"defalt":"*","note":1,"rules":[{"path":"/a","servers":"*","only":1}]}`, []string{
			`error r.json:1:11: defalt: unknown key | did you mean default?`,
			`error r.json:1:22: note: unknown key | known here: default, rules; in a rule: path, servers`,
			`error r.json:1:67: rules[0].only: unknown key | known here: default, rules; in a rule: path, servers`}},
		{"keys twice", `{"default":"*","default":[],"rules":[{"path":"/a","path":"/b","servers":"*"}]}`, []string{
			`error r.json:1:26: default: set twice | keep one of the two`,
			`error r.json:1:58: rules[0].path: set twice | keep one of the two`}},
		{"a row in another's clothes", `{"rules[0]":{"path":"/a","servers":"*"}}`, []string{`error r.json:1:13: rules[0]: unknown key | known here: default, rules; in a rule: path, servers`}},
		{"rows that are none", `{"rules":[3,{},{"path":7,"servers":{}},{"path":"","servers":"*"}]}`, []string{
			`error r.json:1:11: rules[0]: is not of the right kind | ` + write,
			`error r.json:1:13: rules[1].path: is missing | a rule is { "path": "~/src", "servers": ["NAME"] }`,
			`error r.json:1:13: rules[1].servers: is missing | a rule is { "path": "~/src", "servers": ["NAME"] }`,
			`error r.json:1:24: rules[2].path: is not of the right kind | ` + write,
			`error r.json:1:36: rules[2].servers: is not of the right kind | ` + write,
			`error r.json:1:48: rules[3].path: is empty | name a directory: ~/src`}},
		{"paths that begin nowhere", `{"rules":[{"path":"src","servers":"*"},{"path":"~you/src","servers":"*"},{"path":"$HOMER","servers":"*"},{"path":"../x","servers":"*"}]}`, []string{
			`error r.json:1:19: rules[0].path: is not a whole path | begin it with ~/, $HOME/ or /`,
			`error r.json:1:48: rules[1].path: is not a whole path | begin it with ~/, $HOME/ or /`,
			`error r.json:1:82: rules[2].path: is not a whole path | begin it with ~/, $HOME/ or /`,
			`error r.json:1:114: rules[3].path: is not a whole path | begin it with ~/, $HOME/ or /`}},
		{"names that are none", `{"default":["*",1]}`, []string{
			`error r.json:1:13: default[0]: is not a name | all servers are "*", without a list`,
			`error r.json:1:17: default[1]: is not of the right kind | ` + write}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := Parse("r.json", []byte(tt.in))
			if diff := cmp.Diff(tt.want, report(problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownNamesAreTold(t *testing.T) {
	r := parse(t, `{"default":["gopls","jria"],"rules":[{"path":"/a","servers":["nothing"]}]}`)
	want := []string{
		`warning rules.json:1:21: default[1]: no server is called "jria" | did you mean jira?`,
		`warning rules.json:1:62: rules[0].servers[0]: no server is called "nothing" | there are: gopls, jira`,
	}
	if diff := cmp.Diff(want, report(r.Unknown(func(int) []string { return []string{"gopls", "jira"} }))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMatch: each row is a sentence on matching.
func TestMatch(t *testing.T) {
	row := func(path, servers string) string { return fmt.Sprintf(`{"path":%q,"servers":%s}`, path, servers) }
	fold := Disk{Home: `C:/Users/You`, Spell: strings.ToLower}
	linked := Disk{Home: "/home/you", Spell: func(dir string) string { return strings.Replace(dir, "/ws/link", "/real", 1) }}
	tests := []struct {
		name, def string
		rows      []string
		disk      Disk
		dir       string
		want      string
		row       int
	}{
		{"a directory with a rule", `"*"`, []string{row("/ws/proj", `["a"]`)}, linux, "/ws/proj", "a", 0},
		{"a directory under it inherits", `"*"`, []string{row("/ws/proj", `["a"]`)}, linux, "/ws/proj/x/y", "a", 0},
		{"not one that begins alike", `"*"`, []string{row("/ws/proj", `["a"]`)}, linux, "/ws/project", "all", -1},
		{"nor the one above", `"*"`, []string{row("/ws/proj", `["a"]`)}, linux, "/ws", "all", -1},
		{"the longest path wins", `"*"`, []string{row("/ws/proj", `["b"]`), row("/ws", `["a"]`)}, linux, "/ws/proj/x", "b", 0},
		{"and the baseline holds beside it", `"*"`, []string{row("/ws/proj", `["b"]`), row("/ws", `["a"]`)}, linux, "/ws/other", "a", 1},
		{"of two alike the later wins", `"*"`, []string{row("/ws", `["a"]`), row("/ws", `["b"]`)}, linux, "/ws", "b", 1},
		{"alike is what is one directory", `"*"`, []string{row("/ws/", `["a"]`), row(`\ws\x\..`, `["b"]`)}, linux, "/ws", "b", 1},
		{"a list of nothing", `"*"`, []string{row("/scratch", `[]`)}, linux, "/scratch", "none", 0},
		{"all, against the default", `[]`, []string{row("/ws", `"*"`)}, linux, "/ws", "all", 0},
		{"default all", `"*"`, nil, linux, "/x", "all", -1},
		{"default nothing", `[]`, nil, linux, "/x", "none", -1},
		{"default some", `["a","b"]`, nil, linux, "/x", "a, b", -1},
		{"no directory", `["a"]`, []string{row("/", `["b"]`)}, linux, "", "a", -1},
		{"the root is above all", `["a"]`, []string{row("/", `["b"]`)}, linux, "/x/y", "b", 0},
		{"and itself", `["a"]`, []string{row("/", `["b"]`)}, linux, "/", "b", 0},
		{"home", `"*"`, []string{row("~/src", `["a"]`)}, linux, "/home/you/src/x", "a", 0},
		{"home alone", `"*"`, []string{row("~", `["a"]`)}, linux, "/home/you", "a", 0},
		{"home by its variable", `"*"`, []string{row("$HOME/src", `["a"]`)}, linux, "/home/you/src", "a", 0},
		{"the variable alone", `"*"`, []string{row("$HOME", `["a"]`)}, linux, "/home/you", "a", 0},
		{"either slash", `"*"`, []string{row(`~\src\x`, `["a"]`)}, linux, "/home/you/src/x", "a", 0},
		{"a drive", `"*"`, []string{row(`D:\work\proj-a`, `["atlassian"]`), row("D:/work/proj-b", `["playwright"]`)}, Disk{}, "D:/work/proj-a/x", "atlassian", 0},
		{"another folder of the drive", `"*"`, []string{row(`D:\work\proj-a`, `["atlassian"]`)}, Disk{}, "D:/work/proj-c", "all", -1},
		{"case, where the file system has none", `"*"`, []string{row(`D:\Work`, `["a"]`)}, fold, "d:/work", "a", 0},
		{"case, where it has", `"*"`, []string{row("/Work", `["a"]`)}, linux, "/work", "all", -1},
		{"a link is where it leads", `"*"`, []string{row("/ws/link", `["a"]`)}, linked, "/real/x", "a", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := parse(t, `{"default":`+tt.def+`,"rules":[`+strings.Join(tt.rows, ",")+`]}`)
			a, row := r.On(tt.disk).Match(tt.dir)
			if a.String() != tt.want || row != tt.row {
				t.Errorf("got %s by row %d, want %s by row %d", a, row, tt.want, tt.row)
			}
		})
	}
}

func TestShadowedRowsAreTold(t *testing.T) {
	r := parse(t, "{\"rules\":[\n{\"path\":\"~/x\",\"servers\":\"*\"},\n{\"path\":\"/y\",\"servers\":\"*\"},\n{\"path\":\"$HOME/x/\",\"servers\":[]}]}")
	want := []string{"warning rules.json:2:1: rules[0]: has no effect: a later row is for the same directory | remove it, or the one on line 4"}
	if diff := cmp.Diff(want, report(r.On(linux).Shadowed())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoDocumentShowsEverything(t *testing.T) {
	for name, tt := range map[string]struct {
		rules Rules
		want  string
	}{
		"none": {None(), "all"}, "broken, open": {Broken(false), "all"}, "broken, closed": {Broken(true), "none"},
	} {
		if a, row := tt.rules.On(linux).Match("/x"); a.String() != tt.want || row != -1 {
			t.Errorf("%s: got %s by row %d, want %s", name, a, row, tt.want)
		}
	}
}

// FuzzMatch holds matching against its sentences, written out the slow way.
func FuzzMatch(f *testing.F) {
	f.Add("/a", "/a/b", "/a/bc", "/a/b/c")
	f.Add("/", "/a/", "/a", "/a")
	f.Fuzz(func(t *testing.T, p1, p2, p3, dir string) {
		rules := None()
		for i, p := range []string{p1, p2, p3} {
			if !isPath(p) {
				return
			}
			rules.Rows = append(rules.Rows, Row{Path: p, Allow: Allow{Servers: []string{fmt.Sprint(i)}}})
		}
		if dir != "" {
			dir = linux.Dir("/" + dir)
		}
		want, length := -1, 0
		for i, row := range rules.Rows {
			at := linux.Dir(row.Path)
			under := dir != "" && (dir == at || strings.HasPrefix(dir, strings.TrimSuffix(at, "/")+"/"))
			if under && len(at) >= length {
				want, length = i, len(at)
			}
		}
		if _, got := rules.On(linux).Match(dir); got != want {
			t.Errorf("%q in %q: row %d, want %d", dir, []string{p1, p2, p3}, got, want)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	rules := None()
	var servers []string
	for i := range 1000 {
		rules.Rows = append(rules.Rows, Row{Path: fmt.Sprintf("~/src/team%d/project%d", i%50, i), Allow: Allow{Servers: []string{"s1", "s7", "s20"}}})
	}
	for i := range 30 {
		servers = append(servers, fmt.Sprintf("s%d", i))
	}
	var sessions []string
	for i := range 200 {
		sessions = append(sessions, fmt.Sprintf("/home/you/src/team%d/project%d/sub", i%50, i*5))
	}
	table := rules.On(linux)
	dir := "/home/you/src/team49/project999/a/b/c/d/e"
	b.Run("decide", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			table.Decide(servers, dir, Override{})
		}
	})
	d := table.Decide(servers, dir, Override{})
	b.Run("allows", func(b *testing.B) {
		for b.Loop() {
			d.Allows("s29")
		}
	})
	b.Run("save, with 200 sessions", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t := rules.On(linux)
			for i := range 200 {
				t.Decide(servers, sessions[i], Override{})
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			rules.On(linux)
		}
	})
}
