package upstream

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/wire"
	"github.com/google/go-cmp/cmp"
)

// serving reads from c beside the test and gives out the lines that are handed on.
func serving(t *testing.T, c *Conn) (lines <-chan string, end <-chan error) {
	t.Helper()
	out, done := make(chan string, 100), make(chan error, 1)
	go func() {
		done <- c.Serve(func(env *wire.Envelope) { out <- string(env.Line) })
		close(out)
	}()
	t.Cleanup(func() {
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		for range out {
		}
	})
	return out, done
}

func (s *server) mustDial(t *testing.T) *Conn {
	t.Helper()
	c, err := s.dial(t)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func call(id, tool, arguments string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + "}}\n")
}

// exchange sends one line and returns the next that is handed on.
func exchange(t *testing.T, c *Conn, lines <-chan string, line []byte) string {
	t.Helper()
	if err := c.Write(line); err != nil {
		t.Fatal(err)
	}
	return <-lines
}

func TestHandshakeBytes(t *testing.T) {
	const withoutRoot = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"mcpx","version":"1.2.3"}}}` + "\n"
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"mcpx","version":"1.2.3"}}`
	const probe = `{"jsonrpc":"2.0","id":"mcpx-probe","method":"server/discover","params":{`
	const members = `"rootUri":"file:///srv/my%20repo","workspaceFolders":[{"uri":"file:///srv/my%20repo","name":"my repo"}]`
	withRoot := func(roots string) string {
		return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
			`"capabilities":{` + roots + `"workspace":{"workspaceFolders":true}},"clientInfo":{"name":"mcpx","version":"1.2.3"},` + members + `}}` + "\n"
	}
	tests := []struct {
		name  string
		setup func(*server)
		want  string
	}{
		{"a global server's handshake is what it is without the feature", func(*server) {},
			probe + meta + "}}\n" + withoutRoot + initialized},
		{"a root is told as roots and as a workspace", func(s *server) { s.atRoot("/srv/my repo") },
			probe + members + "," + meta + "}}\n" + withRoot(`"roots":{},`) + initialized},
		{"roots can be withheld", func(s *server) { s.atRoot("/srv/my repo"); s.plan.Workspace.Roots = false },
			probe + members + "," + meta + "}}\n" + withRoot("") + initialized},
		{"a caller-owned server is told that roots may change", func(s *server) { s.options.Roots = oneRoot("/srv") },
			probe + meta + "}}\n" + strings.Replace(withoutRoot, `"capabilities":{}`, `"capabilities":{"roots":{"listChanged":true}}`, 1) + initialized},
		{"a root that must not be offered is not told", func(s *server) { s.plan.Root = "/home/me" },
			probe + meta + "}}\n" + withoutRoot + initialized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "fake")
			tt.setup(s)
			c := s.mustDial(t)
			if err := c.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(s.record)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHandshakeIsKeptAsSent(t *testing.T) {
	const result = `{"protocolVersion":"2025-06-18", "instructions":"a<b", "new":9007199254740993}`
	s := newServer(t, "script", "server/discover="+unknownMethod, `initialize={"jsonrpc":"2.0","id":$ID,"result":`+result+`}`)
	hs := s.mustDial(t).Handshake()
	want := Handshake{Era: Legacy, ProtocolVersion: "2025-06-18", Result: []byte(result), Initialize: []byte(result)}
	if diff := cmp.Diff(want, hs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestModernHandshakeIsPutIntoLegacyWords(t *testing.T) {
	root := t.TempDir()
	hs := newServer(t, "fake", "-modern-only", "-name", "fresh").atRoot(root).mustDial(t).Handshake()
	for _, part := range []string{`"protocolVersion":"2025-11-25"`, `"serverInfo":{"name":"fresh","version":"1"}`, `"tools":{"listChanged":true}`} {
		if !bytes.Contains(hs.Initialize, []byte(part)) {
			t.Errorf("%s is not in %s", part, hs.Initialize)
		}
	}
	if !bytes.Contains(hs.Meta.Workspace, []byte(`"rootUri":"file://`+root+`"`)) {
		t.Errorf("requests are told the workspace %s", hs.Meta.Workspace)
	}
}

func TestServeAnswersTheServer(t *testing.T) {
	root := t.TempDir()
	tests := []struct {
		name  string
		setup func(*server)
		want  string // in the text of the tool's answer
	}{
		{"roots/list with the instance's root", func(s *server) { s.atRoot(root) }, `file://` + root},
		{"roots/list with the session's roots", func(s *server) { s.options.Roots = oneRoot("/soft") }, `file:///soft`},
		{"roots/list that was not declared is refused", func(*server) {}, `error {`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "fake", "-reuse-ids")
			tt.setup(s)
			c := s.mustDial(t)
			lines, _ := serving(t, c)
			got := exchange(t, c, lines, call("1", "roots", "{}"))
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s in it", got, tt.want)
			}
			if tt.want == "error {" && !strings.Contains(got, "-32601") {
				t.Errorf("got %s, want error -32601 in it", got)
			}
		})
	}
}

func TestServeAnswersPing(t *testing.T) {
	s := newServer(t, "script", "server/discover="+unknownMethod, "initialize="+legacyAnswer,
		`poke={"jsonrpc":"2.0","id":"p","method":"ping"}`, `answer={"jsonrpc":"2.0","method":"notifications/answered"}`)
	c := s.mustDial(t)
	lines, _ := serving(t, c)
	if got := exchange(t, c, lines, []byte(`{"jsonrpc":"2.0","method":"poke"}`+"\n")); !strings.Contains(got, "notifications/answered") {
		t.Errorf("got %s", got)
	}
}

func TestDialAnswersAServerThatSpeaksFirst(t *testing.T) {
	s := newServer(t, "fake", "-early").atRoot(t.TempDir())
	c := s.mustDial(t)
	s.settle(t, c, "start server/discover initialize answer notifications/initialized")
}

func TestServeCountsNoise(t *testing.T) {
	s := newServer(t, "fake", "-garbage", "-banner")
	s.plan.Env["DEBUG_SECRET"] = "about to answer"
	c := s.mustDial(t)
	lines, _ := serving(t, c)
	if got := exchange(t, c, lines, call("1", "echo", `{"text":"hi"}`)); !strings.Contains(got, "hi") {
		t.Errorf("got %s", got)
	}
	if got := c.Noise(); got != 4 { // a banner, and one line before each answer
		t.Errorf("got %d lines of noise, want 4", got)
	}
	last := c.NoiseLines()
	if len(last) != 4 || !strings.HasPrefix(last[0], "fakemcp v1.0") || !strings.HasPrefix(last[3], "[debug] ••• ") {
		t.Errorf("kept %q", last)
	}
}

func TestServeAnswersForWhatCannotBePassedOn(t *testing.T) {
	s := newServer(t, "script", "server/discover="+unknownMethod, "initialize="+legacyAnswer,
		`broken={"jsonrpc":"2.0","id":$ID,"result":{},"result":{}}`)
	c := s.mustDial(t)
	lines, _ := serving(t, c)
	got := exchange(t, c, lines, []byte(`{"jsonrpc":"2.0","id":7,"method":"broken"}`+"\n"))
	const want = `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's answer is not valid: more than one \"result\"",` +
		`"data":{"mcpx":{"reason":"the server's answer is not valid: more than one \"result\"","server":"srv"}}}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Noise() != 1 {
		t.Errorf("got %d lines of noise, want 1", c.Noise())
	}
}

func TestServeAnswersForALineThatIsTooLong(t *testing.T) {
	c := newServer(t, "fake").mustDial(t)
	var got []string
	handle := func(env *wire.Envelope) { got = append(got, string(env.Bytes(env.ID))) }
	c.desk.TooLong(&stdio.TooLong{Head: []byte(`{"jsonrpc":"2.0","id":9,"result":{"x":"`), Tail: []byte(`"}}`), Size: 1 << 27}, handle)
	c.desk.TooLong(&stdio.TooLong{Head: []byte(`{"method":"notifications/x","params":{"x":"`), Tail: []byte(`"}}`), Size: 1 << 27}, handle)
	if diff := cmp.Diff([]string{"9"}, got); diff != "" {
		t.Errorf("answered ids (-want +got):\n%s", diff)
	}
}

func TestServeTellsHowTheServerDied(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		tool string
		want string
	}{
		{"a crash", nil, "die", `server "srv": exited: exit status 9; its last words: "fakemcp: told to die"`},
		{"a death in the middle of a line", []string{"-die-on-call", "-half-line"}, "echo", `server "srv": exited: exit status 9`},
		{"a closed stdout while the process lives", []string{"-close-stdout", "-ignore-eof"}, "echo", `server "srv": closed its stdout`},
		{"a grandchild that holds the pipes", []string{"-child", "-die-on-call"}, "echo", `server "srv": exited: exit status 9`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "fake", tt.args...)
			s.options.Child.Grace = 100 * time.Millisecond
			c := s.mustDial(t)
			_, end := serving(t, c)
			if c.Failure() != nil {
				t.Errorf("a server that runs has failed: %v", c.Failure())
			}
			_ = c.Write(call("1", tt.tool, "{}")) // one that closed its stdout may be stopped already
			asked := time.Now()
			err := <-end
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if c.Failure() != err {
				t.Errorf("Failure: got %v", c.Failure())
			}
			if took := time.Since(asked); took > 2*time.Second {
				t.Errorf("it took %v to notice", took)
			}
			<-c.Done()
			<-c.proc.Done() // also when the process had not ended by itself
		})
	}
}

func TestALateModernAnswerCountsForTheNextStart(t *testing.T) {
	late := strings.ReplaceAll(modernAnswer, "$ID", `"mcpx-probe"`)
	s := newServer(t, "script", "initialize="+legacyAnswer+"\n"+late+"\n"+`{"jsonrpc":"2.0","method":"notifications/x"}`)
	known := &eras{}
	s.options.SiblingLegacy, s.options.Eras = true, known
	c := s.mustDial(t)
	lines, _ := serving(t, c)
	if got := <-lines; !strings.Contains(got, "notifications/x") {
		t.Errorf("handed on: %s", got)
	}
	if v, _ := known.Era(s.plan.Identity()); v.Era != Modern {
		t.Errorf("got %+v, want a modern verdict", v)
	}
}

func TestStopIsToldApartFromACrash(t *testing.T) {
	c := newServer(t, "fake").mustDial(t)
	_, end := serving(t, c)
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, ok := errors.AsType[*Failure](<-end)
	if !ok || !f.Stopped || f.Error() != `server "srv": was stopped` {
		t.Errorf("got %v", f)
	}
}

func TestWriteToAServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	s := newServer(t, "fake", "-stop-reading")
	s.options.Child.Grace = 100 * time.Millisecond
	c := s.mustDial(t)
	line := append(bytes.Repeat([]byte("x"), stdio.MaxLine/2), '\n')
	var err error
	for range 4 {
		if err = c.Write(line); err != nil {
			break
		}
	}
	if !errors.Is(err, stdio.ErrFull) {
		t.Errorf("got %v, want %v", err, stdio.ErrFull)
	}
}

func TestRootsChanged(t *testing.T) {
	owned := newServer(t, "fake")
	owned.options.Roots = oneRoot("/a")
	c := owned.mustDial(t)
	c.RootsChanged()
	owned.settle(t, c, "start server/discover "+legacyStart+" notifications/roots/list_changed")

	modern := newServer(t, "fake", "-modern-only")
	modern.options.Roots = oneRoot("/a")
	c = modern.mustDial(t)
	c.RootsChanged()
	modern.settle(t, c, "start server/discover")

	shared := newServer(t, "fake").atRoot(t.TempDir())
	c = shared.mustDial(t)
	c.RootsChanged()
	shared.settle(t, c, "start server/discover "+legacyStart)
}
