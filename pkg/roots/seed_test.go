package roots

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// canonical knows a few directories; /link leads to /r.
func canonical(p string) (string, error) {
	p = "/" + strings.Trim(p, "/")
	if rest, found := strings.CutPrefix(p, "/link"); found {
		p = "/r" + rest
	}
	switch p {
	case "/", "/home/u", "/r", "/r/sub", "/r/sub/deep", "/w", "/rr":
		return p, nil
	}
	return "", errors.New("no such directory")
}

func root(dir string, o Origin) Root {
	return Root{URI: URI(dir), Name: Name(dir), Path: dir, Origin: o}
}

// native are roots as a host names them.
func native(uris ...string) (rs []Root) {
	for _, u := range uris {
		r := Root{URI: u, Origin: Native}
		var err error
		if r.Path, err = Path(u); err != nil {
			r.Ignored = err.Error()
		}
		rs = append(rs, r)
	}
	return rs
}

func TestSeed(t *testing.T) {
	gone := func(p string, o Origin) Root { return Root{Path: p, Origin: o, Ignored: "no such directory"} }
	all := Facts{
		Set: []string{"/w", "/link"}, Flag: "/r", Var: "/r/sub", Meta: "/rr", Native: native("file:///w", "file:///r"),
		ProjectDir: "/r", WorkspaceFolders: "/w", Cwd: "/home/u",
	}
	without := func(drop ...func(*Facts)) Facts {
		f := all
		for _, d := range drop {
			d(&f)
		}
		return f
	}
	noSet := func(f *Facts) { f.Set = nil }
	noFlag := func(f *Facts) { f.Flag = "" }
	noVar := func(f *Facts) { f.Var = "" }
	noMeta := func(f *Facts) { f.Meta = "" }
	noNative := func(f *Facts) { f.Native = nil }
	noProject := func(f *Facts) { f.ProjectDir = "" }
	noFolders := func(f *Facts) { f.WorkspaceFolders = "" }
	noCwd := func(f *Facts) { f.Cwd = "" }
	passedOver := func(r Root) Root {
		r.Ignored = "a root before it is gone"
		return r
	}

	tests := []struct {
		name string
		f    Facts
		want []Root
	}{
		{"a person's set stands above all, in its order", all, []Root{root("/w", Set), root("/r", Set)}},
		{"then --cwd", without(noSet), []Root{root("/r", Flag)}},
		{"then MCPX_CWD", without(noSet, noFlag), []Root{root("/r/sub", Var)}},
		{"then the checkout of a request", without(noSet, noFlag, noVar), []Root{root("/rr", Meta)}},
		{"then the host's roots, all of them", without(noSet, noFlag, noVar, noMeta),
			[]Root{root("/w", Native), root("/r", Native)}},
		{"then the host's project directory", without(noSet, noFlag, noVar, noMeta, noNative), []Root{root("/r", Host)}},
		{"then a single workspace folder", without(noSet, noFlag, noVar, noMeta, noNative, noProject),
			[]Root{root("/w", Host)}},
		{"then the shim's directory", without(noSet, noFlag, noVar, noMeta, noNative, noProject, noFolders),
			[]Root{root("/home/u", Cwd)}},
		{"and then nothing", without(noSet, noFlag, noVar, noMeta, noNative, noProject, noFolders, noCwd), nil},

		{"a root named twice is one root", Facts{Native: native("file:///r", "file:///link/", "file:///w")},
			[]Root{root("/r", Native), root("/w", Native)}},
		{"a root of another scheme is only shown",
			Facts{Native: native("vscode-remote://host/x", "file:///r"), Cwd: "/w"},
			[]Root{root("/r", Native), {URI: "vscode-remote://host/x", Origin: Native,
				Ignored: `scheme "vscode-remote" is not a directory here`}}},
		{"with no usable root the shim's directory counts", Facts{Native: native("vscode-remote://host/x"), Cwd: "/w"},
			[]Root{root("/w", Cwd), {URI: "vscode-remote://host/x", Origin: Native,
				Ignored: `scheme "vscode-remote" is not a directory here`}}},
		{"an empty list of roots is no voice", Facts{Native: native(), Cwd: "/w"}, []Root{root("/w", Cwd)}},
		{"several workspace folders are no directory", Facts{WorkspaceFolders: "/r,/w", Cwd: "/w"},
			[]Root{root("/w", Cwd), {Path: "/r,/w", Origin: Host, Ignored: "several folders are no one directory"}}},
		{"a checkout that is gone is never replaced", Facts{Meta: "/gone", Cwd: "/w"}, []Root{gone("/gone", Meta)}},
		{"a worktree that was removed under its host is never replaced",
			Facts{Native: native("vscode-remote://host/x", "file:///gone"), ProjectDir: "/r", Cwd: "/w"},
			[]Root{{URI: "vscode-remote://host/x", Origin: Native, Ignored: `scheme "vscode-remote" is not a directory here`},
				{URI: "file:///gone", Path: "/gone", Origin: Native, Ignored: "no such directory"}}},
		{"a host's second root is not its first", Facts{Native: native("file:///gone", "file:///r"), Cwd: "/w"},
			[]Root{{URI: "file:///gone", Path: "/gone", Origin: Native, Ignored: "no such directory"},
				passedOver(root("/r", Native))}},
		{"a host's second root may be gone", Facts{Native: native("file:///r", "file:///gone"), Cwd: "/w"},
			[]Root{root("/r", Native), {URI: "file:///gone", Path: "/gone", Origin: Native, Ignored: "no such directory"}}},
		{"a project directory that is gone is never replaced", Facts{ProjectDir: "/gone", Cwd: "/w"}, []Root{gone("/gone", Host)}},
		{"a --cwd that is gone is never replaced", Facts{Flag: "/gone", Var: "/r", Cwd: "/w"}, []Root{gone("/gone", Flag)}},
		{"a person's second root is not the first", Facts{Set: []string{"/gone", "/r"}, Cwd: "/w"},
			[]Root{gone("/gone", Set), passedOver(root("/r", Set))}},
		{"a person's set that is gone is never replaced", Facts{Set: []string{"/gone"}, Cwd: "/w"},
			[]Root{gone("/gone", Set)}},

		{"a checkout does not move a host that stands inside it", Facts{Meta: "/link", Cwd: "/r/sub"},
			[]Root{root("/r/sub", Meta), root("/r", Meta)}},
		{"the strongest directory inside the checkout is kept",
			Facts{Meta: "/r", Native: native("file:///r/sub/deep"), Cwd: "/r/sub"},
			[]Root{root("/r/sub/deep", Meta), root("/r", Meta)}},
		{"a checkout moves a host that stands elsewhere", Facts{Meta: "/r", Cwd: "/w"}, []Root{root("/r", Meta)}},
		{"a sibling with the same beginning is elsewhere", Facts{Meta: "/r", Cwd: "/rr"}, []Root{root("/r", Meta)}},
		{"a host at the top level is at the top level", Facts{Meta: "/r", Cwd: "/r"}, []Root{root("/r", Meta)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Seed(tt.f, canonical)); diff != "" {
				t.Errorf("Seed(%+v) (-want +got):\n%s", tt.f, diff)
			}
		})
	}
}

func TestPrimary(t *testing.T) {
	ignored := Root{URI: "x:y", Origin: Native, Ignored: "no"}
	if dir, o := Primary([]Root{ignored, root("/r", Native), root("/w", Native)}); dir != "/r" || o != Native {
		t.Errorf("Primary: got %q, %q; want the first that is not ignored", dir, o)
	}
	if dir, o := Primary([]Root{ignored}); dir != "" || o != "" {
		t.Errorf("Primary of nothing: got %q, %q", dir, o)
	}
}

func TestOfferedNeverOpensHome(t *testing.T) {
	set := []Root{root("/", Set), root("/home", Set), root("/home/u", Set), root("/home/u/src", Set),
		{URI: "x:y", Ignored: "no"}, root("/w", Set)}
	want := []Root{root("/home/u/src", Set), root("/w", Set)}
	if diff := cmp.Diff(want, Offered(set, "/home/u")); diff != "" {
		t.Errorf("Offered (-want +got):\n%s", diff)
	}
}
