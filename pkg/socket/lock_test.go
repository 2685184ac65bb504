package socket

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestOneDaemonAtATime(t *testing.T) {
	r := open(t)
	unlock, held, err := r.LockDaemon()
	if !held || err != nil {
		t.Fatalf("the first: held %v, %v", held, err)
	}
	second := openAt(t, r.Path())
	if _, held, err := second.LockDaemon(); held || err != nil {
		t.Errorf("the second: held %v, %v, want false, nil", held, err)
	}
	unlock()
	unlock()
	release, held, err := second.LockDaemon()
	if !held || err != nil {
		t.Fatalf("after the first let go: held %v, %v", held, err)
	}
	release()
}

func TestLocksArePrivateFiles(t *testing.T) {
	r := open(t)
	unlock, _, _ := r.LockDaemon()
	defer unlock()
	info, err := os.Lstat(r.file(daemonLock))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v, want -rw-------", info.Mode(), err)
	}
}

func TestLockStartWaitsItsTurn(t *testing.T) {
	r := open(t)
	unlock, err := r.LockStart(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		unlock, err := r.LockStart(t.Context())
		if err == nil {
			unlock()
		}
		got <- err
	}()
	unlock()
	if err := <-got; err != nil {
		t.Errorf("the second: %v", err)
	}
}

func TestLockStartGivesUpWithItsContext(t *testing.T) {
	r := open(t)
	unlock, err := r.LockStart(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err = r.LockStart(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "start.lock") || hint(err) == "" {
		t.Errorf("got %v, hint %q", err, hint(err))
	}
}
