// Package child runs one stdio server as a process: its own group, its stderr
// drained and remembered, and a stop that leaves nothing behind (design D16).
// It knows nothing of the protocol.
package child

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/proc"
)

// Options are the daemon's part of every start.
type Options struct {
	Home     string                                      // where a plan without Dir runs
	Base     func(ctx context.Context) ([]string, error) // the base environment (design D15); may wait for the login shell; nil means this process's own
	Marker   string                                      // value of MCPX_INSTANCE, of this start alone: Stop ends whoever carries it
	Grace    time.Duration                               // of each step of the stop ladder; 0 means 5 s
	OnStderr func(line string)                           // called for each line as the server wrote it, its secrets hidden, in order; it must not block
	Log      *slog.Logger                                // nil means no log
}

// Process is a running server. Whoever started it calls Stop, also when it has
// ended by itself.
type Process struct {
	server string
	marker string
	grace  time.Duration
	log    *slog.Logger
	mask   mask

	cmd     *exec.Cmd
	id      proc.ID
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	tail    tail
	drained chan struct{} // closed when stderr has been read to its end

	quitting chan struct{} // closed when Stop is called first
	quit     func()        // closes it
	hurried  chan struct{} // closed when a Stop has no time left
	hurry    func()        // closes it

	exited  chan struct{} // closed when the program has ended; it is not reaped yet
	over    chan struct{} // closed when the ladder is done; escaped is set before
	ended   func()        // closes it
	escaped error
	done    chan struct{} // closed when all is read and reaped; exit is set before
	exit    string

	wg  sync.WaitGroup  // drain, watch and keep
	kin map[proc.ID]int // relatives seen so far and their groups; keep's alone
}

// Stdin is the pipe to the server, in non-blocking mode: a write ends when Stop
// closes it.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout is the pipe from the server, in non-blocking mode. After the server's
// death a read comes to an end within half a second, whoever holds the other
// end: with io.EOF, or with os.ErrDeadlineExceeded. Stop closes it, so read to
// the end before Stop to have a dead server's last words.
func (p *Process) Stdout() *os.File { return p.stdout }

// ID is the process; its PID is also its group.
func (p *Process) ID() proc.ID { return p.id }

// Command is the absolute path of the program that was found.
func (p *Process) Command() string { return p.cmd.Path }

// StderrTail is the last lines on stderr (at most 64 KiB and 100 lines kept),
// with whatever bytes the server wrote but its secrets, which read "•••".
func (p *Process) StderrTail() []string { return p.tail.all() }

// Mask hides the server's secrets in what it says elsewhere (threat T28).
func (p *Process) Mask(text string) string {
	shown, _ := p.mask.hide([]byte(text), false)
	return shown
}

// Done is closed when the process has been reaped and its stderr has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how it ended ("exit status 3", "signal: killed"); "" until Done.
func (p *Process) Exit() string {
	select {
	case <-p.done:
		return p.exit
	default:
		return ""
	}
}
