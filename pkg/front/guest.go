package front

import (
	"io"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/capsule"
	"github.com/dezren39/mcpx/pkg/session"
)

// Host is a session's connection, as the front uses it.
type Host interface {
	// Serve reads lines until there are no more, and answers what is in flight.
	Serve(session.Source) error
	// Drain has Serve return soon, with a moment for what is in flight.
	Drain()
	// Close ends it at once.
	Close()
	// ToolSchema is of a tool's arguments, if something in it is repeated in headers.
	ToolSchema(name string) []byte
}

// guest is a connection whose host speaks HTTP.
type guest struct {
	who   who
	host  Host
	box   *box
	inlet *inlet
	ended chan struct{} // closed when it has been let go of

	mu   sync.Mutex // guards what follows
	busy int        // requests under way
	idle time.Time  // since when there are none
}

// inlet is where the lines of requests wait for the connection to read them.
type inlet struct {
	lines chan []byte
	end   chan struct{}
	once  sync.Once
}

func (i *inlet) close() { i.once.Do(func() { close(i.end) }) }

// Next is the next line (session.Source).
func (i *inlet) Next() (capsule.Line, error) {
	select {
	case line := <-i.lines:
		return capsule.Line{Bytes: line}, nil
	case <-i.end:
		return capsule.Line{}, io.EOF
	}
}

// Done has nothing to close: nobody comes after this daemon (session.Source).
func (i *inlet) Done(int64) {}

// push hands a line to the connection; false when it, or its sender, is gone.
func (i *inlet) push(line []byte, gone <-chan struct{}) bool {
	select {
	case i.lines <- line:
		return true
	case <-i.end:
	case <-gone:
	}
	return false
}

// welcome opens a connection.
func (f *Front) welcome(w who, modern, single bool) (*guest, *api.Error) {
	g := &guest{
		who: w, box: newBox(modern), idle: time.Now(), ended: make(chan struct{}),
		inlet: &inlet{lines: make(chan []byte), end: make(chan struct{})},
	}
	if modern {
		g.box.parked = func(state string) { f.park(g, state) }
	}
	host, err := f.o.Open(g.box, w.hello(), single)
	if err != nil {
		return nil, err
	}
	g.host = host
	f.mu.Lock()
	if f.quit {
		f.mu.Unlock()
		host.Close()
		g.inlet.close()
		_ = host.Serve(g.inlet) // it returns at once, and is counted out
		return nil, &api.Error{Msg: "the daemon is stopping", Hint: "try again"}
	}
	f.guests[g] = struct{}{}
	f.wg.Go(func() {
		_ = g.host.Serve(g.inlet) // how a host's input ended is nobody's error
		g.inlet.close()
		g.box.close()
		f.forget(g)
		close(g.ended)
	})
	f.mu.Unlock()
	return g, nil
}

// enter counts a request in. While one is under way a session is not idle.
func (g *guest) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy++
}

func (g *guest) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	g.idle = time.Now()
}

func (g *guest) idleFor(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy > 0 {
		return 0
	}
	return now.Sub(g.idle)
}

// end lets go of a guest: what is in flight is cancelled.
func (g *guest) end() {
	g.host.Close()
	g.inlet.close()
}
