package source

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dezren39/mcpx/pkg/visibility"
)

func TestTheDocumentIsReplacedAsAWhole(t *testing.T) {
	w := newWorld(t)
	path := w.write(".config/mcpx/rules.json", `{"default":[]}`)
	before, err := os.Stat(path)
	must(t, err)
	l := w.loader()
	set := func(file string, data []byte, disk visibility.Disk) ([]byte, error) {
		return visibility.Set(file, data, disk, "~/src", visibility.Allow{All: true})
	}
	yes := func(_, _ *Rules) error { return nil }
	must(t, l.EditRules(set, yes))
	after, err := os.Stat(path)
	must(t, err)
	if os.SameFile(before, after) {
		t.Error("the file was written in place, where a reader could see half of it")
	}
	if l.Reload(); w.match(l, w.project) != "all" {
		t.Errorf("after the edit: sees %s", w.match(l, w.project))
	}
	must(t, l.EditRules(set, func(_, _ *Rules) error { return errors.New("asked about nothing") })) // the same again is no change
	no := errors.New("no")
	if err := l.EditRules(func(file string, data []byte, _ visibility.Disk) ([]byte, error) {
		return visibility.SetDefault(file, data, visibility.Allow{All: true})
	}, func(before, after *Rules) error {
		if a, _ := before.Table.Match("/x"); a.All {
			t.Error("before: sees all")
		}
		if a, _ := after.Table.Match("/x"); !a.All {
			t.Error("after: sees not all")
		}
		return no
	}); !errors.Is(err, no) {
		t.Errorf("refused: %v", err)
	}
	if l.Reload(); w.match(l, "/x") != "none" {
		t.Error("a refused edit was written")
	}
	files, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(files) != 1 {
		t.Errorf("left beside it: %v", files)
	}
	must(t, os.Chmod(filepath.Dir(path), 0o500))
	defer os.Chmod(filepath.Dir(path), 0o700)
	if os.Geteuid() != 0 {
		if err := l.EditRules(func(file string, data []byte, _ visibility.Disk) ([]byte, error) {
			return visibility.SetDefault(file, data, visibility.Allow{All: true})
		}, yes); err == nil {
			t.Error("a directory that may not be written: no error")
		}
	}
}
