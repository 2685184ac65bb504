package shim

import (
	"os"
	"path/filepath"
	"testing"
)

// Design D13, threat T19.
func TestLookUp(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := func(dir string, dirMode, mode os.FileMode) string {
		path := filepath.Join(base, dir, "mcpx")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, mode)
		os.Chmod(filepath.Dir(path), dirMode)
		return path
	}
	good := program("good", 0o755, 0o755)
	other := program("other", 0o700, 0o555)
	openDir := program("opendir", 0o777, 0o755)
	sticky := program("sticky", 0o777|os.ModeSticky, 0o755)
	groupDir := program("groupdir", 0o775, 0o755)
	openFile := program("openfile", 0o755, 0o757)
	noExec := program("noexec", 0o755, 0o644)
	os.MkdirAll(base+"/isdir/mcpx", 0o755)
	os.MkdirAll(base+"/links", 0o755)
	link, badLink := base+"/links/mcpx", base+"/links/bad"
	os.Symlink(good, link)
	os.Symlink(openDir, badLink)
	t.Chdir(filepath.Dir(good)) // an mcpx stands in the current directory

	dir := filepath.Dir
	list := string(filepath.ListSeparator)
	tests := []struct {
		name, argv0, path, want string
	}{
		{"an absolute path is taken as it is", good, "", good},
		{"a link to a good one is taken by its own name", link, "", link},
		{"a link to a bad one is not", badLink, "", ""},
		{"a directory others may write is not", openDir, "", ""},
		{"a sticky one neither", sticky, "", ""},
		{"a directory the group may write is not", groupDir, "", ""},
		{"a file others may write is not", openFile, "", ""},
		{"a file that does not run is not", noExec, "", ""},
		{"a missing one is not", base + "/none/mcpx", "", ""},
		{"a relative path never", "./mcpx", "", ""},
		{"a relative path never, without its dot", "good/mcpx", dir(base), ""},
		{"a bare name is looked up", "mcpx", dir(good), good},
		{"the first trustworthy wins", "mcpx", dir(openDir) + list + base + "/isdir" + list + dir(other) + list + dir(good), other},
		{"relative and empty entries are skipped", "mcpx", "." + list + "" + list + "good" + list + dir(other), other},
		{"a bare name found nowhere", "mcpx", "." + list + dir(openDir), ""},
		{"no name", "", dir(good), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := lookUp(tt.argv0, tt.path); got != tt.want {
				t.Errorf("lookUp(%q, %q) = %q, want %q", tt.argv0, tt.path, got, tt.want)
			}
		})
	}
}

func TestLookUpRefusesForeignPrograms(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "mcpx")
	os.WriteFile(path, nil, 0o755)
	if got := lookUp(path, ""); got != path {
		t.Fatalf("our own: %q", got)
	}
	os.Chown(path, 4711, 4711)
	if got := lookUp(path, ""); got != "" {
		t.Errorf("another user's program: %q", got)
	}
	os.Chown(path, 0, 0)
	os.Chown(dir, 4711, 4711)
	if got := lookUp(path, ""); got != "" {
		t.Errorf("a program in another user's directory: %q", got)
	}
}

func TestProgramFallsBackToOurselves(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Argv0: "./mcpx", Getenv: environment("PATH=.")}
	if got, err := o.program(); got != self || err != nil {
		t.Errorf("program() = %q, %v, want %q", got, err, self)
	}
}
