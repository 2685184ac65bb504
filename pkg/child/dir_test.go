package child

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// realDir is a temporary directory without links in its path.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSpawnCwd(t *testing.T) {
	top := realDir(t)
	dir, home, link := top+"/a b$c", top+"/home", top+"/link"
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(home, 0o700), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, dir string
		source    spawn.DirSource
		cwd, pwd  string
	}{
		{"a root", dir, spawn.DirFromScope, dir, dir},
		{"a configured directory", dir, spawn.DirFromConfig, dir, dir},
		{"a configured link keeps its name in PWD", link, spawn.DirFromConfig, dir, link},
		{"no directory is home", "", spawn.DirFromDaemon, home, home},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plan("report")
			p.Dir, p.DirSource = tt.dir, tt.source
			o := options(t)
			o.Home = home
			got := factsOf(t, p, o)
			if pwd := Value(got.Env, "PWD"); got.Cwd != tt.cwd || pwd != tt.pwd {
				t.Errorf("cwd %q, PWD %q, want %q, %q", got.Cwd, pwd, tt.cwd, tt.pwd)
			}
		})
	}
}

func TestSpawnCwdMissing(t *testing.T) {
	top := realDir(t)
	file, link := top+"/file", top+"/link"
	write(t, file, "")
	if err := os.Symlink(top, link); err != nil {
		t.Fatal(err)
	}
	const moved = "the session's directory was removed or moved after the session began"
	tests := []struct {
		name, dir string
		source    spawn.DirSource
		msg, hint string
	}{
		{"a root that vanished", top + "/gone", spawn.DirFromScope, "directory " + top + "/gone does not exist", moved},
		{"a configured one", top + "/gone", spawn.DirFromConfig, "directory " + top + "/gone does not exist", `create it, or change the server's "cwd"`},
		{"a file", file, spawn.DirFromScope, file + " is not a directory", moved},
		{"a root that became a link", link, spawn.DirFromScope, "directory " + link + ": now leads to " + top + ", and was not followed", moved},
		{"none at all", "", spawn.DirFromDaemon, "no directory is known to start in", "it is the home directory of the user who runs the daemon"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plan("report")
			p.Dir, p.DirSource = tt.dir, tt.source
			o := options(t)
			o.Home = ""
			_, err := Start(t.Context(), p, o)
			want := config.Problem{Server: "srv", Field: "cwd", Msg: tt.msg, Hint: tt.hint}
			if diff := cmp.Diff(error(want), err); diff != "" {
				t.Errorf("Start (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpawnCwdThatMayNotBeEntered(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may enter every directory")
	}
	dir := realDir(t) + "/shut"
	if err := os.Mkdir(dir, 0o600); err != nil {
		t.Fatal(err)
	}
	p := plan("report")
	p.Dir = dir
	_, err := Start(t.Context(), p, options(t))
	if got := err.(config.Problem); got.Field != "cwd" || got.Msg != "directory "+dir+": permission denied" {
		t.Errorf("Start: got %+v", got)
	}
}

// A link that takes the directory's place after the check has no effect.
func TestSpawnCwdSwappedAfterTheCheck(t *testing.T) {
	top := realDir(t)
	dir, other := top+"/dir", top+"/other"
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(other, 0o700)); err != nil {
		t.Fatal(err)
	}
	d, err := enter(spawn.Plan{Dir: dir, DirSource: spawn.DirFromScope}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if d.spawn == dir {
		t.Skip("this system starts a child by path only")
	}
	if err := errors.Join(os.Rename(dir, top+"/moved"), os.Symlink(other, dir)); err != nil {
		t.Fatal(err)
	}
	p := plan("report")
	c, err := launch(&exec.Cmd{
		Path: p.Command, Args: []string{p.Command}, Dir: d.spawn,
		Env: Environ(os.Environ(), p, nil, "", d.path, ""), SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, p.Server, nil, options(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop(t.Context())
	// The report tells that it runs; where it stands is the kernel's word.
	if _, err := c.Stdout().Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if got, _ := proc.Cwd(c.ID().PID); got != top+"/moved" {
		t.Errorf("cwd: got %q, want %q", got, top+"/moved")
	}
}

// Whatever the moment of the swap: refused, or the decided directory.
func TestSpawnCwdSwappedAllTheTime(t *testing.T) {
	top := realDir(t)
	dir, hold, other := top+"/dir", top+"/hold", top+"/other"
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(other, 0o700)); err != nil {
		t.Fatal(err)
	}
	decided, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = os.Rename(dir, hold), os.Symlink(other, dir)
				_, _ = os.Remove(dir), os.Rename(hold, dir)
			}
		}
	}()
	refused := 0
	for range 5000 {
		d, err := enter(spawn.Plan{Dir: dir, DirSource: spawn.DirFromScope}, "")
		if err != nil {
			refused++
			continue
		}
		if got, err := os.Stat(d.spawn); err != nil || !os.SameFile(got, decided) {
			t.Errorf("entered %v, %v, want the decided directory", got, err)
		}
		d.close()
	}
	close(stop)
	<-stopped
	t.Logf("%d of 5000 were refused", refused)
}
