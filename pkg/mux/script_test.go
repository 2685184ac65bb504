package mux

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// TestScripts plays the conversations in testdata, each in a bubble. A line is
//
//	attach A | detach A         A is any host; "attach A of S" is a connection of session S
//	A sends LINE                a host's message; an answer to the question with its id
//	A gets LINE                 the next that A got, exactly
//	server sends LINE, gets LINE
//	X gets nothing              and nothing more has come
//	sleep 50ms
//	timeout 1s                  of the requests that follow
//	max 1h                      likewise
//	A gets withdrawn LINE       the end of a question, by the server's own notification or "-"
//	server modern               must come first
//	server said RESULT          likewise: in its handshake
//	server has roots RESULT     likewise: that it is offered
//	asks owner                  likewise: whose questions are; "caller", "never", else nobody's
//	introduce A CAPABILITIES    of a legacy host; a modern one says so itself
//	let NAME TEXT               $NAME stands for TEXT from here on
//
// and mcpx1.1 for the first state that a modern host was given.
//
//	server full                 takes no more lines; "server reads" takes them again
//	server dies REASON
//	released 2                  calls whose Done was called so far
//	kept 1                      tasks for which the instance is kept
//	dropped 1                   Stats().Dropped
//	changed tools               what OnListChanged told so far
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				play(t, strings.Split(string(script), "\n"))
			})
		})
	}
}

type stage struct {
	conn     *memConn
	mux      *Mux
	hosts    map[string]*host
	timeout  time.Duration
	max      time.Duration
	released atomic.Int64
	kept     atomic.Int64
	names    []string   // pairs, for a Replacer
	states   []string   // that modern hosts were given
	mu       sync.Mutex // guards changed
	changed  []string
}

func play(t *testing.T, lines []string) {
	s := &stage{conn: newMemConn(), hosts: map[string]*host{}}
	o := Options{Server: "srv"}
	for _, line := range lines {
		switch line {
		case "server modern":
			s.conn.hs = upstream.Handshake{Era: upstream.Modern, Meta: era.Meta{ClientInfo: []byte(`{"name":"mcpx"}`)}}
		case "asks never":
			o.Asking = AskNever
		case "asks caller":
			o.Asking = AskCaller
		case "asks owner":
			o.Asking = AskOwner
		}
	}
	for _, line := range lines {
		if result, ok := strings.CutPrefix(line, "server said "); ok {
			s.conn.hs.Result, s.conn.hs.Initialize = []byte(result), []byte(result)
		}
		if result, ok := strings.CutPrefix(line, "server has roots "); ok {
			s.conn.roots, s.conn.hs.Roots = []byte(result), true
		}
	}
	s.mux = New(s.conn, o)
	defer func() {
		s.conn.die(nil)
		<-s.mux.Done()
	}()
	s.mux.OnListChanged(func(kind string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed = append(s.changed, kind)
	})
	for i, line := range lines {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		synctest.Wait()
		if err := s.do(strings.NewReplacer(s.names...).Replace(line)); err != nil {
			t.Fatalf("line %d: %s\n%v", i+1, line, err)
		}
	}
	synctest.Wait()
	if len(s.conn.got) > 0 {
		t.Errorf("the server also got %q", s.conn.got)
	}
	for name, h := range s.hosts {
		if len(h.got) > 0 {
			t.Errorf("%s also got %q", name, h.got)
		}
	}
}

func (s *stage) do(line string) error {
	who, rest, _ := strings.Cut(line, " ")
	switch who {
	case "attach":
		h := &host{questions: map[string]*Question{}}
		name, owner, _ := strings.Cut(rest, " of ")
		h.port = s.mux.Attach(h, cmp.Or(owner, name))
		s.hosts[name] = h
	case "detach":
		s.hosts[rest].port.Detach()
	case "sleep", "timeout", "max":
		d, err := time.ParseDuration(rest)
		switch who {
		case "timeout":
			s.timeout = d
		case "max":
			s.max = d
		default:
			time.Sleep(d)
		}
		return err
	case "released":
		return same(rest, fmt.Sprint(s.released.Load()))
	case "kept":
		return same(rest, fmt.Sprint(s.kept.Load()))
	case "dropped":
		return same(rest, fmt.Sprint(s.mux.Stats().Dropped))
	case "asks":
	case "introduce":
		name, caps, _ := strings.Cut(rest, " ")
		s.hosts[name].port.Introduce([]byte(`{"name":"`+name+`"}`), []byte(caps))
	case "let":
		name, text, _ := strings.Cut(rest, " ")
		s.names = append(s.names, "$"+name, text)
	case "changed":
		s.mu.Lock()
		defer s.mu.Unlock()
		return same(rest, strings.Join(s.changed, " "))
	case "server":
		return s.server(rest)
	default:
		return s.host(s.hosts[who], rest)
	}
	return nil
}

// Keep counts (Lease).
func (s *stage) Keep() func() {
	s.kept.Add(1)
	return func() { s.kept.Add(-1) }
}

func (s *stage) server(rest string) error {
	verb, line, _ := strings.Cut(rest, " ")
	switch verb {
	case "gets":
		return next(&s.conn.mu, &s.conn.got, line, s.known)
	case "sends":
		s.conn.out <- line
	case "full", "reads":
		s.conn.setFull(verb == "full")
	case "dies":
		s.conn.die(&upstream.Failure{Server: "srv", Msg: line, Exit: "exit status 9", Stderr: []string{"oh", "no"}})
	}
	return nil
}

func (s *stage) host(h *host, rest string) error {
	if h == nil {
		return errors.New("no such host")
	}
	verb, line, _ := strings.Cut(rest, " ")
	if verb == "gets" {
		return next(&h.mu, &h.got, line, s.known)
	}
	for i, state := range s.states {
		line = strings.ReplaceAll(line, fmt.Sprintf(`"mcpx1.%d"`, i+1), `"`+state+`"`)
	}
	env, err := wire.Scan([]byte(line))
	if err != nil {
		return err
	}
	switch env.Kind {
	case wire.Notification:
		return h.port.Notify(&env)
	case wire.Result, wire.Error:
		h.answer(&env)
		return nil
	}
	err = h.port.Request(&env, CallOptions{
		Timeout: s.timeout, Max: s.max, Done: func() { s.released.Add(1) }, Lease: s, Modern: !env.ProtocolVersion.Empty(),
	})
	if e, ok := errors.AsType[*Error](err); ok {
		h.take(string(e.Append(nil, env.Bytes(env.ID))))
	}
	return nil
}

var aState = regexp.MustCompile(`mcpx1\.[A-Z2-7]{26}`)

// known writes the states in a line as numbers.
func (s *stage) known(line string) string {
	return aState.ReplaceAllStringFunc(line, func(state string) string {
		if !slices.Contains(s.states, state) {
			s.states = append(s.states, state)
		}
		return fmt.Sprintf("mcpx1.%d", slices.Index(s.states, state)+1)
	})
}

// next compares with the first line of a queue, and takes it off.
func next(mu *sync.Mutex, queue *[]string, want string, known func(string) string) error {
	mu.Lock()
	defer mu.Unlock()
	got := "nothing"
	if len(*queue) > 0 {
		got = (*queue)[0]
		*queue = (*queue)[1:]
	}
	return same(want, known(got))
}

func same(want, got string) error {
	if got != want {
		return fmt.Errorf("got  %s\nwant %s", got, want)
	}
	return nil
}

// host is a session.
type host struct {
	port *Port
	mu   sync.Mutex // guards what follows
	got  []string

	questions map[string]*Question // by id, all that there ever were
}

func (h *host) Ask(_ string, q *Question, env *wire.Envelope) {
	h.mu.Lock()
	h.questions[string(env.Bytes(env.ID))] = q
	h.mu.Unlock()
	h.take(string(env.Line))
}

func (h *host) Withdraw(_ *Question, env *wire.Envelope) {
	if env == nil {
		h.take("withdrawn -")
		return
	}
	h.take("withdrawn " + string(env.Line))
}

func (h *host) answer(env *wire.Envelope) {
	h.mu.Lock()
	q := h.questions[string(env.Bytes(env.ID))]
	h.mu.Unlock()
	q.Answer(env)
}

func (h *host) Response(_ string, line []byte)     { h.take(string(line)) }
func (h *host) Notification(_ string, line []byte) { h.take(string(line)) }

func (h *host) take(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, strings.TrimSuffix(line, "\n"))
}

// memConn is an upstream in memory.
type memConn struct {
	hs    upstream.Handshake
	roots []byte
	out   chan string
	dead  chan struct{}

	mu      sync.Mutex // guards what follows
	got     []string
	full    bool
	failure error
}

func newMemConn() *memConn {
	return &memConn{hs: upstream.Handshake{Era: upstream.Legacy}, out: make(chan string, 100), dead: make(chan struct{})}
}

func (c *memConn) Handshake() upstream.Handshake { return c.hs }

func (c *memConn) Roots() []byte { return c.roots }

func (c *memConn) Write(lines []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full {
		return stdio.ErrFull
	}
	c.got = append(c.got, strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n")...)
	return nil
}

func (c *memConn) setFull(full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.full = full
}

func (c *memConn) Serve(handle func(*wire.Envelope)) error {
	for {
		select {
		case line := <-c.out:
			env, err := wire.Scan([]byte(line))
			if err != nil {
				return fmt.Errorf("bad line in a test: %w", err)
			}
			handle(&env)
		case <-c.dead:
			return c.Failure()
		}
	}
}

func (c *memConn) Failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// die ends Serve; only the first death counts.
func (c *memConn) die(failure error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.dead:
	default:
		c.failure = failure
		close(c.dead)
	}
}
