// Package fake is a stdio MCP server with faults to order. Without flags it is a
// good legacy server (2024-11-05 … 2025-11-25); each flag adds one fault or
// habit, and they may be combined. It uses the standard library only, and none
// of mcpx, so that it cannot share a mistake with what it tests.
package fake

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// Main runs the server until in ends, and returns its exit status. It is the
// whole of a process: faults of life and death end that process, and take its
// signals. A test binary can be its own fakemcp by calling Main in TestMain.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	f, err := parseFaults(args, errOut)
	if err == flag.ErrHelp {
		return 0
	}
	if err != nil {
		return 2
	}
	if f.faulty > 0 && countStart(f.state) >= f.faulty {
		f = f.good()
	}
	s := &server{
		faults:  f,
		argv:    append([]string{os.Args[0]}, args...),
		in:      in,
		out:     out,
		errOut:  errOut,
		began:   time.Now(),
		pending: map[string]chan message{},
		cancels: map[string]chan struct{}{},
		values:  map[string]string{},
		dirs:    f.dirsGiven,
	}
	return s.run(args)
}

// object is JSON to be written; key order does not matter here.
type object = map[string]any

// message is a JSON-RPC line as far as the server looks.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	line   []byte          // the whole, as it came
}

type server struct {
	faults
	argv   []string
	in     io.Reader
	out    io.Writer
	errOut io.Writer
	began  time.Time

	outMu sync.Mutex // held for one line on out
	logMu sync.Mutex // held for one line in the log or the record

	mu        sync.Mutex // guards what follows
	pending   map[string]chan message
	nextID    int
	cancels   map[string]chan struct{}
	calls     int
	lists     int
	counter   int // shows whether two callers share a process
	values    map[string]string
	dirs      []string // the allowed directories, of -dirs
	handshake json.RawMessage
	locked    *os.File // holds the lock of -lockfile for as long as we run
}

// note appends one event to the log.
func (s *server) note(kind string, v any) {
	if s.log == "" {
		return
	}
	b, _ := json.Marshal(object{"t": time.Now().Format("15:04:05.000"), "pid": os.Getpid(), "kind": kind, "v": v})
	s.appendTo(s.log, append(b, '\n'))
}

// appendTo is one write, so that the lines of many servers do not mix.
func (s *server) appendTo(file string, data []byte) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(s.errOut, "fakemcp:", err)
		return
	}
	defer f.Close()
	_, _ = f.Write(data)
}

// exit ends the process; it is for faults, wherever they strike.
func (s *server) exit(code int, why string) {
	s.note("exit", object{"code": code, "why": why})
	os.Exit(code)
}

func (s *server) noteStart() {
	cwd, _ := os.Getwd()
	s.note("start", object{"argv": s.argv, "cwd": cwd, "ppid": os.Getppid(), "pgid": syscall.Getpgrp()})
}
