package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/checks/rig"
)

// scoped is the rest of a server's entry: arguments and an mcpx block.
func scoped(scope, args string) string {
	return fmt.Sprintf(`"args": [%s], "mcpx": {"scope": %q}`, args, scope)
}

func TestRecordSpawnCwd(t *testing.T) { // §1, §3
	r := rig.New(t, mcpx, config(map[string]string{
		"tree":     scoped("worktree", ""),
		"repo":     scoped("repo", ""),
		"cwd":      scoped("cwd", ""),
		"global":   scoped("global", ""),
		"explicit": `"args": [], "cwd": "/", "mcpx": {"scope": "worktree"}`,
		"below":    `"args": [], "cwd": "sub", "mcpx": {"scope": "worktree"}`,
	}))
	main, linked := r.Checkouts()
	sub, outside := filepath.Join(main, "sub"), filepath.Join(r.Home, "outside")
	r.Write(filepath.Join(outside, "file"), "")
	tests := []struct {
		name, dir, server, wantCwd, wantRoot, wantSource, wantKey string
	}{
		{"a worktree server starts at the top of the caller's checkout", sub, "tree", main, main, "scope", "worktree:" + main},
		{"of the linked one for a caller there", linked, "tree", linked, linked, "scope", "worktree:" + linked},
		{"a repo server starts in the main worktree for a caller in the linked one", linked, "repo", main, main, "scope", "repo:" + main + "/.git"},
		{"a cwd server starts where the caller is", sub, "cwd", sub, sub, "scope", "cwd:" + sub},
		{"an explicit cwd wins over the root", main, "explicit", "/", main, "config", "worktree:" + main},
		{"a relative cwd is below the root", main, "below", sub, main, "config", "worktree:" + main},
		{"a global server starts in the daemon's directory, which is home", main, "global", r.Home, "", "daemon", "global"},
		{"outside git a worktree degrades to the caller's directory", outside, "tree", outside, outside, "scope", "cwd:" + outside},
		{"and so does a repo", outside, "repo", outside, outside, "scope", "cwd:" + outside},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := whoami(t, open(r, tt.dir, tt.server))
			if got.Cwd != tt.wantCwd {
				t.Errorf("cwd: got %s, want %s", got.Cwd, tt.wantCwd)
			}
			in := r.Instances(tt.server)
			i := slices.IndexFunc(in, func(i instance) bool { return i.PID == got.PID })
			if i < 0 {
				t.Fatalf("status has no instance with pid %d: %+v", got.PID, in)
			}
			have := []string{in[i].Cwd, in[i].Root, in[i].CwdSource, in[i].Key}
			if diff := cmp.Diff([]string{tt.wantCwd, tt.wantRoot, tt.wantSource, tt.wantKey}, have); diff != "" {
				t.Errorf("status: cwd, root, source, key (-want +got):\n%s", diff)
			}
			line := fmt.Sprintf("msg=spawned server=%s key=%s root=%s dir=%s dir_source=%s pid=%d", tt.server, tt.wantKey, tt.wantRoot, tt.wantCwd, tt.wantSource, got.PID)
			if tt.wantRoot == "" {
				line = strings.Replace(line, "root= ", `root="" `, 1)
			}
			if n := strings.Count(r.Log(), line); n != 1 { // §6
				t.Errorf("%d lines in the log say %q, want 1", n, line)
			}
		})
	}
	if n := strings.Count(r.Log(), `msg="degraded scope" server=tree key=cwd:`+outside); n != 1 {
		t.Errorf("the log tells the degraded scope %d times, want once", n)
	}
}

func TestRecordLinkedWorktreesShareARepoServer(t *testing.T) { // §1
	r := rig.New(t, mcpx, config(map[string]string{"repo": scoped("repo", ""), "tree": scoped("worktree", "")}))
	main, linked := r.Checkouts()
	if a, b := whoami(t, open(r, main, "repo")), whoami(t, open(r, linked, "repo")); a.PID != b.PID || a.Cwd != main {
		t.Errorf("repo: processes %d in %s and %d in %s, want one in %s", a.PID, a.Cwd, b.PID, b.Cwd, main)
	}
	if a, b := whoami(t, open(r, main, "tree")), whoami(t, open(r, linked, "tree")); a.PID == b.PID {
		t.Errorf("worktree: both checkouts are served by process %d", a.PID)
	}
}

func TestRecordInitializeTellsTheWorkspace(t *testing.T) { // §5
	r := rig.New(t, mcpx, config(map[string]string{
		"tree":    scoped("worktree", ""),
		"rooted":  `"args": [], "mcpx": {"scope": "worktree", "roots": false}`,
		"explain": `"args": [], "cwd": "/", "mcpx": {"scope": "worktree"}`,
	}))
	main, _ := r.Checkouts()
	uri := "file://" + main
	folders := []any{map[string]any{"uri": uri, "name": "main"}}
	for server, offers := range map[string]bool{"tree": true, "rooted": false, "explain": true} {
		got := whoami(t, open(r, main, server))
		var told struct {
			RootURI      string         `json:"rootUri"`
			Folders      []any          `json:"workspaceFolders"`
			Capabilities map[string]any `json:"capabilities"`
		}
		if err := json.Unmarshal(got.Initialize, &told); err != nil {
			t.Fatal(err)
		}
		capabilities, roots := map[string]any{"workspace": map[string]any{"workspaceFolders": true}}, "null"
		if offers {
			capabilities["roots"], roots = map[string]any{}, `{"roots":[{"uri":"`+uri+`","name":"main"}]}`
		}
		if diff := cmp.Diff([]any{uri, folders, capabilities}, []any{told.RootURI, told.Folders, told.Capabilities}); diff != "" {
			t.Errorf("%s: rootUri, workspaceFolders, capabilities (-want +got):\n%s", server, diff)
		}
		if string(got.Roots) != roots {
			t.Errorf("%s: roots/list: got %s, want %s", server, got.Roots, roots)
		}
	}
}

func TestRecordGlobalSendsNothing(t *testing.T) { // §5
	record := filepath.Join(t.TempDir(), "record")
	r := rig.New(t, mcpx, config(map[string]string{"global": fmt.Sprintf(`"args": ["-record", %q]`, record)}))
	main, _ := r.Checkouts()
	h := open(r, main, "global")
	h.Call("echo", nil)
	lines := recorded(t, record, `"method":"initialize"`)
	want := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcpx","version":%q}}}`, r.Status().Daemon.Version)
	if len(lines) != 1 || string(lines[0]) != want {
		t.Errorf("the handshake is %q, want %s", lines, want)
	}
	if sent := recorded(t, record, main); len(sent) > 0 {
		t.Errorf("a global server was sent the caller's directory: %q", sent)
	}
}

func TestRecordPlaceholdersAreSubstitutedAtSpawnOnly(t *testing.T) { // §4
	r := rig.New(t, mcpx, config(map[string]string{
		"tree": `"args": ["-name", "${mcpx.root}:${mcpx.cwd}", "${HOME}", "${env:X}", "$mcpx.root"],
			"env": {"ROOT": "${mcpx.root}/x", "OTHER": "${workspaceFolder}"}, "cwd": "${mcpx.root}/sub", "mcpx": {"scope": "worktree"}`,
	}))
	main, _ := r.Checkouts()
	sub := filepath.Join(main, "sub")
	h := open(r, sub, "tree")
	got := whoami(t, h)
	if diff := cmp.Diff([]string{"-name", main + ":" + sub, "${HOME}", "${env:X}", "$mcpx.root"}, got.Argv[1:]); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"ROOT": main + "/x", "OTHER": "${workspaceFolder}"} {
		if v := h.Call("env", map[string]string{"text": name}); v != want {
			t.Errorf("$%s: got %q, want %q", name, v, want)
		}
	}
	if got.Cwd != sub {
		t.Errorf("cwd: got %s, want %s", got.Cwd, sub)
	}
	printed := r.Mcpx("config")
	for _, kept := range []string{`"${mcpx.root}:${mcpx.cwd}"`, `"${mcpx.root}/sub"`} {
		if !strings.Contains(printed, kept) {
			t.Errorf("mcpx config does not show %s:\n%s", kept, printed)
		}
	}
}

func TestRecordPlaceholderErrorsNameServerAndField(t *testing.T) { // §4, §9
	r := rig.New(t, mcpx, config(map[string]string{
		"typo":   `"args": ["a", "${mcpx.rot}"], "mcpx": {"scope": "worktree"}`,
		"global": `"args": ["a", "${mcpx.root}"]`,
	}))
	out, err := r.Command("check").CombinedOutput()
	if err == nil {
		t.Error("mcpx check is content")
	}
	for _, want := range []string{`typo: args[1]: unknown placeholder ${mcpx.rot}`, "did you mean ${mcpx.root}?"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("mcpx check does not say %q:\n%s", want, out)
		}
	}
	e := refused(t, open(r, r.Home, "global"), "echo")
	if want := `server "global": args[1]: needs ${mcpx.root}, and scope "global" has none`; e.Message != want {
		t.Errorf("the call was answered %q, want %q", e.Message, want)
	}
	e = refused(t, open(r, r.Home, "typo"), "echo")
	if !strings.Contains(e.Message, `server "typo": args[1]: unknown placeholder`) {
		t.Errorf("the call was answered %q", e.Message)
	}
}

func TestRecordTwoRootsNeverShareAnEra(t *testing.T) { // §4
	r := rig.New(t, mcpx, config(map[string]string{"tree": scoped("worktree", ""), "global": scoped("global", "")}))
	main, linked := r.Checkouts()
	for _, dir := range []string{main, linked, filepath.Join(main, "sub")} {
		for _, server := range []string{"tree", "global"} {
			open(r, dir, server).Call("echo", nil)
		}
	}
	b, err := os.ReadFile(filepath.Join(r.Home, ".cache/mcpx/eras.json"))
	if err != nil {
		t.Fatal(err)
	}
	var eras struct {
		Data map[string]struct{ Definition, Era string }
	}
	if err := json.Unmarshal(b, &eras); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, e := range eras.Data {
		name, _, _ := strings.Cut(e.Definition, "@")
		got[name+" "+e.Era]++
	}
	if diff := cmp.Diff(map[string]int{"tree legacy": 2, "global legacy": 1}, got); diff != "" {
		t.Errorf("records of eras (-want +got):\n%s", diff)
	}
}

func TestRecordAVanishedRootFailsTheStart(t *testing.T) { // §9
	log := filepath.Join(t.TempDir(), "log")
	r := rig.New(t, mcpx, config(map[string]string{"cwd": scoped("cwd", fmt.Sprintf(`"-log", %q`, log))}))
	dir := filepath.Join(r.Home, "gone")
	r.Write(filepath.Join(dir, "file"), "")
	h := open(r, r.Home, "cwd", "--cwd", dir)
	h.Call("echo", nil)
	r.Mcpx("restart", "cwd")
	before := starts(t, log)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	e := refused(t, h, "echo")
	for _, want := range []string{`server "cwd"`, dir} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("the call was answered %q, which does not say %q", e.Message, want)
		}
	}
	// The start says so, or the session that looked again a second later.
	if !strings.Contains(e.Message, "does not exist") && !strings.Contains(e.Message, "is not there") {
		t.Errorf("the call was answered %q, which does not say what is wrong", e.Message)
	}
	if got := starts(t, log); got != before {
		t.Errorf("%d processes were started in another directory", got-before)
	}
}

func TestRecordARestartKeepsTheRoot(t *testing.T) { // §2
	r := rig.New(t, mcpx, config(map[string]string{"tree": scoped("worktree", `"-name", "${mcpx.cwd}"`)}))
	main, _ := r.Checkouts()
	first := whoami(t, open(r, filepath.Join(main, "sub"), "tree"))
	r.Mcpx("restart", "tree")
	second := whoami(t, open(r, main, "tree"))
	if first.PID == second.PID {
		t.Error("nothing was restarted")
	}
	if diff := cmp.Diff(first.Argv, second.Argv); diff != "" {
		t.Errorf("arguments before and after, the creator's directory among them:\n%s", diff)
	}
	if in := r.Instances("tree"); len(in) != 1 || in[0].Root != main || second.Cwd != main {
		t.Errorf("after the restart: %+v in %s, want the root %s", in, second.Cwd, main)
	}
}
