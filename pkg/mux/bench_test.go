package mux

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// pipeConn is an upstream behind two pipes, with a server that echoes: what a
// child is, without the process.
type pipeConn struct {
	in   *stdio.Writer
	out  *stdio.Reader
	env  wire.Envelope
	hs   upstream.Handshake
	stop func()
}

func newPipeConn(tb testing.TB) *pipeConn {
	tb.Helper()
	fromMux, toServer := pipe(tb)
	fromServer, toMux := pipe(tb)
	served := make(chan struct{})
	go func() {
		defer close(served)
		echo(stdio.NewReader(fromMux, 0), stdio.NewWriter(toMux, 0))
		toMux.Close()
	}()
	c := &pipeConn{hs: upstream.Handshake{Era: upstream.Legacy}, in: stdio.NewWriter(toServer, 0), out: stdio.NewReader(fromServer, 0)}
	c.stop = func() {
		c.in.Close()
		toServer.Close()
		<-served
	}
	return c
}

func pipe(tb testing.TB) (r, w *os.File) {
	tb.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// echo answers each request with its params.
func echo(r *stdio.Reader, w *stdio.Writer) {
	var out []byte
	for {
		line, err := r.Next()
		if err != nil {
			return
		}
		env, err := wire.Scan(line)
		if err != nil {
			return
		}
		out = wire.AppendResult(out[:0], env.Bytes(env.ID), env.Bytes(env.Params))
		if w.Write(out) != nil {
			return
		}
	}
}

func (c *pipeConn) Handshake() upstream.Handshake { return c.hs }
func (c *pipeConn) Write(lines []byte) error      { return c.in.Write(lines) }
func (c *pipeConn) Failure() error                { return nil }
func (c *pipeConn) Roots() []byte                 { return nil }

func (c *pipeConn) Serve(handle func(*wire.Envelope)) error {
	for {
		line, err := c.out.Next()
		if err != nil {
			return err
		}
		if c.env, err = wire.Scan(line); err == nil {
			handle(&c.env)
		}
	}
}

// waiter is a session that waits for each answer.
type waiter chan struct{}

func (w waiter) Response(string, []byte)     { w <- struct{}{} }
func (w waiter) Notification(string, []byte) {}

func (w waiter) Ask(string, *Question, *wire.Envelope) {}
func (w waiter) Withdraw(*Question, *wire.Envelope)    {}

func benchCall(size int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%0*d"},"_meta":{"progressToken":3}}}`, size, 1)
}

// roundTrip is one call through the mux: what session does with a host's line.
func roundTrip(tb testing.TB, p *Port, w waiter, line []byte) {
	env, err := wire.Scan(line)
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.Request(&env, CallOptions{Timeout: 1 << 40, Modern: !env.ProtocolVersion.Empty()}); err != nil {
		tb.Fatal(err)
	}
	<-w
}

// BenchmarkMux is a round trip over pipes; Direct is the same without a mux.
func BenchmarkMux(b *testing.B) {
	for _, size := range []int{64, 16 << 10} {
		line := benchCall(size)
		b.Run(fmt.Sprintf("Direct/%d", size), func(b *testing.B) {
			conn := newPipeConn(b)
			defer conn.stop()
			withEnd := append(line[:len(line):len(line)], '\n')
			b.ReportAllocs()
			for b.Loop() {
				if err := conn.Write(withEnd); err != nil {
					b.Fatal(err)
				}
				if _, err := conn.out.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("Mux/%d", size), func(b *testing.B) {
			conn := newPipeConn(b)
			m := New(conn, Options{Server: "srv"})
			w := make(waiter)
			p := m.Attach(w, "")
			b.ReportAllocs()
			for b.Loop() {
				roundTrip(b, p, w, line)
			}
			b.StopTimer()
			conn.stop()
			<-m.Done()
		})
		b.Run(fmt.Sprintf("Mux8/%d", size), func(b *testing.B) {
			conn := newPipeConn(b)
			m := New(conn, Options{Server: "srv"})
			b.SetParallelism(8)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				w := make(waiter)
				p := m.Attach(w, "")
				for pb.Next() {
					roundTrip(b, p, w, line)
				}
			})
			conn.stop()
			<-m.Done()
		})
	}
}

// BenchmarkEras is a round trip between a host and a server of each era. The
// server echoes what it is sent, so more is also read back.
func BenchmarkEras(b *testing.B) {
	legacy := benchCall(64)
	modern := bytes.Replace(legacy, []byte(`"_meta":{`), []byte(`"_meta":{`+modernMeta+`,"io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"},`), 1)
	for _, server := range []upstream.Era{upstream.Legacy, upstream.Modern} {
		for name, line := range map[string][]byte{"legacy": legacy, "modern": modern} {
			b.Run(fmt.Sprintf("%s-to-%s", name, server), func(b *testing.B) {
				conn := newPipeConn(b)
				conn.hs = upstream.Handshake{Era: server, Initialize: []byte(`{"serverInfo":{"name":"own","version":"1"}}`)}
				m := New(conn, Options{Server: "srv"})
				w := make(waiter)
				p := m.Attach(w, "")
				p.Introduce([]byte(`{"name":"host","version":"1"}`), []byte(`{"elicitation":{}}`))
				b.ReportAllocs()
				for b.Loop() {
					roundTrip(b, p, w, line)
				}
				b.StopTimer()
				conn.stop()
				<-m.Done()
			})
		}
	}
}

func TestACallAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	conn := newPipeConn(t)
	m := New(conn, Options{Server: "srv"})
	w := make(waiter)
	p := m.Attach(w, "")
	line := benchCall(64)
	allocs := testing.AllocsPerRun(2000, func() { roundTrip(t, p, w, line) })
	conn.stop()
	<-m.Done()
	if allocs > 4 {
		t.Errorf("got %v allocations a call, want at most 4", allocs)
	}
}
