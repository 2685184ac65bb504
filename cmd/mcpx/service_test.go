package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/socket"
)

// passed are files as systemd passes them: of sockets, by these names.
func passed(t *testing.T, names ...string) []*os.File {
	t.Helper()
	var files []*os.File
	for _, name := range names {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.File()
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		defer f.Close()
		fd, err := duplicate(f)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, os.NewFile(uintptr(fd), name))
	}
	return files
}

// duplicate is a descriptor of the same file, for a name of its own.
func duplicate(f *os.File) (int, error) { return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0) }

func TestPassedSocketsGoByTheirNames(t *testing.T) {
	for _, names := range [][]string{{"attach", "control"}, {"control", "attach"}} {
		got, err := listeners(passed(t, names...))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{socket.Attach, socket.Control} {
			if got[name] == nil {
				t.Errorf("%v: no %s", names, name)
				continue
			}
			got[name].Close()
		}
	}
	if got, err := listeners(nil); got != nil || err != nil {
		t.Errorf("nothing passed: %v, %v", got, err)
	}
}

func TestPassedSocketsThatAreNotTheTwo(t *testing.T) {
	tests := []struct {
		name  string
		files func() []*os.File
		want  string
	}{
		{"one is missing", func() []*os.File { return passed(t, "attach") }, "no socket named control"},
		{"one without a name", func() []*os.File { return passed(t, "LISTEN_FD_3", "control") }, `a socket named "LISTEN_FD_3"`},
		{"one too many", func() []*os.File { return passed(t, "attach", "control", "http") }, `a socket named "http"`},
		{"one twice", func() []*os.File { return passed(t, "attach", "attach") }, `two sockets named "attach"`},
		{"no socket", func() []*os.File {
			f, err := os.CreateTemp(t.TempDir(), "")
			if err != nil {
				t.Fatal(err)
			}
			fd, err := duplicate(f)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			return []*os.File{os.NewFile(uintptr(fd), "attach")}
		}, `as "attach" is no listening socket`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := tt.files()
			got, err := listeners(slices.Clone(files))
			if got != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(config.HintOf(err), "FileDescriptorName=control") {
				t.Errorf("got %v, %v, hint %q", got, err, config.HintOf(err))
			}
			for _, f := range files {
				if f.Close() == nil {
					t.Errorf("the descriptor of %s was left open", f.Name())
				}
			}
		})
	}
}
