package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ada is an account whose home is /home/ada, on a system that keeps private
// directories where private says.
func ada(private ...string) account {
	return account{
		uid:  1000,
		home: "/home/ada",
		real: func(dir string) string { return strings.Replace(dir, "/link/", "/home/", 1) },
		private: func(dir string) bool {
			for _, p := range private {
				if p == dir {
					return true
				}
			}
			return false
		},
		glob: func(string) []string {
			return []string{"/private/var/folders/aa/bob/T", "/private/var/folders/zz/ada/T"}
		},
	}
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func home(runtime string) Dirs {
	return Dirs{
		Home: "/home/ada", Config: "/home/ada/.config/mcpx", State: "/home/ada/.local/state/mcpx",
		Cache: "/home/ada/.cache/mcpx", Runtime: runtime,
	}
}

func TestFind(t *testing.T) {
	const run = "/run/user/1000"
	xdg := []string{"HOME", "/home/ada", "XDG_CONFIG_HOME", "/x/c", "XDG_STATE_HOME", "/x/s",
		"XDG_CACHE_HOME", "/x/k", "XDG_RUNTIME_DIR", "/x/r"}
	darwin := ada("/private/var/folders/zz/ada/T")
	darwin.darwin = true
	nobody := ada(run)
	nobody.home = ""
	other := Dirs{
		Home: "/tmp/h", Config: "/tmp/h/.config/mcpx", State: "/tmp/h/.local/state/mcpx",
		Cache: "/tmp/h/.cache/mcpx", Runtime: run + "/mcpx-1fc60e06",
	}
	tests := []struct {
		name    string
		account account
		o       Options
		want    Dirs
	}{
		{"sockets lie in the user's own runtime directory", ada(run),
			Options{Getenv: env("HOME", "/home/ada")}, home(run + "/mcpx")},
		{"without one of our own they lie in the state directory", ada(),
			Options{Getenv: env("HOME", "/home/ada")}, home("/home/ada/.local/state/mcpx")},
		{"XDG variables of a host change nothing", ada(run),
			Options{Getenv: env(xdg...)}, home(run + "/mcpx")},
		{"XDG variables of a service count", ada(run), Options{Getenv: env(xdg...), XDG: true},
			Dirs{Home: "/home/ada", Config: "/x/c/mcpx", State: "/x/s/mcpx", Cache: "/x/k/mcpx", Runtime: "/x/r/mcpx"}},
		{"MCPX_RUNTIME_DIR stands above what is on disk", ada(run),
			Options{Getenv: env("HOME", "/home/ada", "MCPX_RUNTIME_DIR", "/r/1")}, home("/r/1")},
		{"--runtime-dir stands above MCPX_RUNTIME_DIR", ada(run),
			Options{Getenv: env("HOME", "/home/ada", "MCPX_RUNTIME_DIR", "/r/1"), RuntimeDir: "/r/2"}, home("/r/2")},
		{"no HOME is the account's", ada(run), Options{Getenv: env()}, home(run + "/mcpx")},
		{"no environment at all is no HOME", ada(run), Options{}, home(run + "/mcpx")},
		{"a HOME through a link is the same home", ada(run),
			Options{Getenv: env("HOME", "/link/ada/")}, home(run + "/mcpx")},
		{"another HOME has sockets of its own", ada(run), Options{Getenv: env("HOME", "/tmp/h")}, other},
		{"an account without a home shares no name", nobody, Options{Getenv: env("HOME", "/tmp/h")}, other},
		{"on macOS it is the temporary directory that is ours", darwin,
			Options{Getenv: env("HOME", "/home/ada", "TMPDIR", "/tmp")}, home("/private/var/folders/zz/ada/T/mcpx")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.account.find(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("find (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindRefuses(t *testing.T) {
	nobody := ada()
	nobody.home = ""
	tests := []struct {
		name    string
		account account
		o       Options
		want    string
	}{
		{"a relative HOME", ada(), Options{Getenv: env("HOME", "ada")}, `HOME: "ada" is not an absolute path`},
		{"no HOME and no account", nobody, Options{},
			"HOME: is not set, and the account names no home directory"},
		{"a relative runtime directory", ada(), Options{RuntimeDir: "run"}, `--runtime-dir: "run" is not an absolute path`},
		{"a relative runtime variable", ada(), Options{Getenv: env("MCPX_RUNTIME_DIR", "run")},
			`MCPX_RUNTIME_DIR: "run" is not an absolute path`},
		{"a relative XDG variable that counts", ada(), Options{Getenv: env("XDG_STATE_HOME", "s"), XDG: true},
			`XDG_STATE_HOME: "s" is not an absolute path`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.account.find(tt.o)
			if err == nil || err.Error() != tt.want {
				t.Errorf("find: got %v, want %s", err, tt.want)
			}
			if h, is := err.(interface{ Hint() string }); !is || h.Hint() == "" {
				t.Errorf("find: %v has no hint", err)
			}
		})
	}
}

func TestOwnsOnlyAPrivateDirectory(t *testing.T) {
	a := system()
	dir := filepath.Join(t.TempDir(), "private")
	for _, err := range []error{
		os.Mkdir(dir, 0o700),
		os.Mkdir(dir+"/open", 0o700),
		os.Chmod(dir+"/open", 0o750),
		os.WriteFile(dir+"/file", nil, 0o600),
		os.Symlink(dir, dir+"/link"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !a.owns(dir) {
		t.Errorf("owns(%q): got false, want true", dir)
	}
	for _, tail := range []string{"/open", "/file", "/link", "/none"} {
		if a.owns(dir + tail) {
			t.Errorf("owns(%q): got true, want false", tail)
		}
	}
	a.uid++
	if a.owns(dir) {
		t.Error("owns: another user's directory counts as ours")
	}
}

func TestFindMakesNothing(t *testing.T) {
	home := t.TempDir()
	d, err := Find(Options{Getenv: env("HOME", home), RuntimeDir: home + "/run"})
	if err != nil {
		t.Fatal(err)
	}
	if d.Runtime != home+"/run" {
		t.Errorf("runtime: got %q", d.Runtime)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 {
		t.Errorf("home holds %v, %v; want nothing", left, err)
	}
}
