// Package fleet holds the shipped fleet to its goldens: what each machine and
// its hosts read, byte for byte.
package fleet

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/fleet"
	"github.com/dezren39/mcpx/pkg/render"
)

// TestTheShippedFleetRendersAsReviewed renders as outside a repository, since a
// golden cannot name the commit it is in. UPDATE=1 writes the goldens.
func TestTheShippedFleetRendersAsReviewed(t *testing.T) {
	tree, err := fleet.Read("../../fleet")
	if err != nil {
		t.Fatal(err)
	}
	for _, machine := range []string{"laptop", "sandbox"} {
		t.Run(machine, func(t *testing.T) {
			files, problems := render.Render(render.Input{Files: tree.Files, Dir: "fleet", Machine: machine})
			if problems != nil {
				t.Fatal(problems)
			}
			dir := filepath.Join("golden", machine)
			if os.Getenv("UPDATE") != "" {
				if _, err := fleet.Write(dir, files); err != nil {
					t.Fatal(err)
				}
			}
			got := map[string]string{}
			for name, data := range files {
				got[name] = string(data)
			}
			if diff := cmp.Diff(golden(t, dir), got); diff != "" {
				t.Errorf("UPDATE=1 writes what is right now (-golden +rendered):\n%s", diff)
			}
		})
	}
}

// TestEveryMachineHasAGolden keeps a new machine from going unreviewed.
func TestEveryMachineHasAGolden(t *testing.T) {
	machines, err := filepath.Glob("../../fleet/machines/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range machines {
		name := strings.TrimSuffix(path.Base(m), ".json")
		if _, err := os.Stat(filepath.Join("golden", name, render.ManifestName)); err != nil {
			t.Errorf("%s has no golden: %v", name, err)
		}
	}
}

func golden(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
