package rig

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/proc"
)

// Status is the daemon's.
func (r *Rig) Status() api.Status {
	r.T.Helper()
	c, err := api.Open(r.Run)
	if err != nil {
		r.T.Fatal(err)
	}
	defer c.Close()
	s, err := c.Status(r.T.Context())
	if err != nil {
		r.T.Fatal(err)
	}
	return *s
}

// children are the processes of the daemon's servers, none when it does not run.
func (r *Rig) children() (pids []int) {
	c, err := api.Open(r.Run)
	if err != nil {
		return nil
	}
	defer c.Close()
	s, err := c.Status(context.Background()) // the test's own context has ended
	if err != nil {
		return nil
	}
	for _, in := range s.Instances {
		if in.PID != 0 {
			pids = append(pids, in.PID)
		}
	}
	return pids
}

// Until returns the first status for which ok holds. What changes by itself in
// a daemon tells nobody, so this asks again and again, for a few seconds.
func (r *Rig) Until(what string, ok func(api.Status) bool) api.Status {
	r.T.Helper()
	c, err := api.Open(r.Run)
	if err != nil {
		r.T.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(r.T.Context(), 8*time.Second)
	defer cancel()
	for {
		s, err := c.Status(ctx)
		if err != nil {
			r.T.Fatalf("waiting for %s: %v", what, err)
		}
		if ok(*s) {
			return *s
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			r.T.Fatalf("%s did not come about; the instances are %+v", what, s.Instances)
		}
	}
}

// Kill sends the daemon a signal and returns when its process is gone.
func (r *Rig) Kill(sig os.Signal) {
	r.T.Helper()
	pid := r.Status().Daemon.PID
	start, alive := proc.StartTime(pid)
	daemon := proc.ID{PID: pid, Start: start}
	if !alive {
		r.T.Fatalf("daemon %d is gone before it was told to", pid)
	}
	if err := daemon.Signal(sig); err != nil {
		r.T.Fatal(err)
	}
	for late := time.After(Wait); daemon.Alive(); {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			r.T.Fatalf("daemon %d outlives %v", pid, sig)
		}
	}
}

// Of are the instances of a server.
func Of(s api.Status, server string) []api.InstanceStatus {
	var out []api.InstanceStatus
	for _, in := range s.Instances {
		if in.Server == server {
			out = append(out, in)
		}
	}
	return out
}

// Instances are the ones of a server now.
func (r *Rig) Instances(server string) []api.InstanceStatus {
	r.T.Helper()
	return Of(r.Status(), server)
}

// Listed waits until a server's one instance has said what it has.
func (r *Rig) Listed(server string) api.InstanceStatus {
	r.T.Helper()
	s := r.Until(server+" is connected", func(s api.Status) bool {
		in := Of(s, server)
		return len(in) == 1 && in[0].State == "connected"
	})
	return Of(s, server)[0]
}

// Post sends a request to one of the daemon's sockets, "attach" or "control",
// and returns the answer's status and body.
func (r *Rig) Post(socket, method, route, body string) (int, string) {
	r.T.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(r.Run, socket+".sock"))
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(r.T.Context(), method, "http://mcpx"+route, strings.NewReader(body))
	if err != nil {
		r.T.Fatal(err)
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		r.T.Fatalf("%s %s: %v", method, route, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.T.Fatalf("%s %s: %v", method, route, err)
	}
	return answer.StatusCode, string(text)
}

// Elsewhere runs mcpx as a process that does not descend from the test, as a
// person in a terminal of his own does, and returns what it wrote.
func (r *Rig) Elsewhere(args ...string) string {
	r.T.Helper()
	out, w, err := os.Pipe()
	if err != nil {
		r.T.Fatal(err)
	}
	defer out.Close()
	// The shell ends at once; what it leaves behind waits for the end of its
	// input, which comes after that.
	cmd := exec.Command("sh", append([]string{"-c", `exec 3<&0; { cat <&3 >/dev/null; exec "$0" "$@"; } &`, r.Bin}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = r.Env, r.Home, w, w
	stdin, err := cmd.StdinPipe()
	if err != nil {
		r.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.T.Fatal(err)
	}
	_ = w.Close()
	state, err := cmd.Process.Wait()
	if err != nil || !state.Success() {
		r.T.Fatalf("mcpx %s elsewhere: %v, %v", strings.Join(args, " "), state, err)
	}
	_ = stdin.Close()
	text, err := io.ReadAll(out)
	if err != nil {
		r.T.Fatal(err)
	}
	return string(text)
}
