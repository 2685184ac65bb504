package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listenAt binds Control under the daemon lock.
func listenAt(t *testing.T, r *Runtime) net.Listener {
	t.Helper()
	unlock, held, err := r.LockDaemon()
	if !held {
		t.Fatalf("LockDaemon: held %v, %v", held, err)
	}
	t.Cleanup(unlock)
	l, err := r.Listen(Control)
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestDialFindsNoDaemon(t *testing.T) {
	t.Run("where nothing is", func(t *testing.T) {
		r := open(t)
		_, err := r.Dial(Control)
		if want := "no daemon on " + r.Path() + "/control.sock"; !errors.Is(err, ErrNoDaemon) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
	t.Run("behind a socket left over", func(t *testing.T) {
		r := open(t)
		leaveStale(t, r)
		if _, err := r.Dial(Control); !errors.Is(err, ErrNoDaemon) {
			t.Errorf("got %v, want ErrNoDaemon", err)
		}
	})
}

// leaveStale leaves what a killed daemon leaves.
func leaveStale(t *testing.T, r *Runtime) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: r.file(Control), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

func TestDialAndListenRefuseWhatIsNoSocket(t *testing.T) {
	plants := map[string]func(path string) error{
		"a regular file":  func(path string) error { return os.WriteFile(path, []byte("kept"), 0o600) },
		"a directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"a symbolic link": func(path string) error { return os.Symlink("nowhere", path) },
		"a named pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
	}
	for what, plant := range plants {
		t.Run(what, func(t *testing.T) {
			r := open(t)
			path := r.file(Control)
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			unlock, _, _ := r.LockDaemon()
			defer unlock()
			want := path + " is " + what + ", not a socket"
			_, err := r.Dial(Control)
			if err == nil || err.Error() != want || errors.Is(err, ErrNoDaemon) {
				t.Errorf("Dial: %v, want %s", err, want)
			}
			if _, err := r.Listen(Control); err == nil || err.Error() != want {
				t.Errorf("Listen: %v, want %s", err, want)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("it was removed: %v", err)
			}
		})
	}
}

// Report L6: a sandbox answers connect with EPERM or EACCES.
func TestDialNamesASandbox(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EPERM, syscall.EACCES} {
		err := dialFault("/run/x.sock", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errno)})
		if !errors.Is(err, errno) || errors.Is(err, ErrNoDaemon) || !strings.Contains(err.Error(), "sandbox") || hint(err) == "" {
			t.Errorf("%v: got %v, hint %q", errno, err, hint(err))
		}
	}
}

func TestSlowIsNotDead(t *testing.T) {
	err := dialFault("/run/x.sock", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EAGAIN)})
	if errors.Is(err, ErrNoDaemon) || !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("a full queue: got %v", err)
	}
}

// Threat T16: the uid is looked at on both sides, before one byte.
func TestForeignPeers(t *testing.T) {
	for name, peer := range map[string]func(*net.UnixConn) (Peer, error){
		"another uid":     func(*net.UnixConn) (Peer, error) { return Peer{PID: 1, UID: os.Geteuid() + 1}, nil },
		"an unmapped uid": func(*net.UnixConn) (Peer, error) { return Peer{UID: 65534}, nil },
		"an unknown one":  func(*net.UnixConn) (Peer, error) { return Peer{}, errors.New("no credentials") },
	} {
		t.Run(name+" connects", func(t *testing.T) {
			r := open(t)
			l := listenAt(t, r)
			r.peer = peer
			accepted := make(chan error, 1)
			go func() {
				_, err := l.Accept()
				accepted <- err
			}()
			c, err := r.connect(Control)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if got, err := io.ReadAll(c); len(got) != 0 {
				t.Errorf("it was sent %q, %v", got, err)
			}
			l.Close()
			if err := <-accepted; !errors.Is(err, net.ErrClosed) {
				t.Errorf("Accept: %v, want only the end of the listener", err)
			}
		})
		t.Run(name+" answers", func(t *testing.T) {
			r := open(t)
			l := listenAt(t, r)
			client := openAt(t, r.Path())
			client.peer = peer
			if c, err := client.Dial(Control); err == nil {
				t.Errorf("Dial: %v, want an error", c)
			}
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if got, err := io.ReadAll(c); len(got) != 0 || err != nil {
				t.Errorf("it sent %q, %v", got, err)
			}
		})
	}
}

func TestPeerOfTellsBothSides(t *testing.T) {
	r := open(t)
	l := listenAt(t, r)
	out, err := r.Dial(Control)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	want := Peer{PID: os.Getpid(), UID: os.Geteuid()}
	for _, c := range []*net.UnixConn{out, in.(*net.UnixConn)} {
		got, err := PeerOf(c)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// Report L3, threat T14: any length works, and two long ones never collide.
func TestDirectoriesOfAnyLength(t *testing.T) {
	if _, ok := throughDescriptor(0, ""); !ok {
		t.Skip("this system has no way around the length of a socket path")
	}
	base := t.TempDir()
	for _, n := range []int{60, 90, 95, 96, 97, 103, 104, 107, 108, 109, 150, 200} {
		path := filepath.Join(base, strings.Repeat("a", n-len(base)-1))
		r := openAt(t, path)
		unlock, _, _ := r.LockDaemon()
		l, err := r.Listen(Control)
		if err != nil {
			t.Errorf("%d bytes: %v", n, err)
			continue
		}
		c, err := openAt(t, path).Dial(Control)
		if err != nil {
			t.Errorf("%d bytes: %v", n, err)
		} else {
			c.Close()
		}
		if !r.Owned(Control, l) {
			t.Errorf("%d bytes: not owned", n)
		}
		l.Close()
		if _, err := os.Lstat(r.file(Control)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%d bytes: the socket was left: %v", n, err)
		}
		unlock()
	}
}

func TestTooLongSaysPathLengthAndLimit(t *testing.T) {
	path := "/" + strings.Repeat("a", 200) + "/attach.sock"
	err := tooLong(path, Attach)
	for _, want := range []string{path, "213 bytes", "107 at most"} {
		if !strings.Contains(strings.ReplaceAll(err.Error(), "103 at", "107 at"), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if !strings.Contains(hint(err), "--runtime-dir") {
		t.Errorf("hint %q", hint(err))
	}
}
