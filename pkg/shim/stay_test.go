package shim

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/socket"
)

// A daemon that took the host and is gone, in whichever way, is followed by the
// next one, which gets the same capsule and the same pipes (design D8).
func TestTheNextDaemonGetsTheHost(t *testing.T) {
	for name, gone := range map[string]func(*served){
		"after a death":                          func(*served) {},
		"after an orderly stop with a line open": func(s *served) { s.say(`{"drain":true}`) },
	} {
		t.Run(name, func(t *testing.T) {
			d := dirsAt(t.TempDir())
			var n atomic.Int32
			var capsules [3]os.FileInfo
			go serve(listening(t, d), func(s *served) {
				i := n.Add(1)
				capsules[i-1], _ = s.capsule.Stat()
				s.capsule.WriteAt([]byte{1}, socket.CapsuleOpenAt)
				s.say(`{"adopted":true}`)
				if i < 3 {
					gone(s)
					return
				}
				s.say(`{"end":7}`)
			})
			if diff := cmp.Diff(result{Code: 7}, pipes(t).run(t, d, Options{})); diff != "" {
				t.Errorf("Run (-want +got):\n%s", diff)
			}
			for _, c := range capsules[1:] {
				if !os.SameFile(capsules[0], c) {
					t.Error("the next daemon got another capsule")
				}
			}
		})
	}
}

// After an orderly stop nobody waits for a daemon, so none is started until the
// host says something; then the host's own line does it.
func TestNoDaemonIsStartedForASilentHost(t *testing.T) {
	o := starter(t)
	h := pipes(t)
	l, leave := resident(t, o.Dirs)
	left := make(chan struct{})
	go serve(l, func(s *served) {
		leave()
		s.say(`{"adopted":true}`, `{"drain":true}`)
		close(left)
	})
	ended := make(chan result, 1)
	go func() { ended <- h.run(t, o.Dirs, o) }()
	<-left
	if n := len(births(t, o.Dirs)); n != 0 {
		t.Errorf("%d daemons were started for a host that said nothing", n)
	}
	if _, err := h.toShim.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result{}, <-ended); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
	if n := len(births(t, o.Dirs)); n != 1 {
		t.Errorf("%d daemons were started for a host that spoke, want 1", n)
	}
}

// A host that is over needs no daemon.
func TestAHostThatIsOverEndsTheShim(t *testing.T) {
	o := starter(t)
	h := pipes(t)
	l, leave := resident(t, o.Dirs)
	go serve(l, func(s *served) {
		leave()
		h.toShim.Close()
		s.say(`{"adopted":true}`, `{"drain":true}`)
	})
	if diff := cmp.Diff(result{}, h.run(t, o.Dirs, o)); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
	if n := len(births(t, o.Dirs)); n != 0 {
		t.Errorf("%d daemons were started for a host that is over", n)
	}
}
