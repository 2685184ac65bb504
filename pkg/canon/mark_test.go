package canon

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAMarkHoldsForItsOwnDirectory(t *testing.T) {
	base := t.TempDir()
	dir, other := filepath.Join(base, "a"), filepath.Join(base, "b")
	for _, d := range []string{dir, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Marked(dir)
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name string
		do   func() error
		want bool
	}{
		{"untouched", func() error { return nil }, true},
		{"with a new file in it", func() error { return os.WriteFile(filepath.Join(dir, "f"), nil, 0o600) }, true},
		{"moved away", func() error { return os.Rename(dir, dir+".old") }, false},
		{"with another one in its place", func() error { return os.Rename(other, dir) }, false},
		{"back again", func() error {
			if err := os.Rename(dir, other); err != nil {
				return err
			}
			return os.Rename(dir+".old", dir)
		}, true},
		{"removed", func() error { return os.RemoveAll(dir) }, false},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		if got := m.Holds(); got != s.want {
			t.Errorf("%s: Holds = %v, want %v", s.name, got, s.want)
		}
	}
	if _, err := Marked(filepath.Join(base, "none")); err == nil {
		t.Error("a directory that is not there was marked")
	}
}
