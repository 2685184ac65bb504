// Package storm is hosts with much in flight at once, and a judge of every line
// that they get, for tests that meanwhile take daemons, servers and shims away.
package storm

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/dezren39/mcpx/checks/rig"
)

// Tally is what became of the requests of one host, or of many.
type Tally struct {
	Sessions  int
	Calls     int // requests of every kind
	Answered  int // with what was asked for
	Replaced  int // told that their daemon was replaced
	Failed    int // told of another fault that was to be expected
	Cancelled int // by the host, which may get no answer then
	Stray     int // a second answer, which the end of a daemon excuses
	Halves    int // lines that a daemon did not come to write whole
	Progress  int // notifications of a call in progress

	Lost         int // never answered
	Doubled      int // a second answer that nothing excuses
	Misdelivered int // an answer or progress that is another's, or not what was asked for
}

// Add adds another's.
func (t *Tally) Add(o Tally) {
	t.Sessions += o.Sessions
	t.Calls += o.Calls
	t.Answered += o.Answered
	t.Replaced += o.Replaced
	t.Failed += o.Failed
	t.Cancelled += o.Cancelled
	t.Stray += o.Stray
	t.Halves += o.Halves
	t.Progress += o.Progress
	t.Lost += o.Lost
	t.Doubled += o.Doubled
	t.Misdelivered += o.Misdelivered
}

// request is one that was asked and, until it is answered, is open.
type request struct {
	id        string // as it stands in the line
	method    string
	line      string // the beginning of it
	want      string // the text of the answer; "" for what has none
	cancelled bool
	death     int // how many daemons had ended when it was asked; -1 while one did
	first     int // the first daemon to end, counted from 1, that may have answered it
}

// again reports whether a second answer may be a result, since the request acts
// on nothing; of others it is an error.
func (q *request) again() bool { return q.method != "tools/call" }

// Judge knows what one host has asked and judges what it gets.
type Judge struct {
	label string
	allow func(*rig.RPCError) bool
	fault func(format string, args ...any)

	mu        sync.Mutex // guards what follows
	tally     Tally
	next      int
	open      map[string]*request // by id as it stands in the line
	over      map[string]*request
	tokens    map[string]bool
	deaths    int          // of daemons
	spent     map[int]bool // those of them that have excused a second answer
	halves    int          // how many may yet excuse a line that was cut short
	shaken    bool
	dying     bool          // a daemon, at this moment
	recovered chan struct{} // closed unless shaken, as it is at first
	answered  chan struct{} // one for each request that ended
}

// newJudge makes one that reports what is wrong to fault, and takes the errors
// that allow knows for answers.
func newJudge(label string, allow func(*rig.RPCError) bool, fault func(string, ...any)) *Judge {
	j := &Judge{label: label, allow: allow, fault: fault, tally: Tally{Sessions: 1}, shaken: true, recovered: make(chan struct{}),
		open: map[string]*request{}, over: map[string]*request{}, tokens: map[string]bool{}, spent: map[int]bool{}, answered: make(chan struct{}, 1<<16)}
	return j
}

// ask registers a request and returns its line. params gets the request to fill in
// and returns what they are, "" for none.
func (j *Judge) ask(method string, params func(q *request) string) (*request, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next++
	q := &request{id: strconv.Itoa(j.next), method: method, death: j.deaths, first: j.deaths + 1}
	if j.dying {
		q.death, q.first = -1, j.deaths
	}
	if j.next%2 == 0 { // an id keeps its JSON type
		q.id = strconv.Quote(j.label + "-" + q.id)
	}
	p := params(q)
	if p != "" {
		p = `,"params":` + p
	}
	j.open[q.id] = q
	j.tally.Calls++
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q%s}`, q.id, method, p)
	q.line = fmt.Sprintf("%.130s", line)
	return q, line
}

// cancel notes that the host does not want the answer any more.
func (j *Judge) cancel(q *request) (line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.open[q.id] == nil {
		return ""
	}
	delete(j.open, q.id)
	q.cancelled = true
	j.over[q.id] = q
	j.tally.Cancelled++
	j.ended()
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"storm"}}`, q.id)
}

func (j *Judge) ended() {
	select {
	case j.answered <- struct{}{}:
	default:
	}
}

// dies notes that a daemon is about to end: one answer that was written may come
// again, and one line may be cut short.
func (j *Judge) dies() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.shaken {
		j.shaken, j.recovered = true, make(chan struct{})
	}
	j.dying = true
	j.deaths++
	j.halves++
}

// died notes that it has ended: what is asked from here on is the next one's.
func (j *Judge) died() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dying = false
}

// Recovered is closed once something that was asked after the last end of a
// daemon has been answered.
func (j *Judge) Recovered() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.recovered
}

// line judges one line of what the host got.
func (j *Judge) line(line []byte) {
	m := rig.Message{Line: line}
	err := json.Unmarshal(line, &m)
	text := rig.Text(m)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.tally.Halves++
		if j.halves--; j.halves < 0 {
			j.tally.Misdelivered++
			j.fault("%s: a line that is not JSON, and no daemon ended: %.200q", j.label, line)
		}
		return
	}
	if m.Method != "" {
		j.notification(&m)
		return
	}
	q := j.open[string(m.ID)]
	if q == nil {
		j.second(&m, line)
		return
	}
	delete(j.open, q.id)
	j.over[q.id] = q
	defer func() { q.want = "" }()
	defer j.ended()
	switch {
	case replaced(&m):
		j.tally.Replaced++
		return
	case m.Error != nil && j.allow(m.Error):
		j.tally.Failed++
	case m.Error != nil:
		j.tally.Misdelivered++
		j.fault("%s: %s was answered %.300s", j.label, q.id, line)
	case q.method == "tools/call" && text != q.want:
		j.tally.Misdelivered++
		j.fault("%s: %s wants %.60q and got %.200s", j.label, q.id, q.want, line)
	default:
		j.tally.Answered++
	}
	if q.death == j.deaths && j.shaken { // lines arrive in order
		j.shaken, j.halves = false, 0
		close(j.recovered)
	}
}

func replaced(m *rig.Message) bool {
	return m.Error != nil && strings.Contains(m.Error.Message, "daemon was replaced")
}

// second judges an answer to what is answered already, or was never asked.
func (j *Judge) second(m *rig.Message, line []byte) {
	q := j.over[string(m.ID)]
	switch {
	case q == nil:
		j.tally.Misdelivered++
		j.fault("%s: an answer to what was never asked: %.300s", j.label, line)
		return
	case q.cancelled: // it may cross the cancellation, once
		q.cancelled = false
		return
	case replaced(m) || q.again() && m.Error == nil:
		j.tally.Stray++
		if j.excused(q) {
			return
		}
	}
	j.tally.Doubled++
	j.fault("%s: a second answer to %s %s: %.300s", j.label, q.method, q.id, line)
}

// excused finds a daemon whose end may have come between an answer and the note
// that it was written. Each end excuses one, whenever it comes: a list that is
// answered again waits for its server, and what was asked after it need not.
func (j *Judge) excused(q *request) bool {
	for n := q.first; n <= j.deaths; n++ {
		if !j.spent[n] {
			j.spent[n] = true
			return true
		}
	}
	return false
}

func (j *Judge) notification(m *rig.Message) {
	if m.Method != "notifications/progress" {
		return
	}
	var p struct{ ProgressToken, Message string }
	if err := json.Unmarshal(m.Params, &p); err != nil || !j.tokens[p.ProgressToken] || p.Message != j.label {
		j.tally.Misdelivered++
		j.fault("%s: progress that is another's: %.300s", j.label, m.Line)
		return
	}
	j.tally.Progress++
}

// left is how many requests are open.
func (j *Judge) left() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.open)
}

// lost are the requests that are open, when nothing else comes.
func (j *Judge) lost() (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, q := range j.open {
		lines = append(lines, q.line)
	}
	return lines
}
