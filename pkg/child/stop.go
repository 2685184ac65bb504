package child

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
)

const (
	linger   = 250 * time.Millisecond // for relatives to follow a program that has ended
	killWait = time.Second            // for KILL to be felt
	tick     = 10 * time.Millisecond  // between two looks at relatives, who cannot be waited for
	lastRead = 500 * time.Millisecond // for a pipe that somebody out of reach still holds
)

// Stop is the ladder: close stdin, wait, TERM the group, wait, KILL the group,
// bounded wait for the pipes, reap. What left the group is signalled alone, as
// far as it can be found (proc.Kin). When ctx ends, Stop goes to KILL at once.
// It is safe in every state, twice, and from many goroutines; each returns when
// the process is gone. The error names processes that escaped.
func (p *Process) Stop(ctx context.Context) error {
	p.quit()
	select {
	case <-p.over:
	case <-ctx.Done():
		p.hurry()
		<-p.over
	}
	if p.hasExited() {
		p.wg.Wait()
	}
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	return p.escaped
}

// watch closes exited.
func (p *Process) watch() {
	awaitExit(p.cmd)
	close(p.exited)
}

// keep sees the process to its end, whether it ends by itself or by Stop.
func (p *Process) keep() {
	defer p.ended()
	p.ladder()
	_ = syscall.Kill(-p.id.PID, syscall.SIGKILL) // where relatives cannot be listed, this is for them
	p.nameEscaped()
	if !p.hasExited() {
		p.ended() // the kernel does not let go of it; Stop need not wait for that
		<-p.exited
	}
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Wait()
	}
	p.exit = p.cmd.ProcessState.String()
	limit := time.Now().Add(lastRead)
	_ = p.stdout.SetReadDeadline(limit)
	_ = p.stderr.SetReadDeadline(limit)
	<-p.drained
	close(p.done)
}

// ladder returns when the program and its relatives are gone, or all was tried.
func (p *Process) ladder() {
	patience := linger // with the relatives of a server that died by itself
	select {
	case <-p.exited:
	case <-p.quitting:
		patience = p.grace
		p.noteKin() // now, while links of descent still lead to them
		p.log.Debug("closed stdin", "server", p.server, "pid", p.id.PID)
		_ = p.stdin.Close()
	}
	if p.settle(p.grace, linger, p.hurried) {
		return
	}
	p.log.Debug("sent TERM", "server", p.server, "pid", p.id.PID)
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT) // one that is stopped feels TERM only then
	if p.settle(patience, patience, p.hurried) {
		return
	}
	p.log.Debug("sent KILL", "server", p.server, "pid", p.id.PID)
	for end := time.Now().Add(killWait); time.Now().Before(end); {
		p.signal(syscall.SIGKILL)
		if p.settle(5*tick, 5*tick, nil) {
			return
		}
	}
}

// settle waits until nothing is left, and reports whether that is so: at most
// program for the program itself, then at most rest for its relatives.
func (p *Process) settle(program, rest time.Duration, hurried <-chan struct{}) bool {
	timer := time.NewTimer(program)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-hurried:
		return false
	case <-timer.C:
		return false
	}
	p.noteKin()
	timer.Reset(rest)
	look := time.NewTicker(tick)
	defer look.Stop()
	for p.kinAlive() {
		select {
		case <-look.C:
		case <-hurried:
			return false
		case <-timer.C:
			return false
		}
	}
	p.noteKin() // who was born while the others died
	return !p.kinAlive()
}

// signal reaches the group as one, and each relative outside of it. The group's
// number is ours for as long as the program is not reaped, which is later.
func (p *Process) signal(sig syscall.Signal) {
	p.noteKin()
	_ = syscall.Kill(-p.id.PID, sig)
	for id, group := range p.kin {
		if group != p.id.PID {
			_ = id.Signal(sig)
		}
	}
}

// noteKin remembers relatives: one that is known is found again when the links
// that led to it are gone.
func (p *Process) noteKin() {
	for _, m := range proc.Kin(p.id, p.marker) {
		p.kin[m.ID] = m.Group
	}
}

// kinAlive forgets the relatives that are gone.
func (p *Process) kinAlive() bool {
	for id := range p.kin {
		if !id.Alive() {
			delete(p.kin, id)
		}
	}
	return len(p.kin) > 0
}

func (p *Process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// nameEscaped sets the error of Stop.
func (p *Process) nameEscaped() {
	var pids []int
	if !p.hasExited() {
		pids = append(pids, p.id.PID)
	}
	if p.kinAlive() {
		for id := range p.kin {
			pids = append(pids, id.PID)
		}
	}
	if len(pids) == 0 {
		return
	}
	slices.Sort(pids)
	p.escaped = config.Problem{
		Server: p.server,
		Msg:    "stopped, but these of its processes live on: pid " + strings.Trim(fmt.Sprint(pids), "[]"),
		Hint:   "end them by hand; a process of another user or one stuck in the kernel is out of reach",
	}
}
