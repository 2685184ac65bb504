package registry

import (
	"os"
	"testing"

	"github.com/dezren39/mcpx/pkg/scope"
)

// A process stands in the directory that it was started in. When that was
// removed and made again, or moved and another one put in its place, the name
// in the key means another checkout, and the process would answer for the old.
func TestAReplacedDirectoryIsAnotherProcess(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Cwd)
	here := dir(t, "checkout")
	cc := scope.CallContext{Cwd: here}
	key := s.Scope.Key(cc)
	var last string
	var in *instance
	forget := func() { // nobody replaces a directory between two calls of a burst
		if in != nil {
			in.seen.Store(0)
		}
	}
	for _, replace := range []func() error{
		func() error { return nil },
		func() error { // git worktree remove, git worktree add
			if err := os.RemoveAll(here); err != nil {
				return err
			}
			return os.Mkdir(here, 0o700)
		},
		func() error { // mv checkout old; mv other checkout
			if err := os.Rename(here, here+".old"); err != nil {
				return err
			}
			return os.Mkdir(here, 0o700)
		},
	} {
		forget()
		if err := replace(); err != nil {
			t.Fatal(err)
		}
		if l, ok := r.Running(s, key, ""); ok {
			l.Release()
			if last != "" {
				t.Error("the warm path led to a process in another directory")
			}
		}
		l, err := r.Acquire(t.Context(), s, cc)
		if err != nil {
			t.Fatal(err)
		}
		if l.Instance() == last {
			t.Error("the process of the old directory was leased")
		}
		last, in = l.Instance(), l.Upstream().(*instance)
		l.Release()
		if again, ok := r.Running(s, key, ""); !ok || again.Instance() != last {
			t.Error("the process of the new directory is not leased")
		} else {
			again.Release()
		}
	}
	if err := os.RemoveAll(here); err != nil {
		t.Fatal(err)
	}
	forget()
	if _, err := r.Acquire(t.Context(), s, cc); err == nil {
		t.Error("a process was leased whose directory is gone")
	}
}
