package registry

import (
	"slices"
	"sync"
	"time"
)

const (
	ringLines    = 500 // kept per server
	behindByMost = 256 // lines a follower may be behind before it misses some
)

// LogLine is one line a server wrote to stderr. PID is 0 for what it wrote
// before its handshake.
type LogLine struct {
	Time   time.Time
	Server string
	Key    string
	PID    int
	Line   string
}

// logs keeps the last stderr lines per server and passes new ones on.
type logs struct {
	mu        sync.Mutex // guards what follows
	lines     map[string][]LogLine
	followers map[chan LogLine]string // server, "" = all
}

func newLogs() *logs {
	return &logs{lines: map[string][]LogLine{}, followers: map[chan LogLine]string{}}
}

// add never blocks: it is called while a server's stderr is drained.
func (l *logs) add(line LogLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ring := append(l.lines[line.Server], line)
	if len(ring) > ringLines {
		ring = ring[1:] // append moves what is left when the array is used up
	}
	l.lines[line.Server] = ring
	for ch, server := range l.followers {
		if server != "" && server != line.Server {
			continue
		}
		select {
		case ch <- line:
		default: // a slow follower misses lines rather than holding up a server
		}
	}
}

func (l *logs) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ch := range l.followers {
		close(ch)
	}
	clear(l.followers)
}

// Logs are the last stderr lines per server ("" = all), oldest first, for
// `mcpx logs`: at most 500 of each.
func (r *Registry) Logs(server string) []LogLine {
	l := r.logs
	l.mu.Lock()
	defer l.mu.Unlock()
	if server != "" {
		return slices.Clone(l.lines[server])
	}
	var all []LogLine
	for _, lines := range l.lines {
		all = append(all, lines...)
	}
	slices.SortStableFunc(all, func(a, b LogLine) int { return a.Time.Compare(b.Time) })
	return all
}

// Subscribe passes on what server ("" = all) writes to stderr from now on, until
// cancel is called or the registry closes; then lines is closed. A reader who is
// 256 lines behind misses some.
func (r *Registry) Subscribe(server string) (lines <-chan LogLine, cancel func()) {
	l, ch := r.logs, make(chan LogLine, behindByMost)
	l.mu.Lock()
	l.followers[ch] = server
	l.mu.Unlock()
	return ch, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if _, open := l.followers[ch]; open {
			delete(l.followers, ch)
			close(ch)
		}
	}
}
