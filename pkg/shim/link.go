package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/socket"
)

// errGone is a daemon that ended before it took the descriptors, in good order
// or not: the next one may.
var errGone = errors.New("the daemon ended before it took the connection")

// exit is a daemon's word that we are done, before it took the descriptors.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// link is the connection to the daemon.
type link struct {
	o                Options
	in, out, capsule *os.File

	mu     sync.Mutex // guards conn and closed
	conn   *net.UnixConn
	closed bool

	lines *bufio.Reader // of conn; one for head and lines, so that none is lost between
}

// errLeaving is errGone of a daemon that said so.
var errLeaving = fmt.Errorf("%w: it is stopping", errGone)

// attach finds a daemon, or starts one if it may, and hands the files over. It
// returns when the daemon has said that it took them. A daemon that is stopping
// is waited out, within our patience; one that dies of us is not started for ever.
func (l *link) attach(ctx context.Context, start bool) error {
	rt, err := socket.OpenRuntime(l.o.Dirs.Runtime, true)
	if err != nil {
		return err
	}
	defer rt.Close()
	const mayDie = 3
	deaths, until := 0, time.Now().Add(l.o.patience())
	leaving := 0 // the pid of a daemon that said so
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		connect := l.o.connect
		if !start {
			connect = lookFor
		} else if leaving != 0 {
			connect = l.o.succeed(leaving)
		}
		conn, err := connect(ctx, rt)
		if err != nil {
			return err
		}
		if !l.use(conn) {
			return net.ErrClosed
		}
		err = l.handOver()
		if leaving = 0; errors.Is(err, errLeaving) {
			leaving = peerOf(conn)
		} else {
			deaths++
		}
		if !errors.Is(err, errGone) || deaths == mayDie || time.Now().After(until) {
			return l.explain(err)
		}
		if leaving != 0 && start {
			continue // at once, before one that it served: the successor is ours
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// peerOf is the process that listens at the other end, 0 if it cannot be told.
func peerOf(c *net.UnixConn) int {
	p, err := socket.PeerOf(c)
	if err != nil {
		return 0
	}
	return p.PID
}

// lookFor dials a daemon that runs. A dial without one would have systemd start
// it, on a socket that systemd listens on.
func lookFor(_ context.Context, rt *socket.Runtime) (*net.UnixConn, error) {
	if !daemonElsewhere(rt) {
		return nil, rt.NoDaemon(socket.Attach)
	}
	return rt.Dial(socket.Attach)
}

// handOver says hello, sends the files and waits for the daemon to take them.
func (l *link) handOver() error {
	l.conn.SetDeadline(time.Now().Add(l.o.patience()))
	if err := l.hello(); err != nil {
		return gone(err)
	}
	if err := socket.SendFiles(l.conn, l.in, l.out, l.capsule); err != nil {
		return gone(err)
	}
	for {
		line, err := l.next()
		switch {
		case err != nil:
			return gone(err)
		case line.Adopted:
			l.conn.SetDeadline(time.Time{})
			return nil
		case line.End != nil:
			return exit(*line.End)
		case line.Drain:
			return errLeaving
		}
	}
}

// next reads one line of the daemon, and prints it if that is what it asks for.
func (l *link) next() (api.ShimLine, error) {
	var line api.ShimLine
	text, err := l.lines.ReadBytes('\n')
	if err != nil {
		return line, err
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return line, fmt.Errorf("a line of the daemon: %w", err)
	}
	if line.Stderr != "" {
		fmt.Fprintln(l.o.Stderr, strings.TrimSuffix(line.Stderr, "\n"))
	}
	return line, nil
}

// use makes conn the connection; false when we are to end.
func (l *link) use(conn *net.UnixConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
	}
	if l.closed {
		conn.Close()
		return false
	}
	l.conn = conn
	l.lines = bufio.NewReader(conn)
	return true
}

// close ends the connection, at any time and from any goroutine.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.conn != nil {
		l.conn.Close()
	}
}

// explain makes an error of the hand-over one for people.
func (l *link) explain(err error) error {
	log := filepath.Join(l.o.Dirs.State, logName)
	switch {
	case errors.Is(err, errGone):
		return &fault{msg: errGone.Error(), hint: "see " + log, err: errGone}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &fault{
			msg:  fmt.Sprintf("the daemon did not take the connection within %v", l.o.patience()),
			hint: "look at it with: mcpx status   (its log: " + log + ")",
			err:  err,
		}
	}
	return err
}

// gone tells a connection that the daemon closed from every other error.
func gone(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isHangUp(err) {
		return errGone
	}
	return err
}
