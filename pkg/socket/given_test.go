package socket

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// given is a socket that somebody else bound and listens on.
func given(t *testing.T, path string, mode os.FileMode) net.Listener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	passed, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { passed.Close() })
	l.SetUnlinkOnClose(false)
	return passed
}

func TestTakenSocketIsServedAndLeftBehind(t *testing.T) {
	r := open(t)
	l, err := r.Take(Control, given(t, r.file(Control), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Dial(Control)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	accepted.Close()
	if err := os.Rename(r.file(Control), r.file("moved")); err != nil {
		t.Fatal(err)
	}
	if !r.Owned(Control, l) {
		t.Error("a socket of systemd's is judged by its path")
	}
	if err := os.Rename(r.file("moved"), r.file(Control)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(r.file(Control)); err != nil {
		t.Errorf("closing removed it: %v", err)
	}
	waiting, err := r.Dial(Control)
	if err != nil {
		t.Fatalf("it no longer listens: %v", err)
	}
	waiting.Close()
}

func TestTakeRefusesAStrangersConnections(t *testing.T) {
	r := open(t)
	r.peer = func(*net.UnixConn) (Peer, error) { return Peer{UID: r.uid + 1}, nil }
	l, err := r.Take(Control, given(t, r.file(Control), 0o600))
	if err != nil {
		t.Fatal(err)
	}
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
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("a stranger read %d bytes, %v", n, err)
	}
	l.Close()
	if err := <-accepted; err == nil {
		t.Error("a stranger was accepted")
	}
}

func TestTakeRefusesWhatCallersWouldNotFind(t *testing.T) {
	tests := []struct {
		name, path string
		mode       os.FileMode
		says, hint string
	}{
		{"a socket elsewhere", "../elsewhere.sock", 0o600, "callers look at", "ListenStream="},
		{"the other socket", Attach, 0o600, "callers look at", "ListenStream="},
		{"a socket open to others", Control, 0o660, "open to other users (mode 0660)", "SocketMode=0600"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := open(t)
			_, err := r.Take(Control, given(t, filepath.Join(r.Path(), tt.path), tt.mode))
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(hint(err), tt.hint) {
				t.Errorf("got %v, hint %q", err, hint(err))
			}
		})
	}
	r := open(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if _, err := r.Take(Control, tcp); err == nil || hint(err) == "" {
		t.Errorf("a TCP socket: %v", err)
	}
}

func TestDaemonIsKnownByItsLock(t *testing.T) {
	r := open(t)
	if _, running, err := r.Daemon(); running || err != nil {
		t.Errorf("before the first: %v, %v", running, err)
	}
	unlock, _, err := r.LockDaemon()
	if err != nil {
		t.Fatal(err)
	}
	if pid, running, err := r.Daemon(); pid != os.Getpid() || !running || err != nil {
		t.Errorf("while it runs: pid %d, %v, %v", pid, running, err)
	}
	unlock()
	if _, running, err := r.Daemon(); running || err != nil {
		t.Errorf("when it is gone: %v, %v", running, err)
	}
}

// Whoever asks for a daemon must not keep one from starting.
func TestAskingHindersNoStart(t *testing.T) {
	r := open(t)
	asker := openAt(t, r.Path())
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				asker.Daemon()
			}
		}
	}()
	defer func() {
		close(stop)
		<-done
	}()
	for range 200 {
		unlock, held, err := r.LockDaemon()
		if !held || err != nil {
			t.Fatalf("held %v, %v", held, err)
		}
		unlock()
	}
}
