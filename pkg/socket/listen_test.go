package socket

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestListenIsPrivateAtFirstSight(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	r := open(t)
	l := listenAt(t, r)
	info, err := os.Lstat(r.file(Control))
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v, %v, want Srw-------", info.Mode(), err)
	}
	if now := syscall.Umask(0); now != 0 {
		t.Errorf("umask left at %04o", now)
	}
	l.Close()
}

func TestListenRemovesAStaleSocketOnlyUnderTheLock(t *testing.T) {
	r := open(t)
	leaveStale(t, r)
	if _, err := r.Listen(Control); err == nil {
		t.Fatal("Listen without the lock took it")
	}
	if _, err := os.Lstat(r.file(Control)); err != nil {
		t.Fatalf("Listen without the lock removed it: %v", err)
	}
	l := listenAt(t, r)
	c, err := r.Dial(Control)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	c.Close()
	l.Close()
}

func TestListenLeavesALiveSocketAlone(t *testing.T) {
	r := open(t)
	live, err := net.Listen("unix", r.file(Control))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	unlock, _, _ := r.LockDaemon()
	defer unlock()
	if _, err := r.Listen(Control); err == nil || errors.Is(err, ErrNoDaemon) {
		t.Errorf("got %v", err)
	}
	c, err := r.Dial(Control)
	if err != nil {
		t.Fatalf("it was removed: %v", err)
	}
	c.Close()
}

func TestOwnedSeesTheSocketReplaced(t *testing.T) {
	r := open(t)
	l := listenAt(t, r)
	path := r.file(Control)
	if !r.Owned(Control, l) {
		t.Fatal("a fresh socket is not owned")
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if r.Owned(Control, l) {
		t.Error("a missing path is owned")
	}
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if r.Owned(Control, l) {
		t.Error("another's socket is owned")
	}
	if r.Owned(Control, other) {
		t.Error("a listener of another kind is owned")
	}
	l.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("closing removed another's socket: %v", err)
	}
}

func TestOwnedGoesByThePathOfTheDirectory(t *testing.T) {
	r := open(t)
	l := listenAt(t, r)
	if err := os.Rename(r.Path(), r.Path()+".old"); err != nil {
		t.Fatal(err)
	}
	if r.Owned(Control, l) {
		t.Error("a socket in a directory that moved away is owned")
	}
}

func TestListenerMayBeClosedTwice(t *testing.T) {
	r := open(t)
	l := listenAt(t, r)
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v, want net.ErrClosed", err)
	}
}
