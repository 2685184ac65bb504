package pool

import (
	"fmt"
	"time"

	"github.com/dezren39/mcpx/pkg/scope"
)

// record is what a pool remembers of a key from one instance to the next: the
// caller who created it, so that a restart never resolves anew (record 0004 §2),
// and how it failed lately.
type record struct {
	rs       scope.ResolvedScope
	cc       scope.CallContext
	known    bool // rs and cc are set
	failures int  // in a row
	retryAt  time.Time
	err      error // of the last failure; nil when there was none
}

// record is the key's. The keys of single calls share one, or a server that
// cannot start would never be left alone. Needs the lock.
func (p *Pool) record(key string) *record {
	if scope.PerCall(key) {
		key = string(scope.Call) + ":"
	}
	rec := p.records[key]
	if rec == nil {
		rec = &record{}
		p.records[key] = rec
	}
	return rec
}

// origin is what the key's instance is made from: the first caller's.
func (r *record) origin(rs scope.ResolvedScope, cc scope.CallContext) (scope.ResolvedScope, scope.CallContext) {
	if scope.PerCall(rs.Key) {
		return rs, cc
	}
	if !r.known {
		r.rs, r.cc, r.known = rs, cc, true
	}
	return r.rs, r.cc
}

// failed counts a failure and sets the time of the next try.
func (r *record) failed(err error, now time.Time) {
	r.failures++
	r.err = err
	r.retryAt = now.Add(nextRetry(r.failures))
}

// died counts the early end of one that had started. The first is no reason to
// wait, the next call starts another (report F1); from then on it is as for one
// that does not start.
func (r *record) died(err error, now time.Time) {
	r.failed(err, now)
	if r.retryAt = now; r.failures > 1 {
		r.retryAt = now.Add(nextRetry(r.failures - 1))
	}
}

// forgive forgets the failures.
func (r *record) forgive() { r.failures, r.err, r.retryAt = 0, nil, time.Time{} }

// backoff is the error for a key that may not be tried yet, or nil.
func (r *record) backoff(server string, now time.Time) error {
	if r.err == nil || !now.Before(r.retryAt) {
		return nil
	}
	const tick = 100 * time.Millisecond
	left := (r.retryAt.Sub(now) + tick - 1).Truncate(tick)
	return &BackoffError{Server: server, Err: r.err, Retry: left}
}

// errorf says which server a sentinel is about.
func (p *Pool) errorf(err error) error { return fmt.Errorf("server %q: %w", p.def.Name, err) }

// limitError names what an instance waits for. Needs the lock.
func (p *Pool) limitError(in *instance, waited time.Duration) *LimitError {
	e := &LimitError{Server: p.def.Name, Waited: waited}
	by := in.blocked
	if in.phase == connected {
		by = bySharing
	}
	switch e.Key = string(by); by {
	case byMax:
		e.Max = p.max
	case byMaxInstances:
		e.Max = p.limits.maxInstances
	case byMaxStarts:
		e.Max = p.limits.maxStarts
	case bySessionCalls:
		e.Max = sessionCalls
	case bySessionStart:
		e.Max = sessionStarts
	}
	return e
}
