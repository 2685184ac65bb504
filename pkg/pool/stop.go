package pool

import (
	"context"
	"slices"
	"time"
)

// ReapIdle stops instances idle since before now minus idleTimeout, and those
// whose session has been gone for long enough, and says how many. It also
// forgets old failures.
func (p *Pool) ReapIdle(now time.Time) int {
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	reaped := 0
	for _, in := range p.live {
		if expired(in, now, p.idleTimeout) {
			in.stop("stopped idle", ErrStopped)
			reaped++
		}
	}
	for key, rec := range p.records {
		if rec.err != nil && now.Sub(rec.retryAt) > forgetting && p.current[key] == nil {
			rec.forgive()
		}
	}
	return reaped
}

// Orphan says that no session owns key any more: ReapIdle stops its instance
// once at has passed, unless it is leased again before.
func (p *Pool) Orphan(key string, at time.Time) {
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	in := p.current[key]
	if in == nil {
		delete(p.records, key)
		return
	}
	in.orphanAt = at
	p.limits.dispatch()
}

// Adopt takes Orphan back: the session of key has returned.
func (p *Pool) Adopt(key string) {
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	if in := p.current[key]; in != nil {
		in.orphanAt = time.Time{}
	}
}

// Stop ends the instances of key ("" = all) now, whatever they are doing, and
// returns when they are gone or ctx ends; those who wait for them get ErrStopped.
// It also clears the key's back-off. The result is the number stopped.
func (p *Pool) Stop(ctx context.Context, key string) int {
	p.limits.mu.Lock()
	for k, rec := range p.records {
		if key == "" || k == key {
			rec.forgive()
		}
	}
	ends, stopped := p.stopAll(func(in *instance) bool { return key == "" || in.rs.Key == key }, ErrStopped)
	p.limits.mu.Unlock()
	for _, over := range ends {
		select {
		case <-over:
		case <-ctx.Done():
		}
	}
	return stopped
}

// stopAll stops what matches and returns the channels that say when they are
// gone, and how many of them had started. Needs the lock.
func (p *Pool) stopAll(match func(*instance) bool, err error) (ends []<-chan struct{}, stopped int) {
	for _, in := range slices.Clone(p.live) {
		if match(in) {
			if in.phase != ending {
				stopped++
			}
			in.stop("stopped", p.errorf(err))
			ends = append(ends, in.over)
		}
	}
	for _, in := range p.current { // what is left of it is queued
		if match(in) {
			in.stop("stopped", p.errorf(err))
		}
	}
	p.limits.dispatch()
	return ends, stopped
}

// Retire ends the pool of a definition that is no longer in any view: calls in
// flight, and those already waiting, may end within grace; new ones are refused
// with ErrRetired. Then it closes the pool, and returns when nothing is left.
func (p *Pool) Retire(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for _, over := range p.retire() {
		select {
		case <-over:
		case <-ctx.Done():
		}
	}
	p.Close(context.WithoutCancel(ctx))
}

// retire refuses new leases, stops what nobody uses, and returns the channels
// that say when the rest is gone.
func (p *Pool) retire() (ends []<-chan struct{}) {
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	p.retired = true
	for _, in := range p.current {
		ends = append(ends, in.over)
		in.settleDown()
	}
	p.limits.dispatch()
	return ends
}

// Close stops everything, refuses new leases with ErrClosed, and waits. Once
// ctx ends the stops are no longer patient, and its error is returned.
func (p *Pool) Close(ctx context.Context) error {
	l := p.limits
	l.mu.Lock()
	p.closed = true
	p.stopAll(func(*instance) bool { return true }, ErrClosed)
	l.mu.Unlock()

	impatient := context.AfterFunc(ctx, p.rush)
	p.wg.Wait()
	late := !impatient()
	p.rush()

	l.mu.Lock()
	l.pools = slices.DeleteFunc(l.pools, func(o *Pool) bool { return o == p })
	l.mu.Unlock()
	if late {
		return ctx.Err()
	}
	return nil
}
