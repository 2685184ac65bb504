package fleet

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/render"
)

// rendered are files with the manifest that belongs to them.
func rendered(files map[string]string) map[string][]byte {
	m := render.Manifest{Machine: "a", Files: map[string]string{}}
	out := map[string][]byte{}
	for name, data := range files {
		out[name] = []byte(data)
		m.Files[name] = "sum of " + data
	}
	out[render.ManifestName] = m.Encode()
	return out
}

// snapshot is what lies below dir, and when each file was last written.
func snapshot(t *testing.T, dir string) (text map[string]string, times map[string]int64) {
	t.Helper()
	text, times = map[string]string{}, map[string]int64{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && file == dir {
			return err
		}
		name, _ := filepath.Rel(dir, file)
		if d.IsDir() {
			text[name+"/"] = ""
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			text[name], err = os.Readlink(file)
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text[name], times[name] = string(data), info.ModTime().UnixNano()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text, times
}

func mustWrite(t *testing.T, dir string, files map[string][]byte) []string {
	t.Helper()
	changes, err := Write(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	return names(changes)
}

func names(changes []Change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Name)
	}
	return all
}

func TestWriteTwiceChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "out")
	files := rendered(map[string]string{"mcpx/config.json": "c", "hosts/codex/config.toml": "t"})
	if diff := cmp.Diff([]string{"hosts/codex/config.toml", "manifest.json", "mcpx/config.json"}, mustWrite(t, dir, files)); diff != "" {
		t.Errorf("written first (-want +got):\n%s", diff)
	}
	text, times := snapshot(t, dir)
	want := map[string]string{
		"mcpx/": "", "hosts/": "", "hosts/codex/": "",
		"mcpx/config.json": "c", "hosts/codex/config.toml": "t", "manifest.json": string(files["manifest.json"]),
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := mustWrite(t, dir, files); again != nil {
		t.Errorf("written again: %v", again)
	}
	if _, later := snapshot(t, dir); !cmp.Equal(times, later) {
		t.Errorf("files were touched:\n%s", cmp.Diff(times, later))
	}
}

func TestWriteTouchesOnlyWhatChangedAndRemovesWhatIsStale(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, rendered(map[string]string{"a/keep": "1", "a/change": "1", "b/c/stale": "1", "d/stale": "1"}))
	write(t, dir, map[string]string{"d/mine": "x"})
	_, before := snapshot(t, dir)
	next := rendered(map[string]string{"a/keep": "1", "a/change": "2"})
	changes, err := Compare(dir, next)
	if err != nil {
		t.Fatal(err)
	}
	wantDiff := "diff OUT/a/change OUT/a/change\n--- OUT/a/change\n+++ OUT/a/change\n@@ -1,1 +1,1 @@\n-1\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n"
	if diff := cmp.Diff(wantDiff, string(changes[0].Diff("OUT"))); diff != "" {
		t.Errorf("the diff (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a/change", "b/c/stale", "d/stale", "manifest.json"}, mustWrite(t, dir, next)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	text, after := snapshot(t, dir)
	want := map[string]string{"a/": "", "a/keep": "1", "a/change": "2", "d/": "", "d/mine": "x", "manifest.json": string(next["manifest.json"])}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if before["a/keep"] != after["a/keep"] {
		t.Error("a file that stayed the same was written")
	}
}

func TestWriteRefusesWhatIsNotItsOwn(t *testing.T) {
	tests := []struct {
		name, blames string
		prepare      func(t *testing.T, dir string)
	}{
		{"a file", "mcpx/config.json", func(t *testing.T, dir string) { write(t, dir, map[string]string{"mcpx/config.json": "mine"}) }},
		{"a directory", "mcpx/config.json", func(t *testing.T, dir string) { write(t, dir, map[string]string{"mcpx/config.json/x": "mine"}) }},
		{"a file where a directory should be", "mcpx", func(t *testing.T, dir string) { write(t, dir, map[string]string{"mcpx": "mine"}) }},
		{"another manifest", "manifest.json", func(t *testing.T, dir string) { write(t, dir, map[string]string{"manifest.json": `{"name": "app"}`}) }},
		{"a manifest that leads out", "manifest.json", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"manifest.json": `{"machine": "a", "files": {"../x": "1"}}`})
		}},
		{"a link to elsewhere", "mcpx", func(t *testing.T, dir string) {
			if err := os.Symlink(t.TempDir(), filepath.Join(dir, "mcpx")); err != nil {
				t.Fatal(err)
			}
		}},
		{"its own file made a link", "mcpx/config.json", func(t *testing.T, dir string) {
			mustWrite(t, dir, rendered(map[string]string{"mcpx/config.json": "c"}))
			target := filepath.Join(t.TempDir(), "target")
			write(t, "/", map[string]string{target: "mine"})
			if err := errors.Join(os.Remove(filepath.Join(dir, "mcpx/config.json")), os.Symlink(target, filepath.Join(dir, "mcpx/config.json"))); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.prepare(t, dir)
			before, _ := snapshot(t, dir)
			_, err := Write(dir, rendered(map[string]string{"a": "1", "mcpx/config.json": "new"}))
			var e *Error
			if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), filepath.Join(dir, tt.blames)+": ") || e.Hint() == "" {
				t.Errorf("got %v, want it to name %s", err, tt.blames)
			}
			if after, _ := snapshot(t, dir); !cmp.Equal(before, after) {
				t.Errorf("something was written:\n%s", cmp.Diff(before, after))
			}
		})
	}
}

func TestAWriteThatEndedHalfwayIsFinishedByTheNext(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, rendered(map[string]string{"old": "1", "both": "1"}))
	next := rendered(map[string]string{"new": "2", "both": "2"})
	data, err := os.ReadFile(filepath.Join(dir, render.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	owned, _ := render.ParseManifest(data)
	// Halfway: the manifest of both, and one file of the new ones.
	write(t, dir, map[string]string{"manifest.json": string(union(owned, next)), "new": "2"})
	mustWrite(t, dir, next)
	want := map[string]string{"new": "2", "both": "2", "manifest.json": string(next["manifest.json"])}
	if text, _ := snapshot(t, dir); !cmp.Equal(want, text) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, text))
	}
}

func TestThatTheCommitMovedIsNoChange(t *testing.T) {
	dir := t.TempDir()
	files := rendered(map[string]string{"a": "1"})
	mustWrite(t, dir, files)
	m, _ := render.ParseManifest(files[render.ManifestName])
	m.Commit = "c0ffee"
	files[render.ManifestName] = m.Encode()
	if changes, err := Compare(dir, files); err != nil || changes != nil {
		t.Errorf("Compare: got %v, %v", names(changes), err)
	}
	if diff := cmp.Diff([]string{"manifest.json"}, mustWrite(t, dir, files)); diff != "" {
		t.Errorf("Write (-want +got):\n%s", diff)
	}
}

func TestCompareWithNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "no")
	changes, err := Compare(dir, rendered(map[string]string{"a": "1\n"}))
	if diff := cmp.Diff([]string{"a", "manifest.json"}, names(changes)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if !strings.HasPrefix(string(changes[0].Diff("d")), "diff /dev/null d/a\n") {
		t.Errorf("got %s", changes[0].Diff("d"))
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it was made")
	}
}

// A render that is killed leaves what it was writing; the next one clears it
// away, also where nothing else has changed, and leaves what others put there.
func TestWriteRemovesWhatAKilledOneLeft(t *testing.T) {
	dir := t.TempDir()
	files := rendered(map[string]string{"mcpx/config.json": "c", "hosts/codex/config.toml": "h"})
	if _, err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	want, _ := snapshot(t, dir)
	for _, name := range []string{".mcpx-note", "hosts/codex/.mcpx-abcdefghijklmnopqrstuvwxyz"} {
		want[name] = "x"
		write(t, dir, map[string]string{name: "x"})
	}
	tmp := unfinished + rand.Text()
	write(t, dir, map[string]string{tmp: "x", "mcpx/" + tmp: "x", "hosts/codex/" + tmp: "x"})
	if _, err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	got, _ := snapshot(t, dir)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWritersWaitForEachOther: whoever comes second finds what the first wrote
// whole, and takes none of it for another's.
func TestWritersWaitForEachOther(t *testing.T) {
	for range 40 {
		dir := t.TempDir()
		var wg sync.WaitGroup
		for i := range 6 {
			files := rendered(map[string]string{"a/b": "b", "mcpx/config.json": strings.Repeat("c", i+1)})
			wg.Go(func() {
				if _, err := Write(dir, files); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if _, err := Compare(dir, files); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		config, _ := snapshot(t, dir)
		if changes, err := Compare(dir, rendered(map[string]string{"a/b": "b", "mcpx/config.json": config["mcpx/config.json"]})); err != nil || changes != nil {
			t.Fatalf("the manifest is not that of the files: %v, %v", names(changes), err)
		}
	}
}
