package rig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Raw is a host that does nothing by itself: it reads when it is told to, and
// writes any bytes. Its `mcpx connect` is gone when the test ends.
type Raw struct {
	T    testing.TB
	cmd  *exec.Cmd
	in   *os.File // our ends
	out  *os.File
	r    *bufio.Reader
	errs lockedBuffer
}

// Raw starts `mcpx connect` in the home directory.
func (r *Rig) Raw(args ...string) *Raw {
	r.T.Helper()
	h := &Raw{T: r.T, cmd: r.Command(append([]string{"connect"}, args...)...)}
	stdin, in, err1 := os.Pipe()
	out, stdout, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		r.T.Fatal(err1, err2)
	}
	h.in, h.out, h.r = in, out, bufio.NewReader(out)
	h.cmd.Stdin, h.cmd.Stdout, h.cmd.Stderr = stdin, stdout, &h.errs
	if err := h.cmd.Start(); err != nil {
		r.T.Fatal(err)
	}
	_, _ = stdin.Close(), stdout.Close()
	r.T.Cleanup(func() {
		h.Kill()
		h.End()
	})
	return h
}

// Write writes any bytes. A connect that has not read them after Wait is an error.
func (h *Raw) Write(text string) {
	h.T.Helper()
	_ = h.in.SetWriteDeadline(time.Now().Add(Wait))
	if _, err := io.WriteString(h.in, text); err != nil {
		h.T.Fatalf("writing %.80q: %v; stderr: %s", text, err, h.errs.String())
	}
}

// Next reads the next message.
func (h *Raw) Next() (m Message) {
	h.T.Helper()
	_ = h.out.SetReadDeadline(time.Now().Add(Wait))
	for {
		line, err := h.r.ReadBytes('\n')
		if err != nil {
			h.T.Fatalf("reading: %q, %v; stderr: %s", line, err, h.errs.String())
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		m.Line = line
		if err := json.Unmarshal(line, &m); err != nil {
			h.T.Fatalf("not JSON: %.200s", line)
		}
		return m
	}
}

// Answer reads up to the answer to a raw id, or to a line without one ("null").
func (h *Raw) Answer(id string) Message {
	h.T.Helper()
	for {
		if m := h.Next(); m.Method == "" && string(m.ID) == id {
			return m
		}
	}
}

// CloseIn closes the connection's stdin.
func (h *Raw) CloseIn() { _ = h.in.Close() }

// CloseOut closes our end of its stdout.
func (h *Raw) CloseOut() { _ = h.out.Close() }

// Kill ends connect as a crash would.
func (h *Raw) Kill() { _ = h.cmd.Process.Kill() }

// End closes all and returns connect's exit status.
func (h *Raw) End() int {
	h.CloseIn()
	h.CloseOut()
	if h.cmd.ProcessState == nil {
		_ = h.cmd.Wait()
	}
	return h.cmd.ProcessState.ExitCode()
}
