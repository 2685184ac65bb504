package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/wire"
)

// arrival is what the reader found: an answer, or the end.
type arrival struct {
	reply reply
	ended bool
}

// open opens one process, in one or more questions. On success nothing reads
// from the server any more and the failure is nil. Else m says what should be
// tried next, and the failure what to report when nothing is.
func (c *Conn) open(ctx context.Context, s *state, patience func(state) time.Duration) (m move, f *Failure) {
	c.say(*s)
	started := time.Now()
	silence := time.NewTimer(patience(*s))
	defer silence.Stop()
	arrived := c.listen()
	for {
		var a arrival
		select {
		case a = <-arrived:
			m = s.onArrival(a)
		case <-silence.C:
			m = s.onSilence()
		case <-ctx.Done():
			return giveUp, c.timedOut(ctx, *s)
		}
		switch m {
		case wait:
		case sayBehind, sayInitialize, sayPlain:
			*s = s.after(m)
			c.say(*s)
			silence.Reset(patience(*s) - time.Since(started))
		case openLegacy, openModern:
			if f := c.finish(m, a.reply); f != nil {
				return giveUp, f
			}
			return m, nil
		default:
			return m, c.explain(*s, a)
		}
		if m != sayBehind { // then the reader still waits
			arrived = c.listen()
		}
	}
}

// onArrival decides upon what the reader found.
func (s state) onArrival(a arrival) move {
	if a.ended {
		return s.onEnd()
	}
	return s.on(a.reply)
}

// say writes what state s asks for. A server that is gone does not hear it; the
// reader learns of that.
func (c *Conn) say(s state) {
	line := c.greeting.Discover(!s.strict)
	if s.ask == initializing || s.behind {
		line = c.greeting.Initialize(!s.strict)
	}
	_ = c.in.Write(line)
}

// listen waits for the next answer to one of our questions.
func (c *Conn) listen() <-chan arrival {
	arrived := make(chan arrival, 1)
	c.wg.Go(func() {
		arrived <- c.nextReply()
	})
	return arrived
}

// nextReply reads up to the next answer. Servers talk before they are asked:
// their requests are answered, what they say to nobody yet is dropped.
func (c *Conn) nextReply() arrival {
	for {
		line, err := c.out.Next()
		if _, long := errors.AsType[*stdio.TooLong](err); long {
			continue
		}
		if err != nil {
			c.awaitExit()
			return arrival{ended: true}
		}
		for env := range c.desk.Messages(line) {
			switch env.Kind {
			case wire.Request:
				if !c.desk.Answer(env) {
					c.desk.Refuse(env)
				}
			case wire.Result, wire.Error:
				if r, ok := replyOf(env); ok {
					return arrival{reply: r}
				}
			}
		}
	}
}

// awaitExit gives the process a moment to be reaped, so that its end can be
// told with its status.
func (c *Conn) awaitExit() {
	timer := time.NewTimer(lastLook)
	defer timer.Stop()
	select {
	case <-c.proc.Done():
	case <-timer.C:
	}
}

// finish ends a handshake that went well.
func (c *Conn) finish(m move, r reply) *Failure {
	if err := c.settle(m, r.result); err != nil {
		return c.fail("", "%v", err)
	}
	if m == openLegacy {
		_ = c.in.Write(wire.AppendNotification(nil, "notifications/initialized", nil))
	}
	return nil
}

// explain says why a process was not opened.
func (c *Conn) explain(s state, a arrival) *Failure {
	question := s.question()
	switch r := a.reply; {
	case a.ended && c.proc.Exit() == "":
		return c.fail("", "closed its stdout before it answered %s", question)
	case a.ended:
		return c.fail(runByHand, "ended before it answered %s", question)
	case r.kind == wire.Result && r.to == initializing:
		return c.fail("mcpx speaks 2024-11-05 to "+era.ModernVersion, "answered initialize with the unknown protocol version %q", ProtocolVersion(r.result))
	case r.kind == wire.Result:
		return c.fail(`set "protocol": "legacy" if it has no `+era.ModernVersion, "answered server/discover without "+era.ModernVersion)
	case r.kind == wire.Error:
		f := c.fail(refusedHint(s, r), "%s: refused with error %d: %s", question, r.code, r.msg)
		f.refused = true
		return f
	}
	return c.fail("", "was silent after %s", question)
}

const runByHand = "run the command by hand in that directory to see what it says"

func refusedHint(s state, r reply) string {
	switch {
	case s.ask == discovering && !s.auto:
		return `set "protocol": "auto" to have it asked again`
	case !s.auto && s.saysModern(r):
		return `set "protocol": "auto": it may speak ` + era.ModernVersion
	}
	return ""
}

// timedOut is the failure when ctx ended first.
func (c *Conn) timedOut(ctx context.Context, s state) *Failure {
	if cause := context.Cause(ctx); !errors.Is(cause, errStartTimeout) {
		return c.fail("", "%s: given up: %v", s.question(), cause)
	}
	return c.fail(`raise "startTimeout" if it is only slow`, "%s timed out after %v", s.question(), seconds(c.opts.StartTimeout))
}

// seconds writes a duration as configs have it: 60s, not 1m0s.
func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}
