package config

import (
	"testing"
)

// Whatever the bytes, Parse returns, positions lie in the file, and what loads
// survives everything a view is used for.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "{}", "[]", "{\"mcpServers\": {", printed, servers(`"a": {"commnad": 3, "mcpx": []}`), servers(`"a": {"url": "http://\u0000"}, "a": 3`),
		"\xef\xbb\xbf{\r\n// c\r\n}", `{"defaults": {"scope": "cwd"}, "daemon": {"http": null}}`, servers(`"a": {"command": "sh", "args": ["-c", "${mcpx.root}"]}`),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, tier := range []Tier{User, Project} {
			file, ps := Parse("/d/f.json", tier, data)
			for _, p := range ps {
				if p.Line < 1 || p.Col < 1 || p.Msg == "" || p.Hint == "" && p.Server == "" {
					t.Fatalf("a problem without a place or advice: %+v", p)
				}
			}
			view := Merge(file)
			for _, name := range view.Names {
				r := view.Servers[name]
				if (r.Command == "") == (r.URL == "") || !validName(name) {
					t.Fatalf("server %q loaded as %+v", name, r)
				}
				if placeholderInCode(r.Command, r.Args) >= 0 {
					t.Fatalf("server %q has a placeholder in code: %q", name, r.Args)
				}
				_, _ = r.Definition(), r.AllowsTool("t")
			}
			if _, err := view.Print(false); err != nil {
				t.Fatal(err)
			}
			if file.Broken && len(file.Names()) > 0 {
				t.Fatal("a broken file has servers")
			}
		}
	})
}
