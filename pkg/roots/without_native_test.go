package roots

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheRestGoesOnWithoutNativeRoots holds design D10: MCP's roots feature is one
// file. Without it the package compiles and its tests pass, and outside of it
// three places know of it: the question to the host, and the answers to a server.
func TestTheRestGoesOnWithoutNativeRoots(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	gone := map[string]string{}
	for _, name := range []string{"native.go", "native_test.go", "without_native_test.go"} {
		gone[filepath.Join(here, name)] = ""
	}
	overlay, err := json.Marshal(map[string]any{"Replace": gone})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "test", "-count=1", "-overlay", file, ".").CombinedOutput(); err != nil {
		t.Errorf("without native.go: %v\n%s", err, out)
	}

	var callers []string
	err = filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "vendor" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err == nil && (strings.Contains(string(src), "roots.ParseNative(") || strings.Contains(string(src), "roots.List(")) {
			callers = append(callers, filepath.ToSlash(strings.TrimPrefix(path, filepath.Join("..", "..")+"/")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(callers)
	want := []string{"pkg/session/where.go", "pkg/spawn/workspace.go", "pkg/upstream/hello.go"}
	if diff := cmp.Diff(want, callers); diff != "" {
		t.Errorf("who knows of MCP's roots (-want +got):\n%s", diff)
	}
}
