package front

import (
	"bytes"
	"crypto/rand"
	"errors"
	"slices"
	"sync"

	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/wire"
)

// box sorts the lines for one host into the streams that the host listens to
// (session.Writer): an answer goes where its question came from, and so does what
// belongs to a question; the rest goes where a host of its era expects it.
type box struct {
	modern bool
	parked func(state string) // told of a result that asks to be retried with this state of mcpx's
	done   chan struct{}

	mu      sync.Mutex // guards what follows, and all streams
	closed  bool
	version string             // of the protocol, once initialize has been answered
	waiting map[string]*stream // by canonical id of a request
	tokens  map[string]*stream // by canonical progress token
	posts   []*stream          // that have answers to come, oldest first
	aside   *stream            // what a host of the legacy era listens to by GET
	past    []*stream          // over and read, for a host that lost its connection meanwhile
	unsent  int                // bytes that a connected host has yet to read
	kept    int                // bytes that streams hold, sent or not
	drained chan struct{}      // made when somebody asks
}

// Bounds of what is held for a host that is not there (threat T33).
const (
	maxKept = 4 << 20 // bytes that a session holds for streams that were cut off
	maxPast = 32      // streams
)

func newBox(modern bool) *box {
	b := &box{modern: modern, done: make(chan struct{}), waiting: map[string]*stream{}, tokens: map[string]*stream{}}
	if !modern {
		b.aside = b.newStream()
	}
	return b
}

func (b *box) newStream() *stream {
	return &stream{box: b, name: rand.Text()[:8], wake: make(chan struct{}, 1)}
}

// errTwice is a request whose id or progress token an earlier one still has.
var errTwice = errors.New("its id, or its progress token, is in use by an earlier request")

// open makes the stream on which requests are answered.
func (b *box) open(requests []wire.Envelope) (*stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.newStream()
	for i := range requests {
		env := &requests[i]
		id, _ := wire.CanonicalID(env.Bytes(env.ID))
		token, ok := wire.CanonicalID(env.Bytes(env.ProgressToken))
		if b.waiting[id] != nil || ok && b.tokens[token] != nil {
			b.forgetLocked(s)
			return nil, errTwice
		}
		b.waiting[id] = s
		s.ids = append(s.ids, id)
		if ok {
			b.tokens[token] = s
			s.tokens = append(s.tokens, token)
		}
		s.logs = s.logs || !env.LogLevel.Empty()
		s.handshake = s.handshake || env.Text(env.Method) == "initialize"
	}
	if b.closed {
		s.over = true
		b.forgetLocked(s)
		return s, nil
	}
	b.posts = append(b.posts, s)
	return s, nil
}

// forget is for a stream whose requests will not be made.
func (b *box) forget(s *stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgetLocked(s)
}

// forgetLocked takes a stream out of the tables: nothing more belongs to it.
func (b *box) forgetLocked(s *stream) {
	for _, id := range s.ids {
		if b.waiting[id] == s {
			delete(b.waiting, id)
		}
	}
	for _, token := range s.tokens {
		if b.tokens[token] == s {
			delete(b.tokens, token)
		}
	}
	for i, o := range b.posts {
		if o == s {
			b.posts = append(b.posts[:i:i], b.posts[i+1:]...)
			break
		}
	}
}

// finishLocked ends a stream: what it holds is the last of it.
func (b *box) finishLocked(s *stream) {
	b.forgetLocked(s)
	s.over = true
	if s.begun {
		b.pastLocked(s)
	}
	s.tell()
}

// pastLocked keeps a finished stream for a while: its host may come back for it.
func (b *box) pastLocked(s *stream) {
	switch {
	case s.reader == 0 && (b.modern || b.closed):
		s.dropLocked(len(s.events))
		return
	case b.modern || b.closed || slices.Contains(b.past, s):
		return
	}
	b.past = append(b.past, s)
	for i := 0; len(b.past) > maxPast && i < len(b.past); {
		if old := b.past[i]; old.reader == 0 {
			old.dropLocked(len(old.events))
			b.past = slices.Delete(b.past, i, i+1)
		} else {
			i++
		}
	}
}

// revision is the one that was agreed on, "" while none is.
func (b *box) revision() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version
}

// crowded reports whether a session has as many responses under way as it may.
func (b *box) crowded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.posts) >= maxStreams
}

// listen makes the caller the reader of what is said unasked; free is false when
// somebody reads it already.
func (b *box) listen() (s *stream, reader int, free bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.aside.reader != 0 {
		return nil, 0, false
	}
	return b.aside, b.aside.attachLocked(), true
}

// cancelled ends the stream of a request that its host no longer wants answered.
func (b *box) cancelled(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.waiting[id]; s != nil {
		delete(b.waiting, id)
		s.answered(id)
		if len(s.ids) == 0 {
			b.finishLocked(s)
		}
	}
}

// Write sorts whole lines into streams (session.Writer).
func (b *box) Write(lines []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosed
	}
	if b.unsent > 0 && b.unsent+len(lines) > stdio.MaxLine {
		return stdio.ErrFull
	}
	for line := range bytes.Lines(lines) {
		if line = bytes.TrimRight(line, "\n"); len(line) > 0 {
			b.sort(line)
		}
	}
	return nil
}

// sort needs b.mu.
func (b *box) sort(line []byte) {
	if wire.IsBatch(line) {
		b.sortBatch(line)
		return
	}
	env, err := wire.Scan(line)
	if err != nil {
		return // what is not a message is none of a server's: mux and session have seen to that
	}
	switch env.Kind {
	case wire.Result, wire.Error:
		id, _ := wire.CanonicalID(env.Bytes(env.ID))
		s := b.waiting[id]
		if s == nil {
			return
		}
		delete(b.waiting, id)
		s.answered(id)
		s.look(&env)
		s.putLocked(line, true)
		if len(s.ids) == 0 {
			b.finishLocked(s)
		}
	default:
		if s := b.streamOf(&env); s != nil {
			s.putLocked(line, env.Kind == wire.Request)
		}
	}
}

// sortBatch sorts the one line that answers a batch. It has come whole.
func (b *box) sortBatch(line []byte) {
	answers, err := wire.Batch(line)
	if err != nil {
		return
	}
	var s *stream
	for _, answer := range answers {
		env, err := wire.Scan(answer)
		if err != nil {
			continue
		}
		id, _ := wire.CanonicalID(env.Bytes(env.ID))
		if of := b.waiting[id]; of != nil {
			s = of
		}
	}
	if s == nil {
		return
	}
	s.putLocked(line, true)
	b.finishLocked(s)
}

// streamOf is where a notification or a server's question goes; nil: nobody wants
// it. Needs b.mu.
func (b *box) streamOf(env *wire.Envelope) *stream {
	if token, ok := wire.CanonicalID(env.Bytes(env.Token)); ok && b.tokens[token] != nil {
		return b.tokens[token]
	}
	if b.modern {
		return b.modernStreamOf(env)
	}
	var connected []*stream
	for _, s := range b.posts {
		if s.reader != 0 {
			connected = append(connected, s)
		}
	}
	switch general := isGeneral(env); {
	case len(b.posts) == 1 && len(connected) == 1 && !(general && b.aside.reader != 0):
		return connected[0] // it belongs to the one request there is, as far as anybody can tell
	case len(b.posts) == 1 && b.posts[0].begun && b.aside.reader == 0:
		return b.posts[0] // its host can come back for it
	case b.aside.reader != 0 || len(connected) == 0:
		return b.aside
	default:
		return connected[0]
	}
}

// modernStreamOf is stricter: a stream carries what belongs to its request.
func (b *box) modernStreamOf(env *wire.Envelope) *stream {
	if id, ok := wire.CanonicalID(env.Bytes(env.SubscriptionID)); ok {
		return b.waiting[id]
	}
	if env.Text(env.Method) != "notifications/message" {
		if len(b.posts) == 1 && !isGeneral(env) {
			return b.posts[0]
		}
		return nil
	}
	for _, s := range b.posts {
		if s.logs {
			return s
		}
	}
	return nil
}

// isGeneral reports whether a notification is about a server, not about a request.
func isGeneral(env *wire.Envelope) bool {
	switch env.Text(env.Method) {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed", "notifications/resources/updated":
		return true
	}
	return false
}

// close ends all streams: nothing more comes.
func (b *box) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	for _, s := range append([]*stream{}, b.posts...) {
		b.finishLocked(s)
	}
	if b.aside != nil {
		b.finishLocked(b.aside)
	}
	for _, s := range b.past {
		if s.reader == 0 {
			s.dropLocked(len(s.events))
		}
	}
	b.past = nil
	b.emptiedLocked()
	close(b.done)
}

// Queued is what a connected host has yet to read (session.Writer).
func (b *box) Queued() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unsent
}

// Drained is closed once there is nothing of that (session.Writer).
func (b *box) Drained() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.drained == nil {
		b.drained = make(chan struct{})
	}
	c := b.drained
	if b.unsent == 0 || b.closed {
		b.emptiedLocked()
	}
	return c
}

func (b *box) emptiedLocked() {
	if b.drained != nil {
		close(b.drained)
		b.drained = nil
	}
}

// Done is closed when nobody listens any more (session.Writer).
func (b *box) Done() <-chan struct{} { return b.done }

// Position is of no interest here: no daemon takes a host over HTTP up from
// another (session.Writer).
func (b *box) Position() (taken, written uint64) { return 0, 0 }

// OnWritten has nothing to tell, likewise (session.Writer).
func (b *box) OnWritten(func(total uint64)) {}
