package front

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// errClosed is what is written to a host that is gone.
var errClosed = os.ErrClosed

// event is a line of a stream, with its number.
type event struct {
	n    uint64
	line []byte
	ask  bool // a server's question: it is put wherever the host listens
}

// stream is what one HTTP response carries, or several in a row when the host's
// connection breaks. All of it is guarded by its box's lock.
type stream struct {
	box       *box
	name      string        // in the ids of its events
	wake      chan struct{} // told when something came, or its reader changed
	logs      bool          // its request asked for a log
	handshake bool          // it is of an initialize

	ids    []string // of requests that are not answered
	tokens []string
	events []event // those that were sent first
	sent   int
	last   uint64 // the number of the last event
	reader int    // who reads it; 0: nobody
	turns  int    // how many have read it
	begun  bool   // as a stream of events: its reader knows how to come back
	over   bool   // nothing more comes
}

func (s *stream) tell() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *stream) answered(id string) {
	s.ids = slices.DeleteFunc(s.ids, func(o string) bool { return o == id })
}

// look takes down what an answer says that the front has to know.
func (s *stream) look(env *wire.Envelope) {
	if env.Kind != wire.Result {
		return
	}
	member := func(name string) string {
		result := env.Bytes(env.Result)
		at, ok := wire.Member(result, name)
		if !ok {
			return ""
		}
		text, _ := wire.Text(result[at.Start:at.End])
		return text
	}
	if s.handshake {
		s.box.version = member("protocolVersion")
	}
	if env.Text(env.ResultType) == "input_required" && s.box.parked != nil {
		if state := member("requestState"); strings.HasPrefix(state, ownState) {
			s.box.parked(state)
		}
	}
}

// ownState begins the states that mcpx makes: it has parked the request, and only
// the connection that has can go on with it (protocol §3.5).
const ownState = "mcpx1."

// putLocked adds a line. must is false for what may be lost while nobody reads.
func (s *stream) putLocked(line []byte, must bool) {
	b := s.box
	gone := s.reader == 0 && s.turns > 0 && !s.begun // whoever read it cannot come back
	if s.over || gone {
		return
	}
	if s.reader == 0 && b.kept+len(line) > maxKept {
		if line = instead(line); line == nil || !must {
			return
		}
	}
	s.last++
	s.events = append(s.events, event{n: s.last, line: slices.Clone(line), ask: must && s == b.aside})
	b.kept += len(line)
	if s.reader != 0 {
		b.unsent += len(line)
	}
	s.tell()
}

// instead is what is kept of an answer that is too large to keep; nil: nothing.
func instead(line []byte) []byte {
	env, err := wire.Scan(line)
	if err != nil || env.Kind != wire.Result && env.Kind != wire.Error {
		return nil
	}
	const reason = "the answer came while nobody read it, and was too large to be kept"
	return slices.Clip(wire.AppendError(nil, env.Bytes(env.ID), wire.CodeInternal, reason, upstream.Trouble{Reason: reason}.Data()))
}

// dropLocked forgets the first n events.
func (s *stream) dropLocked(n int) {
	for _, e := range s.events[:n] {
		s.box.kept -= len(e.line)
	}
	s.events = slices.Delete(s.events, 0, n)
	s.sent = max(0, s.sent-n)
}

// attach makes the caller the stream's reader, in place of whoever was, and
// returns its number.
func (s *stream) attach() (reader int) {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	return s.attachLocked()
}

func (s *stream) attachLocked() int {
	if s.reader == 0 {
		for _, e := range s.events[s.sent:] {
			s.box.unsent += len(e.line)
		}
	}
	s.turns++
	s.reader = s.turns
	s.tell()
	if aside := s.box.aside; aside != nil && aside != s && aside.reader == 0 {
		aside.handOver(s)
	}
	return s.reader
}

// handOver has the questions that nobody has read put on another stream, which
// somebody reads.
func (s *stream) handOver(to *stream) {
	for i := s.sent; i < len(s.events); {
		if e := s.events[i]; e.ask {
			s.box.kept -= len(e.line)
			s.events = slices.Delete(s.events, i, i+1)
			to.putLocked(e.line, true)
		} else {
			i++
		}
	}
}

// leave is for a reader who is done, or whose connection broke. It is false when
// another has taken its place.
func (s *stream) leave(reader int) bool {
	b := s.box
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.reader != reader {
		return false
	}
	s.reader = 0
	for _, e := range s.events[s.sent:] {
		b.unsent -= len(e.line)
	}
	switch {
	case !s.begun:
		s.dropLocked(len(s.events)) // nobody can ask for it
	case s.over:
		b.pastLocked(s)
	}
	if b.unsent == 0 {
		b.emptiedLocked()
	}
	return true
}

// begin notes that the reader is being sent events.
func (s *stream) begin() {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.begun = true
}

// next are the events to send; over when they are the last; mine is false for one
// who is not the reader any more.
func (s *stream) next(reader int) (events []event, over, mine bool) {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if s.reader != reader {
		return nil, false, false
	}
	return slices.Clone(s.events[s.sent:]), s.over, true
}

// wrote counts one event as sent. What a host could come back for is kept, as
// long as there is room.
func (s *stream) wrote(reader int, size int) {
	b := s.box
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.reader != reader {
		return
	}
	b.unsent -= size
	s.sent++
	if b.modern || !s.begun {
		s.dropLocked(s.sent)
	}
	for b.kept > maxKept && s.sent > 0 {
		s.dropLocked(1)
	}
	if b.unsent == 0 {
		b.emptiedLocked()
	}
}

// id is an event's, as the host is to repeat it.
func (s *stream) id(n uint64) string { return fmt.Sprintf("%s-%d", s.name, n) }

// here is the id of the place in front of the next event, for a host that loses
// its connection before that.
func (s *stream) here() string {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	n := s.last
	if left := len(s.events) - s.sent; left > 0 {
		n = s.events[s.sent].n - 1
	}
	return s.id(n)
}

// errNoEvent is a Last-Event-ID of no stream that is known here.
var errNoEvent = errors.New("no event of this session has that id, or it is too long ago")

// resume finds the stream of which an event was the last that a host has seen, and
// makes the caller its reader from there.
func (b *box) resume(lastEvent string) (*stream, int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := append(slices.Clone(b.posts), b.past...)
	for _, s := range append(all, b.aside) {
		var n uint64
		name, number, _ := strings.Cut(lastEvent, "-")
		if _, err := fmt.Sscanf(number, "%d", &n); err != nil || name != s.name || n > s.last {
			continue
		}
		if len(s.events) > 0 && s.events[0].n > n+1 || len(s.events) == 0 && s.last > n {
			return nil, 0, errNoEvent // something in between is gone
		}
		if s.reader != 0 {
			for _, e := range s.events[s.sent:] {
				b.unsent -= len(e.line)
			}
			s.reader = 0
		}
		s.sent = slices.IndexFunc(s.events, func(e event) bool { return e.n > n })
		if s.sent < 0 {
			s.sent = len(s.events)
		}
		return s, s.attachLocked(), nil
	}
	return nil, 0, errNoEvent
}
