package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dezren39/mcpx/pkg/config"
)

// What a view was made of may change before the watcher sees it: what starts is
// what was approved all the same (threat T5).
func TestVerifyHoldsForExactlyWhatWasApproved(t *testing.T) {
	const stands = `, "args": ["srv.py"], "env": {"A": "b"}, "cwd": "sub", "mcpx": {"secrets": {"T": {"file": "/t"}}}`
	tests := []struct {
		name   string
		change func(w *world, l *Loader, path string)
		ok     bool
	}{
		{"nothing changed", func(w *world, l *Loader, path string) {}, true},
		{"an unrelated file", func(w *world, l *Loader, path string) { w.write("src/app/unrelated", "x") }, true},
		{"a script in an argument", func(w *world, l *Loader, path string) { w.write("src/app/srv.py", "evil") }, false},
		{"a script that is gone", func(w *world, l *Loader, path string) { must(w.t, os.Remove(filepath.Join(w.project, "srv.py"))) }, false},
		{"the file itself", func(w *world, l *Loader, path string) { w.write("src/app/.mcpx.json", server("a", stands+" ")) }, false},
		{"a file that is gone", func(w *world, l *Loader, path string) { must(w.t, os.Remove(path)) }, false},
		{"a file that others may write", func(w *world, l *Loader, path string) { must(w.t, os.Chmod(path, 0o666)) }, false},
		{"trust that was taken back", func(w *world, l *Loader, path string) { must(w.t, l.Untrust(path)) }, false},
		{"another version of the server, trusted", func(w *world, l *Loader, path string) {
			w.write("src/app/.mcpx.json", server("a", `, "args": ["srv.py"]`))
			w.trust(l, path)
		}, false},
		{"another server beside it, trusted", func(w *world, l *Loader, path string) {
			w.write("src/app/.mcpx.json", `{"mcpServers": {"b": {"command": "b"}, "a": {"command": "a"`+stands+`}}}`)
			w.trust(l, path)
		}, true},
		{"a version without the server, trusted", func(w *world, l *Loader, path string) {
			w.write("src/app/.mcpx.json", server("b", ""))
			w.trust(l, path)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.write("src/app/srv.py", "good")
			w.write(".mcpx.json", `{"mcpServers": {"a": {"mcpx": {"scope": "worktree"}}}}`) // cwd needs it
			path := w.write("src/app/.mcpx.json", server("a", stands))
			l := w.loader()
			w.trust(l, path)
			s := l.View(w.project).Servers["a"]
			tt.change(w, l, path)
			err := l.Verify(s)
			if (err == nil) != tt.ok {
				t.Fatalf("got %v, want ok %v", err, tt.ok)
			}
			if tt.ok {
				return
			}
			if h, is := err.(interface{ Hint() string }); !is || h.Hint() == "" {
				t.Errorf("no hint with %v", err)
			}
		})
	}
}

// The user's own files are nobody's to verify.
func TestVerifyIsOfProjectsOnly(t *testing.T) {
	w := newWorld(t)
	path := w.write(".mcpx.json", server("a", ""))
	l := w.loader()
	s := l.View(w.project).Servers["a"]
	must(t, os.Remove(path))
	if err := l.Verify(s); err != nil || s.Tier != config.User {
		t.Errorf("tier %s: got %v", s.Tier, err)
	}
}
