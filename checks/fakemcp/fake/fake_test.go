package fake

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	if os.Getenv("FAKE_TEST_SERVER") != "" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// peer is a client of a server in a process of its own.
type peer struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, args ...string) *peer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, cmd: exec.Command(self, args...)}
	p.cmd.Env = append(os.Environ(), "FAKE_TEST_SERVER=1", "GORACE=atexit_sleep_ms=0")
	p.in, err = p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = p.cmd.Wait()
	})
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) read() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("read %q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) ask(line string) string {
	p.t.Helper()
	p.send(line)
	return p.read()
}

// call is the text that a tool answers.
func (p *peer) call(name, arguments string) string {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`)
	return textOf(p.t, p.read())
}

func textOf(t *testing.T, line string) string {
	t.Helper()
	var m struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Content) == 0 {
		t.Fatalf("no text in %s", line)
	}
	return m.Result.Content[0].Text
}

const (
	hello     = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`
	withRoots = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}}}}`
	extended  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"workspace":{}},"rootUri":"file:///x"}}`
)

func TestHandshakes(t *testing.T) {
	welcome := func(version string) string {
		return `{"id":0,"jsonrpc":"2.0","result":{"capabilities":{"logging":{},"tools":{"listChanged":true}},"protocolVersion":"` + version + `","serverInfo":{"name":"fakemcp","version":"1"}}}`
	}
	refusal := func(members string) string {
		return `{"error":{"code":-32602,"message":"Invalid params: unknown members ` + members + `"},"id":0,"jsonrpc":"2.0"}`
	}
	tests := []struct {
		name string
		args []string
		line string
		want string
	}{
		{"a good server answers the version it is asked for", nil, hello, welcome("2025-06-18")},
		{"and takes members it does not know", nil, extended, welcome("2025-06-18")},
		{"a strict one does not", []string{"-strict-initialize"}, extended, refusal("rootUri, workspace")},
		{"but takes a plain handshake", []string{"-strict-initialize"}, withRoots, welcome("2025-06-18")},
		{"one may be strict in capabilities alone", []string{"-strict-capabilities"}, extended, refusal("workspace")},
		{"another version", []string{"-protocol", "2099-01-01"}, hello, welcome("2099-01-01")},
		{"a modern server refuses", []string{"-modern-only"}, hello, `{"error":{"code":-32601,"message":"Method not found"},"id":0,"jsonrpc":"2.0"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, start(t, tt.args...).ask(tt.line)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, []byte(`[{"name":"a","x":1.50},{"name":"b"},{"name":"c"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "-page-size", "2", "-tools", file)
	want := `{"id":1,"jsonrpc":"2.0","result":{"nextCursor":"2","tools":[{"name":"a","x":1.50},{"name":"b"}]}}`
	if diff := cmp.Diff(want, p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); diff != "" {
		t.Errorf("first page (-want +got):\n%s", diff)
	}
	want = `{"id":2,"jsonrpc":"2.0","result":{"tools":[{"name":"c"}]}}`
	if diff := cmp.Diff(want, p.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2"}}`)); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
}

func TestRecordIsByteForByte(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record")
	p := start(t, "-record", file)
	lines := `{ "id" : 1.0,"method":"ping" }` + "\r\n" + "not json\n" + `{"id":2,"method":"ping"}`
	p.ask(lines)
	p.read()
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines+"\n", string(got)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestRootsReplaceDirectories(t *testing.T) {
	p := start(t, "-dirs", "/x", "-roots-replace", "/y")
	p.ask(withRoots)
	if got := p.call("dirs", "{}"); got != `["/x","/y"]` {
		t.Errorf("dirs: got %s", got)
	}
	question := p.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if want := `{"id":7001,"jsonrpc":"2.0","method":"roots/list"}`; question != want {
		t.Fatalf("asked %s, want %s", question, want)
	}
	log := `{"jsonrpc":"2.0","id":7001,"result":{"roots":[{"uri":"file:///a%20b"}]}}`
	p.send(log)
	// The answer is taken on another goroutine: the next question follows it.
	for range 100 {
		if p.call("dirs", "{}") == `["/a b"]` {
			return
		}
	}
	t.Errorf("dirs: got %s", p.call("dirs", "{}"))
}

func TestOneServerHoldsTheLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	start(t, "-lockfile", file).ask(hello)
	second := start(t, "-lockfile", file)
	_, _ = io.Copy(io.Discard, second.out)
	_ = second.cmd.Wait()
	if code := second.cmd.ProcessState.ExitCode(); code != 5 {
		t.Errorf("exit status %d, want 5", code)
	}
}

func TestStateIsTheProcesss(t *testing.T) {
	p, other := start(t, "-stateful"), start(t, "-stateful")
	p.call("set", `{"key":"k","value":"v"}`)
	if got := p.call("get", `{"key":"k"}`); got != "v" {
		t.Errorf("get: got %q", got)
	}
	if got := other.call("get", `{"key":"k"}`); got != "" {
		t.Errorf("get in another process: got %q", got)
	}
}

func TestProgressComesLate(t *testing.T) {
	p := start(t, "-progress-late")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":7}}}`)
	got := []string{p.read(), p.read(), p.read()}
	want := []string{
		`{"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"","type":"text"}]}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"late","progress":99,"progressToken":7,"total":99}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"invented","progress":1,"progressToken":"invented","total":1}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestWhoami(t *testing.T) {
	t.Setenv("MARK_OF_THE_TEST", "")
	p := start(t, "-name", "me")
	p.ask(hello)
	var got struct {
		PID        int
		Cwd        string
		Argv, Env  []string
		Roots      json.RawMessage
		Initialize json.RawMessage
	}
	if err := json.Unmarshal([]byte(p.call("whoami", "{}")), &got); err != nil {
		t.Fatal(err)
	}
	cwd, _ := os.Getwd()
	if got.PID != p.cmd.Process.Pid || got.Cwd != cwd || len(got.Argv) != 3 || string(got.Roots) != "null" {
		t.Errorf("whoami: got %+v", got)
	}
	if want := `{"protocolVersion":"2025-06-18","capabilities":{}}`; string(got.Initialize) != want {
		t.Errorf("initialize: got %s, want %s", got.Initialize, want)
	}
	if !strings.Contains(strings.Join(got.Env, " "), "MARK_OF_THE_TEST") {
		t.Errorf("env: got %q", got.Env)
	}
}
