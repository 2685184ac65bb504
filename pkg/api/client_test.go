package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/socket"
)

// daemon is a control socket in this process.
type daemon struct {
	dir  string
	mux  *http.ServeMux
	stop func() // leave the socket and let go of the lock
}

// start listens until the test ends.
func start(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{dir: filepath.Join(t.TempDir(), "run"), mux: http.NewServeMux()}
	rt, err := socket.OpenRuntime(d.dir, true)
	if err != nil {
		t.Fatal(err)
	}
	unlock, _, err := rt.LockDaemon()
	if err != nil {
		t.Fatal(err)
	}
	l, err := rt.Listen(socket.Control)
	if err != nil {
		t.Fatal(err)
	}
	d.stop = sync.OnceFunc(func() {
		l.Close()
		unlock()
	})
	t.Cleanup(func() {
		d.stop()
		rt.Close()
	})
	server := &http.Server{Handler: d.mux}
	t.Cleanup(func() { server.Close() })
	go server.Serve(l)
	return d
}

func (d *daemon) open(t *testing.T) *Client {
	t.Helper()
	c, err := Open(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestOpenStartsNoDaemon(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Open(dir); !errors.Is(err, socket.ErrNoDaemon) {
		t.Errorf("without a directory: %v", err)
	}
	d := start(t)
	d.stop()
	if _, err := Open(d.dir); !errors.Is(err, socket.ErrNoDaemon) {
		t.Errorf("without a daemon: %v", err)
	}
}

// A daemon that is stopped has its connections accepted by the kernel.
func TestOpenDoesNotWaitForADaemonThatIsSilent(t *testing.T) {
	rt, err := socket.OpenRuntime(filepath.Join(t.TempDir(), "run"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	unlock, _, err := rt.LockDaemon()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	l, err := rt.Listen(socket.Control)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = open(rt.Path(), 20*time.Millisecond)
	silent, ok := errors.AsType[*SilentError](err)
	if !ok || silent.PID != os.Getpid() || !strings.Contains(silent.Hint(), fmt.Sprintf("kill -CONT %d", os.Getpid())) {
		t.Errorf("got %v, want a daemon that is silent", err)
	}
}

func TestNobodyIsToldToKillHisOwnGroup(t *testing.T) {
	if hint := (&SilentError{}).Hint(); strings.Contains(hint, "kill") {
		t.Errorf("without a pid: %q", hint)
	}
}

// Every method sends what its route takes, and returns what it answers.
func TestClientSpeaksItsRoutes(t *testing.T) {
	d := start(t)
	done := Done{Count: 2, Message: "m", Problems: []Problem{{Server: "s", Message: "p"}}}
	status := Status{Daemon: DaemonStatus{PID: 7, Version: "v"}, Sessions: []SessionStatus{{ID: "s"}}}
	var asked string
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked = fmt.Sprintf("%s %s %s", r.Method, r.URL, body)
			WriteJSON(w, http.StatusOK, v)
		}
	}
	d.mux.HandleFunc("GET /v1/status", answer(status))
	d.mux.HandleFunc("POST /v1/", answer(done))
	c := d.open(t)
	tests := []struct {
		asked string
		call  func(context.Context) (any, error)
		want  any
	}{
		{"GET /v1/status ", func(ctx context.Context) (any, error) { return c.Status(ctx) }, &status},
		{"POST /v1/reload {}", func(ctx context.Context) (any, error) { return c.Reload(ctx) }, &done},
		{`POST /v1/restart {"server":"s","key":"k"}`, func(ctx context.Context) (any, error) {
			return c.Restart(ctx, RestartRequest{Server: "s", Key: "k"})
		}, &done},
		{`POST /v1/trust {"file":"f","sha256":"h"}`, func(ctx context.Context) (any, error) {
			return c.Trust(ctx, TrustRequest{File: "f", SHA256: "h"})
		}, &done},
		{`POST /v1/untrust {"file":"f"}`, func(ctx context.Context) (any, error) {
			return c.Untrust(ctx, TrustRequest{File: "f"})
		}, &done},
	}
	for _, tt := range tests {
		got, err := tt.call(t.Context())
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.asked, err, diff)
		}
		if asked != tt.asked {
			t.Errorf("asked %q, want %q", asked, tt.asked)
		}
	}
}

func TestClientReturnsTheDaemonsError(t *testing.T) {
	d := start(t)
	want := Error{Server: "gopls", Msg: "no such server", Hint: "mcpx status"}
	d.mux.HandleFunc("POST /v1/restart", func(w http.ResponseWriter, _ *http.Request) { WriteError(w, 404, want) })
	_, err := d.open(t).Restart(t.Context(), RestartRequest{Server: "gopls"})
	refusal, ok := errors.AsType[*Refusal](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(&Refusal{Status: 404, Err: want}, refusal); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestClientTellsADaemonThatIsGone(t *testing.T) {
	d := start(t)
	c := d.open(t)
	d.stop()
	_, err := c.Status(t.Context())
	if !errors.Is(err, socket.ErrNoDaemon) || err.Error() != "no daemon on "+d.dir+"/control.sock" {
		t.Errorf("got %v", err)
	}
}

func TestStopReturnsWhenTheDaemonIsGone(t *testing.T) {
	d := start(t)
	var gone atomic.Bool
	d.mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, 200, Done{})
		time.AfterFunc(20*time.Millisecond, func() { // a child that takes its time
			gone.Store(true)
			d.stop()
		})
	})
	if err := d.open(t).Stop(t.Context()); err != nil || !gone.Load() {
		t.Errorf("Stop returned %v, and the daemon was gone: %v", err, gone.Load())
	}
}

// systemd, or a shim, may have started the next one by the time we look.
func TestStopReturnsWhenAnotherDaemonRuns(t *testing.T) {
	d := start(t)
	d.mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, _ *http.Request) {
		if err := os.WriteFile(filepath.Join(d.dir, "daemon.lock"), []byte("1"), 0o600); err != nil {
			t.Error(err)
		}
		WriteJSON(w, 200, Done{})
	})
	if err := d.open(t).Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStopGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := start(t)
	d.mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, 200, Done{})
		time.AfterFunc(10*time.Millisecond, cancel)
	})
	if err := d.open(t).Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A socket that systemd listens on would start a daemon if it were dialled.
func TestOpenWakesNoService(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socket.Control), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Open(dir); !errors.Is(err, socket.ErrNoDaemon) {
		t.Errorf("got %v", err)
	}
	l.SetDeadline(time.Now().Add(10 * time.Millisecond))
	if c, err := l.Accept(); err == nil {
		c.Close()
		t.Error("Open connected")
	}
}

func TestLogsStream(t *testing.T) {
	d := start(t)
	d.mux.HandleFunc("GET /v1/logs", func(w http.ResponseWriter, r *http.Request) {
		out := json.NewEncoder(w)
		for i := range 3 {
			out.Encode(Log{Server: r.FormValue("server"), PID: i, Line: "follow=" + r.FormValue("follow")})
		}
		w.(http.Flusher).Flush()
		if r.FormValue("follow") != "" {
			<-r.Context().Done()
		}
	})
	c := d.open(t)
	for _, follow := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		var got []Log
		err := c.Logs(ctx, "a b", follow, func(l Log) {
			if got = append(got, l); len(got) == 3 && follow {
				cancel()
			}
		})
		cancel()
		said := map[bool]string{false: "follow=", true: "follow=true"}[follow]
		want := []Log{{Server: "a b", Line: said}, {Server: "a b", PID: 1, Line: said}, {Server: "a b", PID: 2, Line: said}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("follow %v: %v (-want +got):\n%s", follow, err, diff)
		}
	}
}
