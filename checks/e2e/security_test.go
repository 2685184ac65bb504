package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/checks/rig"
)

// touch is a server entry that leaves a file behind when it is ever started.
func touch(file string) string {
	return fmt.Sprintf(`{"command": "/bin/sh", "args": ["-c", "touch %s"]}`, file)
}

// absent fails when a planted program has run.
func absent(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Lstat(file); !os.IsNotExist(err) {
		t.Errorf("%s: %v: what was planted has run", file, err)
	}
}

func TestTheCallersVariablesChooseNoConfig(t *testing.T) { // threat T4
	r := rig.New(t, mcpx, config(map[string]string{"mine": `"args": []`}))
	planted, ran := filepath.Join(r.Home, "clone"), filepath.Join(r.Home, "ran")
	evil := `{"mcpServers": {"evil": ` + touch(ran) + `}}`
	for _, name := range []string{"x.json", "mcpx/config.json", ".mcpx.json"} {
		r.Write(filepath.Join(planted, name), evil)
	}
	caller := *r
	caller.Env = append(slices.Clone(r.Env),
		"MCPX_CONFIG="+filepath.Join(planted, "x.json"), "XDG_CONFIG_HOME="+planted, "XDG_STATE_HOME="+planted, "XDG_CACHE_HOME="+planted)
	if got := whoami(t, open(&caller, planted, "mine")); got.Cwd != r.Home {
		t.Errorf("the user's own server runs in %s, want %s", got.Cwd, r.Home)
	}
	if e := refused(t, open(&caller, planted, "evil"), "echo"); !strings.Contains(e.Message, "untrusted") {
		t.Errorf("the planted server was answered %q", e.Message)
	}
	absent(t, ran)
	if diff := cmp.Diff([]string{filepath.Join(r.Home, ".config/mcpx/config.json")}, r.Status().Daemon.Config); diff != "" {
		t.Errorf("files of the daemon's config (-want +got):\n%s", diff)
	}
}

func TestACloneSuppliesNoProgram(t *testing.T) { // threat T2
	r := rig.New(t, mcpx, `{"mcpServers": {"srv": {"command": "./srv", "mcpx": {"scope": "cwd"}}}}`)
	clone, ran := filepath.Join(r.Home, "clone"), filepath.Join(r.Home, "ran")
	r.Write(filepath.Join(clone, "srv"), "#!/bin/sh\ntouch "+ran+"\n")
	if err := os.Chmod(filepath.Join(clone, "srv"), 0o755); err != nil {
		t.Fatal(err)
	}
	e := refused(t, open(r, clone, "srv"), "echo")
	if want := filepath.Join(r.Home, ".config/mcpx/srv"); !strings.Contains(e.Message, want) {
		t.Errorf("the error is %q, which does not name %s", e.Message, want)
	}
	absent(t, ran)
}

func TestAnUntrustedFileChangesNothing(t *testing.T) { // threats T5, T6
	r := rig.New(t, mcpx, config(map[string]string{"mine": `"args": ["-name", "user"], "env": {"TOKEN": "canary"}`}))
	project, ran := filepath.Join(r.Home, "project"), filepath.Join(r.Home, "ran")
	file := filepath.Join(project, ".mcpx.json")
	fake := fmt.Sprintf(`{"command": %q, "args": ["-name", "project"]}`, fakemcp)
	r.Write(file, `{"mcpServers": {"mine": `+fake+`, "theirs": `+fake+`, "evil": `+touch(ran)+`}}`)

	mine, theirs := open(r, project, "mine"), open(r, project, "theirs")
	before := whoami(t, mine)
	if !slices.Contains(before.Argv, "user") {
		t.Errorf("an untrusted file replaced the user's server: it runs %q", before.Argv)
	}
	if m := theirs.Ask("tools/list", map[string]any{}); string(m.Result) != `{"tools":[]}` {
		t.Errorf("the list of an untrusted server: %s", m.Line)
	}
	if e := refused(t, theirs, "echo"); e.Code != -32602 || !strings.Contains(e.Message, "untrusted") {
		t.Errorf("a call of an untrusted server: %d %s", e.Code, e.Message)
	}

	out, err := r.Command("trust", "--yes", file).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "inside an agent's session") || !strings.Contains(string(out), "mcpx trust") {
		t.Errorf("trust from inside a session: %v\n%s", err, out)
	}
	if e := refused(t, theirs, "echo"); e.Code != -32602 {
		t.Errorf("after a refused trust: %d %s", e.Code, e.Message)
	}

	if out := r.Elsewhere("trust", "--yes", file); !strings.Contains(out, "trusted") {
		t.Errorf("trust by a person elsewhere: %s", out)
	}
	if m := theirs.Note("the trust's"); m.Method != "notifications/tools/list_changed" {
		t.Errorf("after the trust the host got %s", m.Line)
	}
	theirs.Call("echo", nil)
	after := whoami(t, mine)
	if after.PID == before.PID || !slices.Contains(after.Argv, "project") {
		t.Errorf("the trusted server runs as %q in process %d, the user's was %d", after.Argv, after.PID, before.PID)
	}
	if slices.Contains(after.Env, "TOKEN") {
		t.Error("the user's credential met the project's program")
	}

	r.Write(file, `{"mcpServers": {"theirs": `+touch(ran)+`}}`)
	r.Mcpx("reload")
	if e := refused(t, theirs, "echo"); e.Code != -32602 {
		t.Errorf("after the file was changed: %d %s", e.Code, e.Message)
	}
	absent(t, ran)
}

func TestTheFirstCallersEnvironmentReachesNoChild(t *testing.T) { // threat T26
	r := rig.New(t, mcpx, config(map[string]string{"one": `"args": [], "env": {"FROM_CONFIG": "1"}`}))
	names := func(extra ...string) []string {
		caller := *r
		caller.Env = append(slices.Clone(r.Env), extra...)
		return whoami(t, open(&caller, r.Home, "one")).Env
	}
	got := names("FIRST=a", "GIT_DIR=/nowhere", "NODE_OPTIONS=--require=/x", "MCPX_SESSION_ID=s")
	if diff := cmp.Diff(got, names("SECOND=b")); diff != "" {
		t.Errorf("the environment differs between callers:\n%s", diff)
	}
	for _, name := range []string{"FIRST", "SECOND", "GIT_DIR", "NODE_OPTIONS", "MCPX_SESSION_ID", "MCPX_RUNTIME_DIR"} {
		if slices.Contains(got, name) {
			t.Errorf("a child has %s, which is a caller's", name)
		}
	}
	for _, name := range []string{"HOME", "PATH", "FROM_CONFIG"} {
		if !slices.Contains(got, name) {
			t.Errorf("a child lacks %s", name)
		}
	}
}

func TestHomeIsNeverOffered(t *testing.T) { // threat T24
	r := rig.New(t, mcpx, config(map[string]string{"cwd": scoped("cwd", "")}))
	for _, dir := range []string{r.Home, "/"} {
		got := whoami(t, open(r, r.Home, "cwd", "--cwd", dir))
		if got.Cwd != dir || string(got.Roots) != "null" || strings.Contains(string(got.Initialize), "file://") {
			t.Errorf("in %s a server runs in %s and is told %s, %s", dir, got.Cwd, got.Roots, got.Initialize)
		}
	}
}

func TestControlIsNotOnTheAttachSocket(t *testing.T) { // design D11, threat T10
	log := filepath.Join(t.TempDir(), "log")
	r := rig.New(t, mcpx, config(map[string]string{"one": fmt.Sprintf(`"args": ["-log", %q]`, log)}))
	open(r, r.Home, "one")
	routes := []string{"GET /v1/status", "GET /v1/config", "GET /v1/logs", "POST /v1/trust", "POST /v1/untrust", "POST /v1/reload", "POST /v1/restart", "POST /v1/stop",
		"GET /v1/auth", "GET /v1/auth/one", "POST /v1/auth/one/login", "POST /v1/auth/one/logout", "POST /v1/auth/logout"}
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		if code, _ := r.Post("attach", method, path, "{}"); code != http.StatusNotFound {
			t.Errorf("%s on the attach socket: got %d, want 404", route, code)
		}
		if method == "GET" {
			continue
		}
		for _, member := range []string{`"command":"sh"`, `"args":["x"]`, `"env":{"A":"b"}`, `"url":"http://x"`, `"config":"/x"`} {
			if code, body := r.Post("control", method, path, "{"+member+"}"); code != http.StatusBadRequest || !strings.Contains(body, "unknown member") {
				t.Errorf("%s with %s: got %d %s, want 400", route, member, code, body)
			}
		}
	}
	if code, _ := r.Post("control", "POST", "/v1/session", "{}"); code != http.StatusNotFound {
		t.Errorf("a session on the control socket: got %d, want 404", code)
	}
	if got := starts(t, log); got != 0 {
		t.Errorf("%d processes were started", got)
	}
}

func TestSecretsAreShownNowhere(t *testing.T) { // design §6, threat T28
	dir := t.TempDir()
	for _, name := range []string{"file", "command"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("canary-"+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secrets := fmt.Sprintf(`"env": {"PLAIN": "canary-env"}, "mcpx": {"scope": "worktree", "secrets": {"TOKEN": {"file": %q}, "OTHER": {"command": ["cat", %q]}}}`,
		filepath.Join(dir, "file"), filepath.Join(dir, "command"))
	r := rig.New(t, mcpx, config(map[string]string{
		"good":   `"args": ["-stderr-each", "1", "-dirs", "--api-key=canary-arg"], ` + secrets,
		"broken": `"args": ["-crash-start"], ` + secrets,
		"unfit":  `"args": ["${mcpx.rot}"], ` + secrets,
	}))
	main, _ := r.Checkouts()
	h := open(r, main, "good")
	for name, want := range map[string]string{"PLAIN": "canary-env", "TOKEN": "canary-file", "OTHER": "canary-command"} {
		if got := h.Call("env", map[string]string{"text": name}); got != want {
			t.Errorf("the server reads %s=%q, want %q", name, got, want)
		}
	}
	shown := map[string]string{}
	for _, server := range []string{"broken", "unfit"} {
		e := refused(t, open(r, main, server), "echo")
		shown["the error of "+server] = e.Message + string(e.Data)
	}
	for _, args := range [][]string{
		{"status"}, {"status", "--json"}, {"config"}, {"config", "--sources"}, {"check"}, {"logs", "good"},
		{"explain", "good", "--cwd", main}, {"explain", "good", "--cwd", main, "--json"}, {"explain", "--all"}, {"reload"},
	} {
		out, _ := r.Command(args...).CombinedOutput() // some of these have problems to tell, which is what they are asked for
		shown["mcpx "+strings.Join(args, " ")] = string(out)
	}
	_, shown["GET /v1/config"] = r.Post("control", "GET", "/v1/config", "")
	shown["daemon.log"] = r.Log()
	for what, text := range shown {
		if text == "" {
			t.Errorf("%s shows nothing at all", what)
		}
		if i := strings.Index(text, "canary"); i >= 0 {
			t.Errorf("%s shows a secret: …%.60q…", what, text[max(0, i-20):])
		}
	}
}

func TestPoisonComesOutEscaped(t *testing.T) { // threat T27
	const poison = `\033]52;c;cHduZWQ=\007\033[2J\302\2331m\342\200\256evil\r`
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"srv": {"command": "/bin/sh", "args": ["-c", "printf '%s\\n' >&2; exit 3"]}}}`, strings.ReplaceAll(poison, `\`, `\\`)))
	e := refused(t, open(r, r.Home, "srv"), "echo")
	if !strings.Contains(e.Message, "evil") {
		t.Errorf("the server's last words are missing: %q", e.Message)
	}
	shown := map[string]string{"daemon.log": r.Log()}
	for _, args := range [][]string{{"status"}, {"logs", "srv"}, {"logs"}} {
		out, err := r.Command(args...).CombinedOutput()
		if err != nil {
			t.Errorf("mcpx %v: %v\n%s", args, err, out)
		}
		shown["mcpx "+strings.Join(args, " ")] = string(out)
	}
	h := r.Connect(r.Home, "no\x1b]52;c;eA==\asuch\u202e")
	h.Ask("initialize", map[string]any{"protocolVersion": "2025-06-18"})
	h.Close()
	shown["connect"] = h.Stderr()
	for what, text := range shown {
		if text == "" {
			t.Errorf("%s shows nothing at all", what)
		}
		if i := strings.IndexAny(text, "\x1b\a\r\u009b\u202e"); i >= 0 {
			t.Errorf("%s passes control characters on: %.60q", what, text[max(0, i-20):])
		}
	}
}
