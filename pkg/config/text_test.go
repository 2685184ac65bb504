package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseReadsWhatEditorsWrite(t *testing.T) {
	tests := []struct{ name, src string }{
		{"comments and trailing commas", "{ // one\n /* two */ \"mcpServers\": {\"a\": {\"command\": \"x\",},},\n}"},
		{"a byte order mark", "\xef\xbb\xbf" + servers(`"a": {"command": "x"}`)},
		{"carriage returns", "{\r\n\"mcpServers\": {\r\n\"a\": {\"command\": \"x\"} // end\r\n}}\r\n"},
		{"a comment on the last line without an end", servers(`"a": {"command": "x"}`) + "// end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, ps := Parse("f.json", User, []byte(tt.src))
			if len(ps) > 0 || f.Server("a") == nil {
				t.Errorf("got problems %v and server %v, want none and a", ps, f.Server("a"))
			}
		})
	}
}

func TestPositionsCountCharactersAfterMarksAndReturns(t *testing.T) {
	tests := []struct {
		name, src string
		want      Origin
	}{
		{"on the first line behind a byte order mark", "\xef\xbb\xbf{\"mcpServers\": 3}", Origin{"f.json", 1, 16}},
		{"behind carriage returns", "{\r\n  \"mcpServers\":\r\n 3}", Origin{"f.json", 3, 2}},
		{"behind letters of several bytes", `{/* äöü… */ "mcpServers": 3}`, Origin{"f.json", 1, 27}},
		{"in a syntax error", "{\r\n \"é\": nope}", Origin{"f.json", 2, 7}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, ps := Parse("f.json", User, []byte(tt.src))
			if len(ps) != 1 {
				t.Fatalf("got problems %v, want one", ps)
			}
			if diff := cmp.Diff(tt.want, Origin{ps[0].File, ps[0].Line, ps[0].Col}); diff != "" {
				t.Errorf("position (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABrokenFileSaysWhereItBreaks(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"nothing in it", " \n", `f.json:1:1: the file is empty
  write { "mcpServers": {} }
`},
		{"it ends in the middle", "{\n\"mcpServers\": {", `f.json:2:16: the file ends in the middle
  close what is open: a brace, bracket, quote or comment
`},
		{"a missing comma", "{\n\"a\": 1\n\"b\": 2}", `f.json:3:1: invalid character '"' after object value (expecting ',' or '}')
  mend the syntax: JSON with comments and trailing commas
`},
		{"a bad escape does not show the secret it stands in", `{"mcpServers": {"a": {"env": {"T": "hunter2\q"}}}}`, `f.json:1:36: neither a string, a number, true, false nor null
  mend the syntax: JSON with comments and trailing commas
`},
		{"a list", "[]", `f.json:1:1: must be an object {…}, and is a list […]
  write an object {…}
`},
		{"another encoding", "\xff\xfe{\x00}\x00", `f.json:1:1: the file is UTF-16
  save it as UTF-8
`},
		{"a depth no config has", `{"x": ` + strings.Repeat("[", 1<<18), `f.json:1:70: nested deeper than 64 levels
  no config is that deep
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, ps := Parse("f.json", User, []byte(tt.src))
			if diff := cmp.Diff(tt.want, report(ps)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if !f.Broken || len(f.Names()) > 0 {
				t.Errorf("got broken %v with servers %v, want a broken file without", f.Broken, f.Names())
			}
		})
	}
}

func TestDepthIgnoresStringsAndComments(t *testing.T) {
	deep := strings.Repeat("[", 2*maxDepth)
	src := `{ // ` + deep + "\n /* " + deep + ` */ "x\"": "` + deep + `", "mcpServers": {}}`
	if _, ps := Parse("f.json", User, []byte(src)); len(ps) > 0 {
		t.Errorf("got problems %v, want none", ps)
	}
}

// A file is parsed before anybody trusts it:
// shapes that cost more than their length would hold every session up.
func TestParseOfALargeFileTakesNoTime(t *testing.T) {
	fill := func(pattern string) string { return strings.Repeat(pattern, (1<<17)/len(pattern)) }
	for name, src := range map[string]string{
		"arguments on one line":    servers(`"a": {"command": "x", "args": [` + fill(`"",`) + `]}`),
		"the same key":             servers(`"a": {"command": "x", "mcpx": {` + fill(`"max": 1,`) + `}}`),
		"the same server":          servers(fill(`"a": {"command": "x"},`)),
		"interpreters in a row":    servers(`"a": {"command": "x", "args": [` + fill(`"-x/sh",`) + `]}`),
		"interpreters of the rest": servers(`"a": {"command": "x", "args": [` + fill(`"cmd","/c",`) + `]}`),
		"open placeholders":        servers(`"a": {"command": "x", "args": ["` + fill(`${mcpx.root}`) + `${"]}`),
		"foreign placeholders":     servers(`"a": {"command": "x", "args": ["` + fill(`${`) + `"]}`),
		"token prefixes":           servers(`"a": {"command": "x", "args": ["` + fill(`xsk-`) + `"]}`),
		"open comments":            fill("/*"),
		"bad names":                servers(fill(`"": {},`)),
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := Parse("f.json", Project, []byte(src))
			if _, err := Merge(f).Print(false); err != nil {
				t.Error(err)
			}
		})
	}
}
