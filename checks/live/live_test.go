// Package live is the proof on real gopls: what it answers through mcpx is the
// caller's own checkout, wherever in it the caller stands (record 0004, slice 4).
package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
)

const module = "example.com/fixture"

var mcpx string

func TestMain(m *testing.M) {
	os.Exit(rig.Main(m, func(_ string, bins []string) error {
		mcpx = bins[0]
		return nil
	}, "github.com/dezren39/mcpx/cmd/mcpx"))
}

// fixture is a repository with a linked worktree beside it, a worktree nested
// inside it and a symlink to the linked one. Each checkout exports a function
// that only it has.
type fixture struct {
	main, feature, nested, link string
}

func newFixture(r *rig.Rig) fixture {
	f := fixture{
		main: filepath.Join(r.Home, "main"), feature: filepath.Join(r.Home, "feature"),
		nested: filepath.Join(r.Home, "main", ".wt", "nested"), link: filepath.Join(r.Home, "link"),
	}
	r.Write(filepath.Join(f.main, "go.mod"), "module "+module+"\n\ngo 1.24\n")
	r.Write(filepath.Join(f.main, "greet", "greet.go"), "package greet\n\nfunc Hello() string { return \"hello\" }\n")
	r.Write(filepath.Join(f.main, ".gitignore"), ".wt\n")
	r.Git(f.main, "init", "-q")
	r.Git(f.main, "add", ".")
	r.Git(f.main, "commit", "-qm", "start")
	r.Git(f.main, "worktree", "add", "-q", "-b", "feature", f.feature)
	r.Git(f.main, "worktree", "add", "-q", "-b", "nested", f.nested)
	for dir, name := range map[string]string{f.main: "OnlyOnMain", f.feature: "OnlyOnFeature", f.nested: "OnlyOnNested"} {
		r.Write(filepath.Join(dir, "fixture.go"), "package fixture\n\n// "+name+" is here alone.\nfunc "+name+"() {}\n")
	}
	if err := os.Symlink(f.feature, f.link); err != nil {
		r.T.Fatal(err)
	}
	return f
}

func newRig(t *testing.T) *rig.Rig {
	gopls, err := exec.LookPath("gopls")
	if err != nil {
		if os.Getenv("MCPX_LIVE_GOPLS") != "" { // whoever sets it wants the proof
			t.Fatal(err)
		}
		t.Skip("gopls is not on PATH (go install golang.org/x/tools/gopls@v0.23.0); .ci/run installs it and runs this")
	}
	goBin, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	r := rig.New(t, mcpx, fmt.Sprintf(`{
	  "mcpServers": {"gopls": {"command": %q, "args": ["mcp"], "mcpx": {"scope": "worktree"},
	    "env": {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOCACHE": %q, "GOTELEMETRY": "off"}}},
	  "daemon": {"path": [%q, "/usr/local/bin", "/usr/bin", "/bin"]}
	}`, gopls, goCache(t), filepath.Dir(goBin)))
	return r
}

func goCache(t *testing.T) string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func api(h *rig.Host) string {
	return h.Call("go_package_api", map[string]any{"packagePaths": []string{module}})
}

// only fails unless text has the checkout's own function and nobody else's. A
// failed answer of gopls is an empty success, so the text is what counts.
func only(t *testing.T, where, text, want string) {
	t.Helper()
	for _, name := range []string{"OnlyOnMain", "OnlyOnFeature", "OnlyOnNested"} {
		if has := strings.Contains(text, name); has != (name == want) {
			t.Errorf("from %s: go_package_api has %s: %v, want it to have %s alone:\n%s", where, name, has, want, text)
		}
	}
}

func TestGoplsAnswersForTheCallersCheckout(t *testing.T) {
	r := newRig(t)
	f := newFixture(r)
	places := []struct{ where, dir, want string }{
		{"the main checkout", f.main, "OnlyOnMain"},
		{"the linked worktree", f.feature, "OnlyOnFeature"},
		{"a subdirectory of the linked worktree", filepath.Join(f.feature, "greet"), "OnlyOnFeature"},
		{"a symlink to the linked worktree", f.link, "OnlyOnFeature"},
		{"a worktree nested inside the main checkout", f.nested, "OnlyOnNested"},
		{"a subdirectory of the main checkout", filepath.Join(f.main, "greet"), "OnlyOnMain"},
	}
	for _, p := range places {
		h := r.Connect(p.dir, "gopls")
		h.Open()
		began := time.Now()
		only(t, p.where, api(h), p.want)
		t.Logf("%s: %v", p.where, time.Since(began).Round(time.Millisecond))
	}
	if got := len(r.Instances("gopls")); got != 3 {
		t.Errorf("%d gopls processes for 3 checkouts", got)
	}

	warm := r.Connect(f.feature, "gopls")
	warm.Open()
	began := time.Now()
	only(t, "a second, warm caller", api(warm), "OnlyOnFeature")
	if took := time.Since(began); took > time.Second {
		t.Errorf("a warm caller waited %v, want under 1 s", took)
	}
}

func TestGoplsServesTwoCheckoutsAtOnce(t *testing.T) {
	r := newRig(t)
	f := newFixture(r)
	type answer struct{ where, text, want string }
	answers := make(chan answer, 8)
	var wg sync.WaitGroup
	for range 2 {
		for dir, want := range map[string]string{f.main: "OnlyOnMain", f.feature: "OnlyOnFeature"} {
			h := r.Connect(dir, "gopls")
			wg.Go(func() {
				h.Open()
				answers <- answer{dir, api(h), want}
			})
		}
	}
	wg.Wait()
	close(answers)
	for a := range answers {
		only(t, a.where, a.text, a.want)
	}
	if got := len(r.Instances("gopls")); got != 2 {
		t.Errorf("%d gopls processes for 2 checkouts and 4 callers", got)
	}
}

// TestGoplsShowsWhatWasWrittenAMomentAgo needs the roots that mcpx answers for
// a host that has none: without them a shared gopls never watches its files. It
// writes more than once, since gopls begins to watch a moment after its start and
// what is written before that is lost on it, whoever its host is.
func TestGoplsShowsWhatWasWrittenAMomentAgo(t *testing.T) {
	r := newRig(t)
	f := newFixture(r)
	h := r.Connect(f.feature, "gopls")
	h.Open()
	only(t, "the linked worktree", api(h), "OnlyOnFeature")
	for i := range 5 {
		name := fmt.Sprintf("JustWritten%d", i)
		r.Write(filepath.Join(f.feature, name+".go"), "package fixture\n\nfunc "+name+"() {}\n")
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
			if strings.Contains(api(h), name) {
				return
			}
		}
	}
	t.Fatal("five functions were written, each 5 s ago, and none is in the answer")
}
