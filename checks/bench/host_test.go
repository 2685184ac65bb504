package bench

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// host drives one MCP connection without looking into it more than it must.
type host struct {
	t   testing.TB
	cmd *exec.Cmd // nil when the other side is no process
	in  *os.File
	out *os.File

	roots bool // it declares the roots capability, and answers what that brings

	r    *bufio.Reader
	line []byte
	id   int64
}

// plumbing makes one of a host's pipes: our end, and the child's.
type plumbing func(childReads bool) (ours, childs *os.File, err error)

// pipes are what most hosts use.
func pipes(childReads bool) (ours, childs *os.File, err error) {
	r, w, err := os.Pipe()
	if childReads {
		return w, r, err
	}
	return r, w, err
}

// sockets are what hosts on Node use.
func sockets(bool) (ours, childs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "child's"), nil
}

// start starts a server as a host does. It is stopped when the test ends.
func start(t testing.TB, by plumbing, env []string, name string, args ...string) *host {
	t.Helper()
	in, childIn, err := by(true)
	if err != nil {
		t.Fatal(err)
	}
	out, childOut, err := by(false)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = env, t.TempDir()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	childIn.Close()
	childOut.Close()
	h := newHost(t, in, out)
	h.cmd = cmd
	t.Cleanup(h.close)
	return h
}

func newHost(t testing.TB, in, out *os.File) *host {
	return &host{t: t, in: in, out: out, r: bufio.NewReaderSize(out, 1<<20)}
}

// close ends the connection as a polite host does. Safe to call twice.
func (h *host) close() {
	if h.in == nil {
		return
	}
	h.in.Close()
	h.in = nil
	for {
		if _, err := h.r.ReadSlice('\n'); err != nil {
			break
		}
	}
	h.out.Close()
	if h.cmd != nil {
		_ = h.cmd.Wait() // a server may end with any status
	}
}

func (h *host) pid() int { return h.cmd.Process.Pid }

// open shakes hands.
func (h *host) open() {
	h.t.Helper()
	capabilities := `{}`
	if h.roots {
		capabilities = `{"roots":{"listChanged":true}}`
	}
	h.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":`+capabilities+`,"clientInfo":{"name":"bench","version":"1"}}`)
	h.write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"))
}

// firstList opens the connection as far as a host needs to know the tools.
func (h *host) firstList() {
	h.t.Helper()
	h.open()
	if list := h.ask("tools/list", "{}"); !bytes.Contains(list, []byte(`echo"`)) {
		h.t.Fatalf("no tool in %s", list)
	}
}

// ask sends one request and returns the line that answers it.
func (h *host) ask(method, params string) []byte {
	h.t.Helper()
	h.id++
	h.write([]byte(`{"jsonrpc":"2.0","id":` + strconv.FormatInt(h.id, 10) + `,"method":"` + method + `","params":` + params + "}\n"))
	for {
		line := h.read()
		if bytes.Contains(line, []byte(`"result"`)) {
			return line
		}
		if bytes.Contains(line, []byte(`"error"`)) {
			h.t.Fatalf("%s: %s", method, line)
		}
	}
}

// call is the tail of a tools/call of echo with n bytes of text.
func call(n int) []byte {
	return []byte(`,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", n) + `"}}}` + "\n")
}

// send writes a request that ends with tail under the next id.
func (h *host) send(tail []byte) {
	h.id++
	h.line = append(h.line[:0], `{"jsonrpc":"2.0","id":`...)
	h.line = strconv.AppendInt(h.line, h.id, 10)
	h.line = append(h.line, tail...)
	h.write(h.line)
}

// receive reads the answer to some call.
func (h *host) receive() {
	if line := h.read(); !bytes.Contains(line[:min(len(line), 64)], []byte(`"result"`)) {
		h.t.Fatalf("not an answer to a call: %.200s", line)
	}
}

func (h *host) write(line []byte) {
	if _, err := h.in.Write(line); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) read() []byte {
	for {
		line, err := h.r.ReadSlice('\n')
		if err != nil {
			h.t.Fatalf("the server ended: %v", err)
		}
		if !h.roots || !bytes.Contains(line, []byte(`"roots/list"`)) {
			return line
		}
		_, id, _ := bytes.Cut(line, []byte(`"id":`))
		id, _, _ = bytes.Cut(id, []byte(`,`))
		h.write([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"roots":[{"uri":"file:///"}]}}` + "\n"))
	}
}
