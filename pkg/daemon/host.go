package daemon

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/capsule"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/session"
	"github.com/dezren39/mcpx/pkg/socket"
	"github.com/dezren39/mcpx/pkg/stdio"
)

// hostDepth is how many of the shim's ancestors are watched for a silent move
// (design D10).
const hostDepth = 8

// drainLimit bounds a session's end when the daemon goes: one whose host reads
// nothing is cut short, and the next daemon goes on with it.
const drainLimit = 4 * time.Second

// attached is one shim and the connection behind it.
type attached struct {
	control *net.UnixConn
	conn    *session.Conn
	in, out *os.File
	ended   chan struct{} // closed when the daemon has let go of the host

	mu sync.Mutex // one line at a time to the shim
}

// handed are the descriptors of a hand-over.
type handed struct{ in, out, capsule *os.File }

func (h handed) close() {
	for _, f := range []*os.File{h.in, h.out, h.capsule} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// host serves one host until its input ends, its shim is gone or the daemon goes.
func (d *Daemon) host(a *attached, hello api.Hello, shim socket.Peer, h handed) {
	defer close(a.ended)
	lines, err := capsule.Open(h.capsule, h.in, 0)
	if err != nil {
		h.close()
		d.refuse(a, shim, err)
		return
	}
	w := stdio.NewWriter(h.out, 0)
	w.OnWriting(lines.Writing)
	a.in, a.out = h.in, h.out
	a.conn = session.New(w, session.Options{
		Hello: hello, Chain: proc.Ancestors(shim.PID, hostDepth), Home: d.o.Dirs.Home,
		Epoch: d.epoch, CallID: d.callID, Say: func(s string) { a.say(api.ShimLine{Stderr: s}) },
		Resume: lines.State(), MidWrite: lines.WasWriting(), Keep: lines.Save,
		May:     func(dir string) bool { return within(dir, d.ceiling()) },
		Servers: d.servers, World: d.world, Version: d.o.Version, Log: d.o.Log,
	})
	var last api.ShimLine
	if d.enter(a) {
		last = d.session(a, hello, lines)
		d.leave(a)
	} else {
		last = api.ShimLine{Drain: true}
	}
	w.Close()
	_ = errors.Join(h.in.Close(), h.out.Close(), lines.Close())
	a.say(last) // the next daemon may have the host from here on
	_ = a.control.Close()
}

// session runs an adopted connection and returns what its shim is told last.
func (d *Daemon) session(a *attached, hello api.Hello, lines *capsule.Capsule) api.ShimLine {
	a.say(api.ShimLine{Adopted: true})
	id, began := a.conn.Identity(), time.Now()
	d.o.Log.Info("opened session", "session", id.Session, "server", hello.Server, "pid", id.Host.PID, "dir", hello.Cwd)
	defer func() {
		d.o.Log.Info("closed session", "session", id.Session, "server", hello.Server, "took", time.Since(began).Round(time.Millisecond))
	}()
	over := func() {
		a.conn.Close()
		a.stopReading()
	}
	d.wg.Go(func() { // the shim's end is the host's
		awaitEnd(a.control)
		over()
	})
	d.wg.Go(func() {
		if awaitReaderGone(a.out) {
			over()
		}
	})
	if seen := a.conn.Snapshot().Servers; len(seen) == 0 || seen[0].State == session.Unknown {
		d.reread() // it may stand in a file that was written a moment ago
	}
	if errors.Is(a.conn.Serve(lines), session.ErrDrained) {
		return api.ShimLine{Drain: true}
	}
	code := a.conn.Exit() // how else a host's input ended is nobody's error
	return api.ShimLine{End: &code}
}

// stopReading makes a read from the host return. What it still writes stays in
// its pipe.
func (a *attached) stopReading() { _ = a.in.SetReadDeadline(time.Unix(1, 0)) }

// awaitEnd returns when the shim is gone. It says nothing any more, so that a
// large buffer would only be one more thing that each session holds.
func awaitEnd(control net.Conn) {
	var nothing [16]byte
	for {
		if _, err := control.Read(nothing[:]); err != nil {
			return
		}
	}
}

// say writes one line to the shim. A shim that does not read is gone or stuck:
// either way there is nobody to tell.
func (a *attached) say(line api.ShimLine) {
	b, err := json.Marshal(line)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.control.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = a.control.Write(append(b, '\n'))
}

// enter counts a session in; false when the daemon is stopping.
func (d *Daemon) enter(a *attached) bool {
	d.mu.Lock()
	if d.quit {
		d.mu.Unlock()
		return false
	}
	d.open[a] = struct{}{}
	d.idle = time.Time{}
	d.mu.Unlock()
	d.table.Add(a.conn)
	return true
}

func (d *Daemon) leave(a *attached) {
	d.mu.Lock()
	delete(d.open, a)
	if len(d.open)+d.far == 0 {
		d.idle = time.Now()
	}
	d.mu.Unlock()
	d.table.Remove(a.conn)
}

// drain ends every session in good order: its host's lines are no longer read,
// calls in flight get a moment, then the shim is told and let go.
func (d *Daemon) drain() {
	d.mu.Lock()
	d.quit = true
	open := make([]*attached, 0, len(d.open))
	for a := range d.open {
		open = append(open, a)
	}
	d.mu.Unlock()
	var all sync.WaitGroup
	for _, a := range open {
		all.Go(func() {
			a.conn.Drain()
			a.stopReading()
			select {
			case <-a.ended:
			case <-time.After(drainLimit):
				a.conn.Close()
				<-a.ended
			}
		})
	}
	all.Wait()
}
