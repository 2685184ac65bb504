package storm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
)

// Habit is how a host reads.
type Habit int

// A slow host takes a pipe full in a while; a stuck one stops in the middle of
// long lines until a daemon ends, so that those lines are half written then.
const (
	Quick Habit = iota
	Slow
	Stuck
)

// Options make a host.
type Options struct {
	Label  string
	Habit  Habit
	Seed   uint64
	Flight int                      // requests at once; 0 means 4
	Pause  time.Duration            // between two requests
	Short  bool                     // no long lines, since the server takes its time
	Deaf   bool                     // the server answers no call, so that there are none to cancel
	Allow  func(*rig.RPCError) bool // errors that are answers; nil: none but of a replaced daemon
}

// Host is one `mcpx connect` whose host never pauses.
type Host struct {
	*Judge
	o     Options
	r     *rig.Rig
	cmd   *exec.Cmd
	stdin io.WriteCloser
	rnd   *rand.Rand // the writer's

	death   chan struct{} // something is sent when a daemon ends
	reading chan struct{} // the same for the reader
	stop    chan struct{}
	once    sync.Once
	ended   chan struct{} // the reader is done
	wg      sync.WaitGroup
	stderr  said
	late    []*request // slow calls that will be cancelled
}

// Connect starts `mcpx connect` with bin in dir, shakes hands and begins.
func Connect(r *rig.Rig, bin, dir, server string, o Options) *Host {
	r.T.Helper()
	if o.Flight == 0 {
		o.Flight = 4
	}
	allow := o.Allow
	if allow == nil {
		allow = func(*rig.RPCError) bool { return false }
	}
	h := &Host{Judge: newJudge(o.Label, allow, r.T.Errorf), o: o, r: r, rnd: rand.New(rand.NewPCG(o.Seed, 17)),
		death: make(chan struct{}, 1), reading: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	h.cmd = exec.Command(bin, "connect", server, "--session", o.Label)
	h.cmd.Env, h.cmd.Dir, h.cmd.Stderr = r.Env, dir, &h.stderr
	stdin, err1 := h.cmd.StdinPipe()
	stdout, w, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		r.T.Fatal(err1, err2)
	}
	h.stdin, h.cmd.Stdout = stdin, w
	if err := h.cmd.Start(); err != nil {
		r.T.Fatal(err)
	}
	_ = w.Close()
	go h.read(stdout)
	h.wg.Go(h.work)
	return h
}

// died tells the host that a daemon has ended.
func (h *Host) died() {
	h.Judge.died()
	for _, ch := range []chan struct{}{h.death, h.reading} {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// PID is the connect process.
func (h *Host) PID() int { return h.cmd.Process.Pid }

// Kill ends connect by SIGKILL, and forgives it what it has not answered.
func (h *Host) Kill() Tally {
	_ = h.cmd.Process.Kill()
	h.once.Do(func() { close(h.stop) })
	<-h.ended
	_ = h.stdin.Close()
	h.wg.Wait()
	_ = h.cmd.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tally
}

// End asks nothing more, waits for what is open, closes the input as a polite
// host does, and counts what was lost.
func (h *Host) End() Tally {
	h.once.Do(func() { close(h.stop) })
	h.wg.Wait()
	for late := time.After(rig.Wait); h.left() > 0; {
		select {
		case <-h.answered:
			continue
		case <-h.ended:
		case <-late:
		}
		break
	}
	left := h.lost()
	_ = h.stdin.Close()
	select {
	case <-h.ended:
	case <-time.After(rig.Wait):
		h.r.T.Errorf("%s: connect outlives its input", h.o.Label)
		_ = h.cmd.Process.Kill()
		<-h.ended
	}
	_ = h.cmd.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tally.Lost = len(left); len(left) > 0 {
		h.r.T.Errorf("%s: never answered: %q; stderr: %s", h.o.Label, left, h.stderr.String())
	}
	return h.tally
}

// said is what a connect wrote to stderr.
type said struct {
	mu   sync.Mutex
	text []byte
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	return len(p), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// pausing reads as the host's habit is.
type pausing struct {
	f     *os.File
	habit Habit
	death <-chan struct{}
	inner int  // bytes of a line so far
	over  bool // it has paused in this line
}

func (p *pausing) Read(b []byte) (int, error) {
	if p.habit != Quick {
		b = b[:min(len(b), 16<<10)]
	}
	n, err := p.f.Read(b)
	p.inner += n
	if bytes.IndexByte(b[:n], '\n') >= 0 {
		p.inner, p.over = 0, false
	}
	switch {
	case p.habit == Slow && n == len(b):
		<-time.After(time.Millisecond)
	case p.habit == Stuck && p.inner > 64<<10 && !p.over:
		p.over = true
		select {
		case <-p.death:
		case <-time.After(300 * time.Millisecond):
		}
	}
	return n, err
}

func (h *Host) read(stdout *os.File) {
	defer close(h.ended)
	defer stdout.Close()
	r := bufio.NewReaderSize(&pausing{f: stdout, habit: h.o.Habit, death: h.reading}, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		if len(bytes.TrimSpace(line)) > 0 { // else it is the line that ends a half-written one
			h.line(line)
		}
	}
}

// write writes a line, at times in two pieces with a pause in which a daemon may
// end.
func (h *Host) write(line string) {
	line += "\n"
	if h.rnd.IntN(8) == 0 {
		cut := h.rnd.IntN(len(line))
		_, _ = io.WriteString(h.stdin, line[:cut])
		select {
		case <-h.death:
		case <-time.After(time.Duration(h.rnd.IntN(20)) * time.Millisecond):
		}
		line = line[cut:]
	}
	_, _ = io.WriteString(h.stdin, line) // a connect that is gone shows as a missing answer
}

func (h *Host) work() {
	_, line := h.ask("initialize", func(*request) string {
		return `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"storm","version":"1"}}`
	})
	h.write(line)
	if !h.await(1) {
		return
	}
	h.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for h.await(h.o.Flight) {
		h.one()
		if h.o.Pause > 0 {
			<-time.After(h.o.Pause)
		}
	}
	for _, q := range h.late {
		h.takeBack(q)
	}
}

// await waits until fewer than n requests are open; false when it is time to go.
func (h *Host) await(n int) bool {
	for h.left() >= n {
		select {
		case <-h.answered:
		case <-h.ended:
			return false
		case <-h.stop:
			return false
		}
	}
	select {
	case <-h.stop:
		return false
	case <-h.ended:
		return false
	default:
		return true
	}
}

// one asks for one thing or another.
func (h *Host) one() {
	if !h.o.Short && h.rnd.IntN(1000) < []int{Quick: 6, Slow: 15, Stuck: 30}[h.o.Habit] { // long lines cost a judge much time
		if h.rnd.IntN(3) == 0 {
			h.echo(h.rnd.IntN(2 << 20))
		} else {
			h.big(float64(h.rnd.IntN(8)) / 8)
		}
		return
	}
	switch n := h.rnd.IntN(100); {
	case n < 66:
		h.echo(h.rnd.IntN(3000))
	case n < 76:
		h.call("sleep", "slept", fmt.Sprintf(`"ms":%d`, h.rnd.IntN(60)), false)
	case n < 82:
		h.call("progress", "progressed "+h.o.Label, fmt.Sprintf(`"n":3,"ms":2,"text":%q`, h.o.Label), true)
	case n < 88 && !h.o.Deaf:
		h.late = append(h.late, h.call("sleep", "slept", `"ms":600000`, false))
		if len(h.late) > 1 || h.o.Flight < 3 {
			h.takeBack(h.late[0])
			h.late = h.late[1:]
		}
	case n < 94:
		h.plain("ping")
	default:
		h.plain("tools/list")
	}
}

func (h *Host) plain(method string) {
	_, line := h.ask(method, func(*request) string { return "" })
	h.write(line)
}

func (h *Host) echo(size int) {
	text := h.o.Label + strings.Repeat("x", size)
	h.call("echo", text, `"text":"`+text+`"`, false)
}

func (h *Host) big(mib float64) {
	n := int(mib * (1 << 20))
	if n == 0 {
		n = 2 << 20
	}
	h.call("big", strings.Repeat("0123456789abcdef", n/16+1)[:n], fmt.Sprintf(`"mib":%g`, mib), false)
}

func (h *Host) call(tool, want, arguments string, progress bool) *request {
	q, line := h.ask("tools/call", func(q *request) string {
		q.want = want
		meta := ""
		if progress {
			token, _ := json.Marshal(h.o.Label + "/" + strings.Trim(q.id, `"`))
			h.tokens[strings.Trim(string(token), `"`)] = true
			meta = `,"_meta":{"progressToken":` + string(token) + `}`
		}
		return fmt.Sprintf(`{"name":%q,"arguments":{%s}%s}`, tool, arguments, meta)
	})
	h.write(line)
	return q
}

func (h *Host) takeBack(q *request) {
	if line := h.cancel(q); line != "" {
		h.write(line)
	}
}
