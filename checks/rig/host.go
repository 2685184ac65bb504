package rig

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Wait bounds every wait of a Host for one message.
const Wait = 30 * time.Second

// Host is a host program with one MCP connection, driven line by line.
type Host struct {
	T     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	errs  *lockedBuffer
	Roots func() []string // directories, answered to roots/list; nil: not declared
	Name  string          // as it introduces itself; "" means rig
	Caps  []string        // other capabilities that it declares: requests that use them come as Notes

	mu      sync.Mutex
	next    int
	waiting map[string]chan Message
	Notes   chan Message // notifications, in order
	closed  chan struct{}
	once    sync.Once
}

// Message is one line of the server's, and its parts.
type Message struct {
	Line   []byte
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *RPCError       `json:"error"`
}

// RPCError is a JSON-RPC error.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Connect starts `mcpx connect` in dir, as a host would, but sends nothing yet.
func (r *Rig) Connect(dir string, args ...string) *Host {
	r.T.Helper()
	cmd := exec.Command(r.Bin, append([]string{"connect"}, args...)...)
	cmd.Env, cmd.Dir = r.Env, dir
	return Start(r.T, cmd)
}

// Start starts any stdio server as a host would.
func Start(t testing.TB, cmd *exec.Cmd) *Host {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{T: t, cmd: cmd, stdin: stdin, errs: &lockedBuffer{}, waiting: map[string]chan Message{}, Notes: make(chan Message, 4096), closed: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = w, h.errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go h.read(stdout)
	t.Cleanup(func() { h.Close() })
	return h
}

func (h *Host) read(stdout *os.File) {
	defer close(h.closed)
	defer stdout.Close()
	r := bufio.NewReaderSize(stdout, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue // the line that the next daemon ends a half-written one with
		}
		m := Message{Line: line}
		if err := json.Unmarshal(line, &m); err != nil {
			h.T.Errorf("the host got a line that is not JSON: %.200s", line)
			continue
		}
		switch {
		case m.Method == "roots/list" && len(m.ID) > 0:
			h.answerRoots(m)
		case m.Method != "":
			h.Notes <- m
		default:
			h.mu.Lock()
			ch := h.waiting[string(m.ID)]
			delete(h.waiting, string(m.ID))
			h.mu.Unlock()
			if ch != nil {
				ch <- m
			} else {
				h.Notes <- m // an answer nobody waits for is for the test to judge
			}
		}
	}
}

func (h *Host) answerRoots(m Message) {
	if h.Roots == nil {
		h.Send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"Method not found"}}`)
		return
	}
	var list []map[string]string
	for _, dir := range h.Roots() {
		list = append(list, map[string]string{"uri": "file://" + dir})
	}
	b, _ := json.Marshal(map[string]any{"roots": list})
	h.Send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + string(b) + `}`)
}

// Send writes one line.
func (h *Host) Send(line string) { h.Write(line + "\n") }

// Write writes any bytes, half a line perhaps.
func (h *Host) Write(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = io.WriteString(h.stdin, text) // a server that is gone shows as a missing answer
}

// Expect registers a raw id before its request is sent.
func (h *Host) Expect(id string) <-chan Message {
	ch := make(chan Message, 1)
	h.mu.Lock()
	h.waiting[id] = ch
	h.mu.Unlock()
	return ch
}

// Ask sends a request and waits for the answer.
func (h *Host) Ask(method string, params any) Message {
	h.T.Helper()
	p, err := json.Marshal(params)
	if err != nil {
		h.T.Fatal(err)
	}
	h.mu.Lock()
	h.next++
	id := strconv.Itoa(h.next)
	h.mu.Unlock()
	ch := h.Expect(id)
	h.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, p))
	return h.Await(ch, method)
}

// Await waits for an answer.
func (h *Host) Await(ch <-chan Message, what string) Message {
	h.T.Helper()
	select {
	case m := <-ch:
		return m
	case <-h.closed:
		select {
		case m := <-ch:
			return m
		default:
		}
		h.T.Fatalf("%s: the server ended; stderr: %s", what, h.Stderr())
	case <-time.After(Wait):
		h.T.Fatalf("%s: no answer within %v; stderr: %s", what, Wait, h.Stderr())
	}
	return Message{}
}

// Note waits for the next notification.
func (h *Host) Note(what string) Message {
	h.T.Helper()
	return h.Await(h.Notes, what)
}

// Open shakes hands and returns the result of initialize.
func (h *Host) Open() json.RawMessage {
	h.T.Helper()
	caps := map[string]any{}
	if h.Roots != nil {
		caps["roots"] = map[string]any{}
	}
	for _, name := range h.Caps {
		caps[name] = map[string]any{}
	}
	m := h.Ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": caps, "clientInfo": map[string]string{"name": cmp.Or(h.Name, "rig"), "version": "1"}})
	if m.Error != nil {
		h.T.Fatalf("initialize: %s", m.Line)
	}
	h.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m.Result
}

// Call calls a tool and returns the text of its first content, which must be there.
func (h *Host) Call(tool string, args any) string {
	h.T.Helper()
	m := h.Ask("tools/call", map[string]any{"name": tool, "arguments": args})
	if m.Error != nil {
		h.T.Fatalf("%s: %s", tool, m.Line)
	}
	return Text(m)
}

// Text is the text of an answer's contents, joined.
func Text(m Message) string {
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = json.Unmarshal(m.Result, &r)
	text := ""
	for _, c := range r.Content {
		text += c.Text
	}
	return text
}

// Ended is closed when the connect process has closed its stdout.
func (h *Host) Ended() <-chan struct{} { return h.closed }

// PID is the connect process.
func (h *Host) PID() int { return h.cmd.Process.Pid }

// Stderr is what it wrote there so far.
func (h *Host) Stderr() string { return h.errs.String() }

// EndInput closes the connection's stdin, as a polite host does.
func (h *Host) EndInput() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.stdin.Close()
}

// Close ends the host and returns the exit code of connect.
func (h *Host) Close() int {
	h.once.Do(func() {
		h.EndInput()
		select {
		case <-h.closed:
		case <-time.After(Wait):
			h.T.Errorf("connect did not end within %v after the end of its input", Wait)
			_ = h.cmd.Process.Kill()
		}
		_ = h.cmd.Wait()
	})
	return h.cmd.ProcessState.ExitCode()
}

// Kill ends connect as a crash would.
func (h *Host) Kill() { _ = h.cmd.Process.Kill() }

type lockedBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}
