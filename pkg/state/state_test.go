package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type thing struct {
	Name string `json:"name"`
	Many []int  `json:"many"`
}

func open(t *testing.T) *Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "a", "state"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t *testing.T, d *Dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(d.file(name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	d := open(t)
	want := thing{"a", []int{1, 2}}
	if err := d.Save("t.json", 3, want); err != nil {
		t.Fatal(err)
	}
	var got thing
	if found, err := d.Load("t.json", 3, &got); !found || err != nil {
		t.Fatalf("Load: got %v, %v, want true, nil", found, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	fi, err := os.Lstat(d.file("t.json"))
	if err != nil || fi.Mode() != 0o600 {
		t.Errorf("got mode %v, %v, want -rw-------", fi.Mode(), err)
	}
	if err := d.Remove("t.json"); err != nil {
		t.Fatal(err)
	}
	if found, err := d.Load("t.json", 3, &got); found || err != nil {
		t.Errorf("Load of what is gone: got %v, %v, want false, nil", found, err)
	}
	if err := d.Remove("t.json"); err != nil {
		t.Errorf("Remove of what is gone: %v", err)
	}
}

func TestOpenMakesAPrivateDirectoryAndRefusesAnother(t *testing.T) {
	d := open(t)
	fi, err := os.Stat(d.Path())
	if err != nil || fi.Mode().Perm() != 0o700 {
		t.Fatalf("got mode %v, %v, want 0700", fi.Mode(), err)
	}
	if err := os.Chmod(d.Path(), 0o750); err != nil {
		t.Fatal(err)
	}
	_, err = Open(d.Path())
	refused(t, err, "mode 0750")
	if fi, _ := os.Stat(d.Path()); fi.Mode().Perm() != 0o750 {
		t.Errorf("Open changed the mode to %v", fi.Mode())
	}

	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	_, err = Open(link)
	refused(t, err, "is not a directory")
}

func TestOpenRefusesAnotherUsersDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	d := open(t)
	if err := os.Chown(d.Path(), 4242, 4242); err != nil {
		t.Fatal(err)
	}
	_, err := Open(d.Path())
	refused(t, err, "has owner 4242 and mode 0700")
}

func refused(t *testing.T, err error, msg string) {
	t.Helper()
	why, ok := errors.AsType[*Refusal](err)
	if !ok || !strings.Contains(why.Msg, msg) || why.Hint() == "" {
		t.Errorf("got %v, want a refusal with a hint: %s", err, msg)
	}
}

func TestLoadRefusesWhatItCannotVouchFor(t *testing.T) {
	const good = `{"format": 1, "data": {"name": "a"}}`
	tests := []struct {
		name  string
		place func(t *testing.T, d *Dir, path string)
		want  string
	}{
		{"a newer format", func(t *testing.T, d *Dir, path string) {
			write(t, d, "t.json", `{"format": 99, "data": {"name": "a"}}`)
		}, "written in format 99, and this mcpx reads 1"},
		{"no format", func(t *testing.T, d *Dir, path string) { write(t, d, "t.json", `{"name": "a"}`) }, "written in format 0"},
		{"no JSON", func(t *testing.T, d *Dir, path string) { write(t, d, "t.json", `{"for`) }, "unexpected end"},
		{"another shape", func(t *testing.T, d *Dir, path string) {
			write(t, d, "t.json", `{"format": 1, "data": {"name": "a", "many": "b"}}`)
		}, "cannot unmarshal"},
		{"a link", func(t *testing.T, d *Dir, path string) {
			write(t, d, "u.json", good)
			must(t, os.Symlink("u.json", path))
		}, "is a link"},
		{"a directory", func(t *testing.T, d *Dir, path string) { must(t, os.Mkdir(path, 0o700)) }, "is not a regular file"},
		{"a FIFO", func(t *testing.T, d *Dir, path string) { must(t, syscall.Mkfifo(path, 0o600)) }, "is not a regular file"},
		{"writable by others", func(t *testing.T, d *Dir, path string) {
			write(t, d, "t.json", good)
			must(t, os.Chmod(path, 0o620))
		}, "mode 0620"},
		{"too large", func(t *testing.T, d *Dir, path string) {
			write(t, d, "t.json", good)
			must(t, os.Truncate(path, MaxSize+1))
		}, "larger than a state file may be"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t)
			tt.place(t, d, d.file("t.json"))
			v := thing{}
			found, err := d.Load("t.json", 1, &v)
			if found || !cmp.Equal(v, thing{}) {
				t.Errorf("Load: got %v with %+v, want nothing", found, v)
			}
			refused(t, err, tt.want)
			if _, err := os.Lstat(d.file("t.json")); err != nil {
				t.Errorf("the file is gone: %v", err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSaveKeepsWhatIsNotItsOwnToReplace(t *testing.T) {
	d := open(t)
	write(t, d, "newer.json", `{"format": 99, "data": 1}`)
	refused(t, d.Save("newer.json", 1, thing{}), "format 99")

	target := filepath.Join(t.TempDir(), "target")
	must(t, os.WriteFile(target, []byte("precious"), 0o600))
	must(t, os.Symlink(target, d.file("link.json")))
	refused(t, d.Save("link.json", 1, thing{}), "is a link")
	if got, _ := os.ReadFile(target); string(got) != "precious" {
		t.Errorf("the link's target now holds %q", got)
	}

	write(t, d, "damaged.json", `{"for`)
	must(t, d.Save("damaged.json", 1, thing{Name: "a"}))
	write(t, d, "older.json", `{"format": 1, "data": 1}`)
	must(t, d.Save("older.json", 2, thing{Name: "a"}))
}

func TestSaveLeavesNothingBehindWhenItFails(t *testing.T) {
	d := open(t)
	if err := d.Save("t.json", 1, func() {}); err == nil {
		t.Error("saved a function")
	}
	if err := d.Save("t.json", 1, strings.Repeat("a", MaxSize)); err == nil {
		t.Error("saved more than a file may hold")
	}
	// A directory appears between the check and the rename.
	must(t, os.Mkdir(d.file("t.json"), 0o700))
	if err := d.replace("t.json", []byte("{}")); err == nil {
		t.Error("replaced a directory")
	}
	entries, err := os.ReadDir(d.Path())
	if err != nil || len(entries) != 1 {
		t.Errorf("got entries %v, %v, want the directory alone", entries, err)
	}
}

func TestNamesDoNotLeadOut(t *testing.T) {
	d := open(t)
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/etc/passwd"} {
		if err := d.Save(name, 1, 1); err == nil {
			t.Errorf("Save(%q) worked", name)
		}
		if _, err := d.Load(name, 1, new(int)); err == nil {
			t.Errorf("Load(%q) worked", name)
		}
		if err := d.Remove(name); err == nil {
			t.Errorf("Remove(%q) worked", name)
		}
	}
}

func TestReadersSeeOneWholeSaveOrAnother(t *testing.T) {
	d := open(t)
	must(t, d.Save("t.json", 1, thing{Name: "0"}))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 6 {
				many := make([]int, 1000*(i+1))
				if err := d.Save("t.json", 1, thing{Name: strings.Repeat("x", i), Many: many}); err != nil {
					t.Error(err)
				}
				var got thing
				if found, err := d.Load("t.json", 1, &got); !found || err != nil || len(got.Many) != 1000*(len(got.Name)+1) {
					t.Errorf("Load: got %v, %v, %d numbers for %q", found, err, len(got.Many), got.Name)
				}
			}
		})
	}
	wg.Wait()
}
