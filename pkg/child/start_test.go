package child

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/spawn"
)

func TestArgvArrivesByteForByte(t *testing.T) {
	dir := t.TempDir() + "/a dir with $HOME, 'quotes' and \"more\""
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self(), dir+"/a server"); err != nil {
		t.Fatal(err)
	}
	want := []string{"two words", `"quoted"`, "it's", "$HOME ${X} `id` $(id)", "a\nb\tc", "", "-", "*", `back\slash`, "ünïcödé", "\xff"}
	p := plan("report", want...)
	p.Command, p.Dir = dir+"/a server", dir
	want[len(want)-1] = "\ufffd" // the report is JSON, which has no such byte
	if diff := cmp.Diff(want, factsOf(t, p, options(t)).Argv); diff != "" {
		t.Errorf("argv (-want +got):\n%s", diff)
	}
}

// Descriptors that somebody opened without close-on-exec are what a daemon
// inherits from a host; a child must not.
func TestChildHasThreeDescriptors(t *testing.T) {
	for range 50 {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Close(fd) })
	}
	ls, err := exec.LookPath("ls")
	if err != nil {
		t.Skip(err)
	}
	p := spawn.Plan{Server: "srv", Command: ls, Args: []string{"-l", "/proc/self/fd"}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if got := descriptors(t, mustStart(t, p, options(t))); got != "0 1 2" {
					t.Errorf("descriptors: got %s, want 0 1 2", got)
				}
			}
		})
	}
	wg.Wait()
}

// descriptors reads the list of ls, without the one ls opened to read it.
func descriptors(t *testing.T, c *Process) string {
	t.Helper()
	out, err := io.ReadAll(c.Stdout())
	if err != nil {
		t.Error(err)
	}
	var all []string
	for line := range strings.Lines(string(out)) {
		left, target, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if ok && !strings.HasSuffix(target, "/fd") {
			all = append(all, left[strings.LastIndexByte(left, ' ')+1:])
		}
	}
	return strings.Join(all, " ")
}

func TestChildsPipesBlock(t *testing.T) {
	if !factsOf(t, plan("report"), options(t)).Blocking {
		t.Error("the child's ends of the pipes are not in blocking mode")
	}
}

func TestStartThatFailsLeavesNothing(t *testing.T) {
	broken := errors.New("no base today")
	tests := []struct {
		name  string
		start func(p spawn.Plan, o Options) (*Process, error)
	}{
		{"without a base environment", func(p spawn.Plan, o Options) (*Process, error) {
			o.Base = func(context.Context) ([]string, error) { return nil, broken }
			return Start(t.Context(), p, o)
		}},
		{"with a context that has ended", func(p spawn.Plan, o Options) (*Process, error) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return Start(ctx, p, o)
		}},
		{"without its directory", func(p spawn.Plan, o Options) (*Process, error) {
			p.Dir = o.Home + "/none"
			return Start(t.Context(), p, o)
		}},
		{"with a NUL in its arguments", func(p spawn.Plan, o Options) (*Process, error) {
			p.Args = []string{"a\x00b"}
			return Start(t.Context(), p, o)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			descriptors := openDescriptors(t)
			c, err := tt.start(plan("fakemcp"), options(t))
			if err == nil {
				_ = c.Stop(t.Context())
				t.Fatal("Start: no error")
			}
			if !strings.HasPrefix(err.Error(), `server "srv": `) {
				t.Errorf("Start: got %q, want the server named", err)
			}
			if got := openDescriptors(t); got != descriptors {
				t.Errorf("descriptors: got %d, want %d", got, descriptors)
			}
			for _, p := range table(t) {
				if p.parent == os.Getpid() {
					t.Errorf("a child is left: %+v", p)
				}
			}
		})
	}
}
