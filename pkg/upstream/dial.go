package upstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// maxStarts bounds one dial (design D6).
const maxStarts = 3

// abandonGrace is what a process that is given up on has to leave by itself.
const abandonGrace = 500 * time.Millisecond

// Dial starts the plan's server and shakes hands. ctx bounds the start, not the
// life. The era is the plan's, or the one remembered, or found by a probe
// (protocol §1.6); at most one respawn per cause, three starts in all. The
// error is child's when the program could not be started, else a *Failure. What
// was started is gone when Dial fails.
func Dial(ctx context.Context, p spawn.Plan, o Options) (*Conn, error) {
	d := dialer{plan: p, opts: o.withDefaults()}
	ctx, cancel := d.opts.deadline(ctx)
	defer cancel()
	s := d.first(time.Now())
	used := map[move]bool{}
	for starts := 1; ; starts++ {
		proc, err := child.Start(ctx, p, d.opts.Child)
		if err != nil {
			return nil, err
		}
		c := newConn(p, d.opts, proc)
		m, failure := c.open(ctx, &s, d.patience)
		if failure == nil {
			d.remember(s, c.hs.Era)
			return c, nil
		}
		c.abandon()
		if m == giveUp || used[m] || starts == maxStarts {
			d.forget(ctx, failure)
			return nil, failure
		}
		used[m] = true
		s = s.after(m)
	}
}

// dialer is one dial.
type dialer struct {
	plan spawn.Plan
	opts Options

	known   Verdict // what was remembered, zero when nothing
	learned bool    // the era was asked for, not assumed
}

// first is how the first process is opened.
func (d *dialer) first(now time.Time) state {
	v, ok := d.opts.Eras.Era(d.plan.Identity())
	if ok && (v.Era == Modern || now.Sub(v.Checked) < verdictLife) {
		d.known = v
	}
	s := state{
		auto:   d.plan.Protocol != config.Legacy && d.plan.Protocol != config.Modern,
		strict: d.plan.Workspace.Root != "" && !d.known.Plain,

		sibling: d.opts.SiblingLegacy,
	}
	switch {
	case d.plan.Protocol == config.Legacy, s.auto && d.known.Era == Legacy:
		s.ask = initializing
	case d.plan.Protocol == config.Modern, s.auto && d.known.Era == Modern:
		s.ask = discovering // one that is silent or ends is an error, not a fallback: it may be slow or broken
	default:
		d.learned = true
	}
	return s
}

// forever is longer than any start: its own timeout ends it first.
const forever = time.Duration(math.MaxInt64)

// patience is how long, from its spawn, a process in state s may be silent.
func (d *dialer) patience(s state) time.Duration {
	switch {
	case s.behind:
		// It was asked for both and may only be slow: gopls on a large module is.
		return max(d.opts.ProbeTimeout, d.opts.StartTimeout/2)
	case s.ask == probing && s.sibling:
		return min(siblingSilence, d.opts.ProbeTimeout)
	case s.ask == probing:
		return d.opts.ProbeTimeout
	}
	return forever
}

// remember keeps what this start taught. An era that was only assumed keeps its
// date, so that it is asked for again one day.
func (d *dialer) remember(s state, e Era) {
	v := Verdict{Era: e, Plain: d.plan.Workspace.Root != "" && !s.strict, Checked: d.known.Checked}
	if v == d.known {
		return
	}
	if d.learned || v.Era != d.known.Era {
		v.Checked = time.Now()
	}
	d.opts.Eras.SetEra(d.plan.Identity(), v)
}

// forget drops a remembered era that a failure puts in doubt: the next start
// probes. A legacy one only when the server itself refused; a crash says
// nothing of eras.
func (d *dialer) forget(ctx context.Context, f *Failure) {
	ours := ctx.Err() == nil || errors.Is(context.Cause(ctx), errStartTimeout)
	if d.known.Era == Modern && ours || d.known.Era == Legacy && f.refused {
		d.opts.Eras.SetEra(d.plan.Identity(), Verdict{})
	}
}

// settle makes the handshake out of the answer.
func (c *Conn) settle(m move, result []byte) (err error) {
	if m == openModern {
		c.hs, err = c.greeting.Modern(result, c.plan.Server)
		return err
	}
	c.hs = c.greeting.Legacy(result)
	return nil
}

// abandon ends a process that did not open.
func (c *Conn) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), abandonGrace)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		c.opts.Log.Warn("left something of a failed start", "server", c.plan.Server, "err", err)
	}
}

// fail makes the failure of this start, while the process can still be asked.
func (c *Conn) fail(hint, format string, args ...any) *Failure {
	return &Failure{
		Server: c.plan.Server,
		Msg:    c.proc.Mask(fmt.Sprintf(format, args...)), // a refusal may quote what was refused
		Exit:   c.proc.Exit(),
		Stderr: c.proc.StderrTail(),
		Fix:    hint,
	}
}
