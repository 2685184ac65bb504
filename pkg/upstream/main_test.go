package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/fakemcp/fake"
	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// TestMain makes the test binary the servers of its own tests.
func TestMain(m *testing.M) {
	switch os.Getenv("UPSTREAM_TEST_SERVER") {
	case "fake":
		os.Exit(fake.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	case "script":
		os.Exit(runScript(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// runScript is a server that does what its arguments say, each
// "[N:]METHOD[+workspace]=REPLY": N is the process it holds for, counted in the
// file named by the first argument, "+workspace" asks for the members of record
// 0004 §5. REPLY is a line in which $ID stands for the id, "exit", "deaf" (it
// closes its stdin and lives on), or nothing.
func runScript(args []string) int {
	f, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 2
	}
	defer f.Close()
	before, _ := os.ReadFile(args[0])
	n := bytes.Count(before, []byte("start\n")) + 1
	fmt.Fprintln(f, "start")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params map[string]json.RawMessage
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		if m.Method == "" {
			m.Method = "answer"
		}
		fmt.Fprintln(f, m.Method)
		reply := pick(args[1:], n, m.Method, m.Params["rootUri"] != nil)
		switch {
		case reply == "exit":
			return 4
		case reply == "deaf":
			_ = os.Stdin.Close()
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/deaf"}`)
			time.Sleep(time.Minute)
		case reply != "":
			fmt.Println(strings.ReplaceAll(reply, "$ID", string(m.ID)))
		}
	}
	return 0
}

func pick(rules []string, n int, method string, workspace bool) string {
	for _, rule := range rules {
		when, reply, _ := strings.Cut(rule, "=")
		if strings.HasPrefix(when, fmt.Sprintf("%d:", n)) {
			when = when[2:]
		}
		if when == method || workspace && when == method+"+workspace" {
			return reply
		}
	}
	return ""
}

// server is one test's server and what it leaves to look at.
type server struct {
	plan    spawn.Plan
	log     string // of fakemcp, or of a script
	record  string // every byte that fakemcp read
	options Options
}

func newServer(t *testing.T, kind string, args ...string) *server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &server{log: filepath.Join(dir, "log"), record: filepath.Join(dir, "record")}
	if kind == "fake" {
		args = append([]string{"-log", s.log, "-record", s.record}, args...)
	} else {
		args = append([]string{s.log}, args...)
	}
	s.plan = spawn.Plan{
		Server:  "srv",
		Key:     "global",
		Command: self,
		Args:    args,
		// A race detector would let each child sleep a second before it exits.
		Env:       map[string]string{"UPSTREAM_TEST_SERVER": kind, "GORACE": "atexit_sleep_ms=0"},
		Dir:       dir,
		DirSource: spawn.DirFromConfig,
		Workspace: spawn.Workspace{Roots: true},
	}
	s.options = Options{Child: child.Options{Home: dir, Grace: 2 * time.Second}, Version: "1.2.3"}
	return s
}

// atRoot gives the server a workspace.
func (s *server) atRoot(root string) *server {
	s.plan.Root = root
	s.plan.Workspace.Root = root
	return s
}

func (s *server) dial(t *testing.T) (*Conn, error) {
	t.Helper()
	c, err := Dial(t.Context(), s.plan, s.options)
	if err == nil {
		t.Cleanup(func() {
			if err := c.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return c, err
}

// saw is what the server's processes started with and were asked, in order.
func (s *server) saw(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	if s.plan.Env["UPSTREAM_TEST_SERVER"] == "script" {
		return strings.Join(strings.Fields(string(data)), " ")
	}
	var words []string
	for line := range strings.Lines(string(data)) {
		var event struct {
			Kind string
			V    json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		var m struct{ Method string }
		switch {
		case event.Kind == "start":
			words = append(words, "start")
		case event.Kind == "in" && json.Unmarshal(event.V, &m) == nil && m.Method != "":
			words = append(words, m.Method)
		case event.Kind == "in":
			words = append(words, "answer")
		}
	}
	return strings.Join(words, " ")
}

// eras is an Eras in memory.
type eras struct {
	mu sync.Mutex
	m  map[spawn.Identity]Verdict
}

func (e *eras) Era(id spawn.Identity) (Verdict, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, ok := e.m[id]
	return v, ok
}

func (e *eras) SetEra(id spawn.Identity, v Verdict) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.m == nil {
		e.m = map[spawn.Identity]Verdict{}
	}
	e.m[id] = v
}

func oneRoot(path string) func() []roots.Root {
	return func() []roots.Root { return []roots.Root{{URI: roots.URI(path), Name: "soft", Path: path}} }
}
