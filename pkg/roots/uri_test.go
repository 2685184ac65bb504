package roots

import (
	"strings"
	"testing"
)

func TestURI(t *testing.T) {
	for path, want := range map[string]string{
		"/":                   "file:///",
		"/home/u/my repo/ä":   "file:///home/u/my%20repo/%C3%A4",
		"/a#b?c%d":            "file:///a%23b%3Fc%25d",
		"/C:/x":               "file:///C:/x",
		"/bad\xffbyte/a\\b":   "file:///bad%FFbyte/a%5Cb",
		"/plus+and&equals=;@": "file:///plus+and&equals=;@",
		"/new\nline":          "file:///new%0Aline",
	} {
		if got := URI(path); got != want {
			t.Errorf("URI(%q): got %s, want %s", path, got, want)
		}
	}
}

func TestPath(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///":                        "/",
		"file:///home/u/my%20repo/%C3%A4": "/home/u/my repo/ä",
		"file:///home/u/my repo/ä":        "/home/u/my repo/ä",
		"file://localhost/r":              "/r",
		"FILE://LOCALHOST/r":              "/r",
		"file:/r":                         "/r",
		"file:///a%23b%3Fc%25d":           "/a#b?c%d",
		"file:///a/%2e%2e/b":              "/a/../b", // canon asks the file system what that is
		"file:///r/":                      "/r/",
	} {
		if got, err := Path(uri); got != want || err != nil {
			t.Errorf("Path(%q): got %q, %v; want %q", uri, got, err, want)
		}
	}
}

func TestPathRefuses(t *testing.T) {
	tests := []struct{ name, uri, want string }{
		{"another machine", "file://host/r", `names the host "host"`},
		{"a port", "file://localhost:80/r", `names the host "localhost:80"`},
		{"a user", "file://u@localhost/r", `names the host "localhost"`},
		{"another scheme", "vscode-remote://host/x", `scheme "vscode-remote" is not a directory here`},
		{"a plain path", "/r", "a plain path, not a file URI"},
		{"a relative word", "r", "not a file URI"},
		{"nothing", "", "not a file URI"},
		{"a relative file URI", "file:r", "not an absolute path"},
		{"a NUL", "file:///a%00b", "holds a NUL"},
		{"an escaped slash", "file:///a%2Fb", "holds an escaped slash"},
		{"an escaped slash in lower case", "file:///a%2f..%2fb", "holds an escaped slash"},
		{"an escaped slash beside a byte that no URI holds", "file:///\xe7/a%2Fb", "holds an escaped slash"},
		{"a share", "file:////server/share", "names a network share"},
		{"a query", "file:///a?b", "has a query or fragment: escape ? and # in paths"},
		{"an empty fragment", "file:///a#", "has a query or fragment: escape ? and # in paths"},
		{"a broken escape", "file:///a%zz", "not a URI"},
		{"a raw control character", "file:///a\nb", "not a URI"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := Path(tt.uri); err == nil || err.Error() != tt.want {
				t.Errorf("Path(%q): got %q, %v; want %s", tt.uri, got, err, tt.want)
			}
		})
	}
}

func FuzzURI(f *testing.F) {
	for _, p := range []string{"", "home/u/my repo/ä", "a#b?c%d", "%2F", "%2e%2e", "\xff", "new\nline", "C:/x", "*"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		p = "/" + strings.TrimLeft(p, "/")
		got, err := Path(URI(p))
		if strings.ContainsRune(p, 0) {
			if err == nil {
				t.Errorf("Path(URI(%q)): got %q, want an error", p, got)
			}
			return
		}
		if err != nil || got != p {
			t.Errorf("Path(URI(%q)): got %q, %v", p, got, err)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, u := range []string{"file:///a%2Fb", "file:/\xe7/a%2Fb", "file://host/x", "file:/r", "file:////s", "x:y", "file:///a/%2e%2e/b"} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		p, err := Path(uri)
		if err != nil {
			return
		}
		if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") || strings.ContainsRune(p, 0) {
			t.Errorf("Path(%q): got %q", uri, p)
		}
		if strings.Count(p, "/") > strings.Count(uri, "/") {
			t.Errorf("Path(%q): got %q, with a slash from nowhere", uri, p)
		}
		if again, err := Path(URI(p)); again != p || err != nil {
			t.Errorf("Path(URI(Path(%q))): got %q, %v; want %q", uri, again, err, p)
		}
	})
}
