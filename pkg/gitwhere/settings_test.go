package gitwhere

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/scope"
)

// handmade is a repository of the few files that make one, with this config.
func handmade(t *testing.T, config string) (top string) {
	t.Helper()
	top, err := canon.Path(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(top+"/.git/objects", 0o755),
		os.MkdirAll(top+"/.git/refs", 0o755),
		os.WriteFile(top+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644),
		os.WriteFile(top+"/.git/config", []byte(config), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// searching is the locator that Locate uses, with this in place of git.
func searching(vouch func(context.Context, string) (bool, error)) locator {
	return locator{euid: os.Geteuid(), stat: identify, vouch: vouch}
}

func TestSettingsVouchedForWithoutGit(t *testing.T) {
	const v1 = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\t"
	tests := []struct {
		name, config string
		bare         bool
	}{
		{"an ordinary config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n", false},
		{"an empty config", "", false},
		{"bare", "[core]\n\tbare = true\n", true},
		{"bare in other words", "[CORE]\r\n\tBare = \"yes\" ; said\r\n", true},
		{"bare as a number", "[core]\n\tbare = 1\n", true},
		{"bare without a value", "[core]\n\tbare\n", true},
		{"bare with an empty value", "[core]\n\tbare =\n", false},
		{"the last value wins", "[core]\n\tbare = true\n[user]\n\tname = x\n[core]\n\tbare = off\n", false},
		{"a subsection is another section", "[core \"x\"]\n\tbare = true\n", false},
		{"includes are not followed", "[include]\n\tpath = ../bare\n[includeIf \"gitdir:/\"]\n\tpath = ../bare\n", false},
		{"an extension unknown to format 0", "[extensions]\n\tfuture = true\n", false},
		{"noop", v1 + "noop = true\n", false},
		{"partialClone", v1 + "partialClone = origin\n", false},
		{"objectFormat", v1 + "objectFormat = sha256\n", false},
		{"worktreeConfig", v1 + "worktreeConfig = true\n", false},
		{"relativeWorktrees", v1 + "relativeWorktrees = true\n", false},
		{"preciousObjects", v1 + "preciousObjects = true\n", false},
		{"refStorage", v1 + "refStorage = reftable\n", false},
		{"compatObjectFormat", v1 + "compatObjectFormat = sha1\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := handmade(t, tt.config)
			l := searching(func(context.Context, string) (bool, error) {
				t.Error("git was asked")
				return false, errors.New("no")
			})
			want := scope.Git{CommonDir: top + "/.git", Worktree: top, MainWorktree: top}
			if tt.bare {
				want = scope.Git{CommonDir: top + "/.git", Problem: bareHere}
			}
			got, err := l.locate(t.Context(), top)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("locate: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestSettingsNotVouchedForArePutToGit(t *testing.T) {
	const v1 = "[core]\n\trepositoryformatversion = 1\n"
	for name, tt := range map[string]struct{ config, doubt string }{
		"an unknown extension":       {v1 + "[extensions]\n\tfuture = true\n", `extension "future" is not known`},
		"a later format":             {"[core]\n\trepositoryformatversion = 2\n", `repository format "2" is not known`},
		"a format that is no number": {"[core]\n\trepositoryformatversion = x\n", `repository format "x" is not known`},
		"a config we cannot read": {"[core]\n\tbare = false\n[branch.old]\n\tx = 1\n",
			`cannot read config:3:8: illegal character U+002E '.'`},
	} {
		t.Run(name, func(t *testing.T) {
			top := handmade(t, tt.config)
			whole := scope.Git{CommonDir: top + "/.git", Worktree: top, MainWorktree: top}
			bare := scope.Git{CommonDir: top + "/.git", Problem: bareHere}
			for answer, want := range map[bool]scope.Git{false: whole, true: bare} {
				l := searching(func(_ context.Context, gitDir string) (bool, error) {
					if gitDir != top+"/.git" {
						t.Errorf("git was asked about %q", gitDir)
					}
					return answer, nil
				})
				got, err := l.locate(t.Context(), top)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("git says bare %v: %v (-want +got):\n%s", answer, err, diff)
				}
			}
			l := searching(func(context.Context, string) (bool, error) { return false, errors.New("no git") })
			got, err := l.locate(t.Context(), top)
			if diff := cmp.Diff(scope.Git{}, got); diff != "" {
				t.Errorf("without git there must be no facts (-want +got):\n%s", diff)
			}
			if want := top + "/.git: " + tt.doubt + ": no git"; err == nil || err.Error() != want {
				t.Errorf("without git: got %v, want %s", err, want)
			}
		})
	}
}

func TestAskGit(t *testing.T) {
	w := newWorld(t)
	w.repo("plain")
	w.run("plain", "clone", "-q", "--bare", ".", w.in("bare.git"))
	w.write("hook", "#!/bin/sh\ntouch '%TOP%/ran'\n")
	if err := os.Chmod(w.in("hook"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor"} {
		w.run("plain", "config", key, w.in("hook"))
	}
	// None of these may reach the git that is asked.
	t.Setenv("GIT_DIR", w.in("bare.git"))
	t.Setenv("GIT_TRACE", w.in("trace"))
	t.Setenv("HOME", w.in("home"))
	for dir, want := range map[string]bool{"plain/.git": false, "bare.git": true} {
		if bare, err := askGit(t.Context(), w.in(dir)); bare != want || err != nil {
			t.Errorf("askGit(%q): got %v, %v; want %v", dir, bare, err, want)
		}
	}
	w.write("plain/.git/config", "[core]\n\trepositoryformatversion = 9\n")
	if _, err := askGit(t.Context(), w.in("plain/.git")); err == nil || !strings.Contains(err.Error(), "git says") {
		t.Errorf("askGit of a format it does not know: got %v", err)
	}
	for _, left := range []string{"ran", "trace"} {
		if _, err := os.Stat(w.in(left)); err == nil {
			t.Errorf("%s exists: something of the repository or of our environment took part", left)
		}
	}
	t.Setenv("PATH", "")
	if _, err := askGit(t.Context(), w.in("bare.git")); err == nil || err.Error() != "there is no git to ask" {
		t.Errorf("askGit without git: got %v", err)
	}
}

func TestSettingsOfAHostileSizeTakeNoTime(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < maxFile-32; i++ {
		b.WriteString("[a" + strings.Repeat("b", i%7) + string(rune('a'+i%26)) + "]\nx=1\n")
	}
	began := time.Now()
	top := handmade(t, b.String())
	if g := Locate(t.Context(), top, Options{}); g.Worktree != top {
		t.Errorf("Locate: got %+v", g)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("a config of 1 MiB took %v", took)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte("[core]\n\tbare = \"yes\" ; said\r\n\tworktree = a\\\n b\n"))
	f.Add([]byte("[extensions \"x\"]\n\ty\n[EXTENSIONS]\nz=\n[core]\nrepositoryformatversion=1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r rawSettings
		r.parse("config", data)
		if r.unknown != strings.ToLower(r.unknown) {
			t.Errorf("extension %q is not folded", r.unknown)
		}
	})
}
