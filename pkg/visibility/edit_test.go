package visibility

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
)

const written = `// Which servers a session sees.
{
  "default": "*", // all, mostly
  "rules": [
    // notes need nothing else
    { "path": "~/notes", "servers": ["memory"] }, // really

    /* work */
    { "servers": [ "a",  "b" ], "path": "/work" },
  ],
}
`

func TestEdit(t *testing.T) {
	set := func(path string, a Allow) func(string) ([]byte, error) {
		return func(in string) ([]byte, error) { return Set("r.json", []byte(in), linux, path, a) }
	}
	unset := func(path string) func(string) ([]byte, error) {
		return func(in string) ([]byte, error) { return Unset("r.json", []byte(in), linux, path) }
	}
	def := func(a Allow) func(string) ([]byte, error) {
		return func(in string) ([]byte, error) { return SetDefault("r.json", []byte(in), a) }
	}
	all, none, ab := Allow{All: true}, Allow{}, Allow{Servers: []string{"a", `b"`}}
	change := func(old, new string) string {
		if strings.Count(written, old) != 1 {
			t.Fatalf("%q is there %d times", old, strings.Count(written, old))
		}
		return strings.Replace(written, old, new, 1)
	}
	tests := []struct {
		name, in string
		edit     func(string) ([]byte, error)
		want     string
	}{
		{"another list for a row", written, set("$HOME/notes/", ab), change(`["memory"]`, `["a", "b\""]`)},
		{"all for a row", written, set(`\work`, all), change(`[ "a",  "b" ]`, `"*"`)},
		{"a new row", written, set("~/new", none), change("\"/work\" },\n", "\"/work\" },\n    { \"path\": \"~/new\", \"servers\": [] },\n")},
		{"no longer a row", written, unset("/work"), change("    /* work */\n    { \"servers\": [ \"a\",  \"b\" ], \"path\": \"/work\" },\n", "")},
		{"another default", written, def(none), change(`"default": "*"`, `"default": []`)},
		{"no document yet", "", set("~/x", ab), "{\n  \"default\": \"*\",\n  \"rules\": [\n    { \"path\": \"~/x\", \"servers\": [\"a\", \"b\\\"\"] }\n  ]\n}\n"},
		{"nothing but space", " \n", def(none), "{\n  \"default\": []\n}\n"},
		{"an object without anything", "{}", set("/x", all), "{\n  \"rules\": [\n    { \"path\": \"/x\", \"servers\": \"*\" }\n  ]\n}"},
		{"no rows yet", "{\n\t\"rules\": []\n}\n", set("/x", all), "{\n\t\"rules\": [\n\t\t{ \"path\": \"/x\", \"servers\": \"*\" }\n\t]\n}\n"},
		{"a comment where rows will be", "{\n  \"rules\": [ // none\n  ]\n}", set("/x", all), "{\n  \"rules\": [ // none\n    { \"path\": \"/x\", \"servers\": \"*\" }\n  ]\n}"},
		{"no default yet", "{ \"rules\": [] }", def(none), `{ "rules": [], "default": [] }`},
		{"all on one line", `{"rules":[{"path":"/a","servers":[]}]}`, set("/x", all), `{"rules":[{"path":"/a","servers":[]}, { "path": "/x", "servers": "*" }]}`},
		{"a comment behind the last", "{\"rules\":[{\"path\":\"/a\",\"servers\":[]} // c\n]}", set("/x", all), "{\"rules\":[{\"path\":\"/a\",\"servers\":[]}, // c\n { \"path\": \"/x\", \"servers\": \"*\" }\n]}"},
		{"a comment behind the last comma", "{\"rules\":[{\"path\":\"/a\",\"servers\":[]}, // c\n]}", set("/x", all), "{\"rules\":[{\"path\":\"/a\",\"servers\":[]}, // c\n { \"path\": \"/x\", \"servers\": \"*\" },\n]}"},
		{"of two rows for a directory the one that counts", `{"rules":[{"path":"~/a","servers":[]},{"path":"$HOME/a","servers":[]}]}`, set("~/a", all), `{"rules":[{"path":"~/a","servers":[]},{"path":"$HOME/a","servers":"*"}]}`},
		{"two rows for a directory go both", `{"rules":[{"path":"~/a","servers":[]},{"path":"/b","servers":[]},{"path":"$HOME/a","servers":[]}]}`, unset("/home/you/a"), `{"rules":[{"path":"/b","servers":[]}]}`},
		{"the first on a line", `{"rules":[ {"path":"/a","servers":[]}, {"path":"/b","servers":[]} ]}`, unset("/a"), `{"rules":[ {"path":"/b","servers":[]} ]}`},
		{"the last on a line", `{"rules":[ {"path":"/a","servers":[]}, {"path":"/b","servers":[]} ]}`, unset("/b"), `{"rules":[ {"path":"/a","servers":[]} ]}`},
		{"one in the middle", `{"rules":[{"path":"/a","servers":[]}, /* b */ {"path":"/b","servers":[]}, {"path":"/c","servers":[]}]}`, unset("/b"), `{"rules":[{"path":"/a","servers":[]}, {"path":"/c","servers":[]}]}`},
		{"the last line", "{\"rules\":[\n  {\"path\":\"/a\",\"servers\":[]}, // a\n  // b\n  {\"path\":\"/b\",\"servers\":[]} // b\n]}", unset("/b"), "{\"rules\":[\n  {\"path\":\"/a\",\"servers\":[]} // a\n]}"},
		{"the first line", "{\"rules\":[ // a and b\n  {\"path\":\"/a\",\"servers\":[]},\n  {\"path\":\"/b\",\"servers\":[]}\n]}", unset("/a"), "{\"rules\":[ // a and b\n  {\"path\":\"/b\",\"servers\":[]}\n]}"},
		{"a line that begins with one", "{\"rules\":[\n  {\"path\":\"/a\",\"servers\":[]}, {\"path\":\"/b\",\"servers\":[]}\n]}", unset("/a"), "{\"rules\":[\n  {\"path\":\"/b\",\"servers\":[]}\n]}"},
		{"a comment of two lines is not cut", "{\"rules\":[{\"path\":\"/a\",\"servers\":[]}, /* a\n a */\n  {\"path\":\"/b\",\"servers\":[]}\n]}", unset("/b"), "{\"rules\":[{\"path\":\"/a\",\"servers\":[]} /* a\n a */\n]}"},
		{"the last row of all", `{"rules":[{"path":"/a","servers":[]}]}`, unset("/a"), `{"rules":[]}`},
		{"a byte order mark stays", "\xef\xbb\xbf{\"default\":\"*\"}", def(none), "\xef\xbb\xbf{\"default\":[]}"},
		{"a last line without end", "{\"rules\":[{\"path\":\"/a\",\"servers\":[]}]} // c", unset("/a"), "{\"rules\":[]} // c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.edit(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, ps := Parse("r.json", got); ps != nil {
				t.Errorf("%s: %v", got, ps)
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	tests := []struct{ name, in, path, server, want, hint string }{
		{"a document with an error", `{ "defalt": [] }`, "/x", "a", "r.json:1:13: defalt: unknown key", "did you mean default?"},
		{"one that does not parse", `{`, "/x", "a", "r.json:1:2: the file ends in the middle", "close what is open: a brace, bracket, quote or comment"},
		{"a path that begins nowhere", `{}`, "x", "a", `r.json: "x" is not a whole path`, "begin it with ~/, $HOME/ or /"},
		{"a path with a line end", `{}`, "/x\n", "a", `r.json: "/x\n" is not a whole path`, "begin it with ~/, $HOME/ or /"},
		{"a star for a name", `{}`, "/x", "*", `r.json: "*" is not the name of a server`, `all servers are "*", without a list`},
		{"no name", `{}`, "/x", "", `r.json: "" is not the name of a server`, `all servers are "*", without a list`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Set("r.json", []byte(tt.in), linux, tt.path, Allow{Servers: []string{tt.server}})
			if err == nil || err.Error() != tt.want || config.HintOf(err) != tt.hint || got != nil {
				t.Errorf("got %q, %v | %s", got, err, config.HintOf(err))
			}
		})
	}
	if _, err := Unset("r.json", []byte(written), linux, "/nowhere"); err == nil || err.Error() != `r.json: no rule is for "/nowhere"` {
		t.Errorf("got %v", err)
	}
	if _, err := SetDefault("r.json", []byte(`[]`), Allow{}); err == nil {
		t.Error("a list: got no error")
	}
}

// FuzzEdit: what is edited means what was asked for and, but for that, what it
// meant before; no comment is lost by setting.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(written), "~/new", true)
	f.Add([]byte(written), "/work", false)
	f.Add([]byte(`{"rules":[{"path":"/a","servers":[]} /* c */ , // d`+"\n"+`]}`), "/b", false)
	f.Add([]byte("\xef\xbb\xbf{ /* e */ }"), "/x", true)
	f.Fuzz(func(t *testing.T, data []byte, path string, all bool) {
		before, ps := Parse("r", data)
		if ps.HasErrors() {
			return
		}
		a := Allow{All: all}
		after, err := Set("r", data, linux, path, a)
		if err != nil {
			return
		}
		got, ps := Parse("r", after)
		if ps.HasErrors() {
			t.Fatalf("%q became %q: %v", data, after, ps)
		}
		dir := linux.Dir(path)
		if now, _ := got.On(linux).Match(dir); now.All != all || len(now.Servers) > 0 {
			t.Errorf("%q became %q: %s is %v", data, after, dir, now)
		}
		same := func(x, y Rules) bool {
			at := func(r Rules) (out []string) {
				for _, row := range r.Rows {
					if linux.Dir(row.Path) != dir {
						out = append(out, row.Path+" "+row.Allow.String())
					}
				}
				return out
			}
			return slices.Equal(at(x), at(y)) && x.Default.String() == y.Default.String()
		}
		if !same(before, got) {
			t.Errorf("%q became %q", data, after)
		}
		gone, err := Unset("r", after, linux, path)
		if err != nil {
			t.Fatal(err)
		}
		left, ps := Parse("r", gone)
		if ps.HasErrors() || !same(before, left) || slices.ContainsFunc(left.Rows, func(r Row) bool { return linux.Dir(r.Path) == dir }) {
			t.Errorf("%q became %q: %v", after, gone, ps)
		}
	})
}
