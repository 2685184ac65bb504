package canon

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// folding is a real directory seen as through a volume that folds case and
// composed letters: any spelling opens the entry.
func folding(top string) disk {
	find := func(dir, name string) string {
		entries, _ := names(dir)
		for _, e := range entries {
			if fold(e) == fold(name) {
				return e
			}
		}
		return name
	}
	return disk{
		names: names,
		lstat: func(p string) (fs.FileInfo, error) {
			real := "/"
			for name := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
				if strings.HasPrefix(real, top) {
					name = find(real, name)
				}
				real = child(real, name)
			}
			return os.Lstat(real)
		},
	}
}

func fold(s string) string {
	s = strings.ReplaceAll(s, "e\u0301", "\u00e9")
	return strings.Map(unicode.ToLower, s)
}

func TestSpelledAsTheDirectoryHasIt(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(top+"/Src/caf\u00e9/A1", 0o755); err != nil {
		t.Fatal(err)
	}
	want := top + "/Src/caf\u00e9/A1"
	for name, in := range map[string]string{
		"its own spelling":     "/Src/caf\u00e9/A1",
		"other case":           "/sRC/CAF\u00c9/a1",
		"decomposed letters":   "/Src/cafe\u0301/A1",
		"both, and other case": "/SRC/cafe\u0301/a1",
	} {
		if got := folding(top).spelled(top + in); got != want {
			t.Errorf("%s: spelled(%q): got %q, want %q", name, in, got, want)
		}
	}
}

func TestSpelledKeepsTwoDirectoriesTwo(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(top+"/Repo", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(top+"/repo", 0o755); err != nil {
		t.Skip("this volume folds case: the two are one")
	}
	for _, p := range []string{top + "/Repo", top + "/repo"} {
		if got := spelled(p); got != p {
			t.Errorf("spelled(%q): got %q", p, got)
		}
	}
}

func TestSpelledKeepsTwoNamesOfOneFile(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(top+"/Name", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(top+"/Name", top+"/nAME"); err != nil {
		t.Skip("no two names by case here:", err)
	}
	for _, p := range []string{top + "/Name", top + "/nAME"} {
		if got := spelled(p); got != p {
			t.Errorf("spelled(%q): got %q", p, got)
		}
	}
}
