package scope

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	inMain = CallContext{
		Cwd: "/src/app/api", CallID: "7", Session: "s1", Parent: "p1", PID: 42, PIDStart: 1000,
		Git: Git{CommonDir: "/src/app/.git", Worktree: "/src/app", MainWorktree: "/src/app"},
	}
	inLinked = CallContext{
		Cwd: "/src/feature", CallID: "8",
		Git: Git{CommonDir: "/src/app/.git", Worktree: "/src/feature", MainWorktree: "/src/app"},
	}
	inSubmodule = CallContext{
		Cwd: "/src/app/lib", CallID: "9",
		Git: Git{CommonDir: "/src/app/.git/modules/lib", Worktree: "/src/app/lib", MainWorktree: "/src/app/lib"},
	}
	inContainer = CallContext{
		Cwd: "/src/c", CallID: "10",
		Git: Git{CommonDir: "/src/c/.bare", Problem: "bare repository: no worktree here"},
	}
	forged = CallContext{
		Cwd: "/evil/deep", CallID: "11",
		Git: Git{CommonDir: "/evil/.git", Worktree: "/evil", Unconfirmed: true},
	}
	moved = CallContext{
		Cwd: "/src/moved", CallID: "12",
		Git: Git{CommonDir: "/src/moved/.git", Worktree: "/src/moved", Unconfirmed: true, Problem: "git worktree repair"},
	}
	outside  = CallContext{Cwd: "/tmp", CallID: "13"}
	broken   = CallContext{Cwd: "/src/b", CallID: "14", Git: Git{Problem: "/src/b/.git: empty"}}
	homeless = CallContext{CallID: "15", Git: inMain.Git}
)

func TestResolve(t *testing.T) {
	tests := []struct {
		name  string
		scope Scope
		cc    CallContext
		want  ResolvedScope
	}{
		{"global is one process without a root", Global, inMain, ResolvedScope{Key: "global"}},
		{"no scope is global", "", inMain, ResolvedScope{Key: "global"}},

		{"a repo has its main worktree as root", Repo, inMain,
			ResolvedScope{Key: "repo:/src/app/.git", Root: "/src/app"}},
		{"linked worktrees share a repo and its root", Repo, inLinked,
			ResolvedScope{Key: "repo:/src/app/.git", Root: "/src/app"}},
		{"a submodule is its own repo", Repo, inSubmodule,
			ResolvedScope{Key: "repo:/src/app/.git/modules/lib", Root: "/src/app/lib"}},
		{"a bare repo has a key and no root", Repo, inContainer,
			ResolvedScope{Key: "repo:/src/c/.bare", Degraded: "no main worktree"}},
		{"an unconfirmed link is its own repo", Repo, forged,
			ResolvedScope{Key: "repo:/evil/.git", Root: "/evil", Degraded: "link not confirmed"}},
		{"an unconfirmed link says what mends it", Repo, moved,
			ResolvedScope{Key: "repo:/src/moved/.git", Root: "/src/moved", Degraded: "link not confirmed: git worktree repair"}},
		{"outside git a repo degrades to cwd", Repo, outside,
			ResolvedScope{Key: "cwd:/tmp", Root: "/tmp", Degraded: "not in a git repository"}},
		{"a broken repo degrades to cwd with the reason", Repo, broken,
			ResolvedScope{Key: "cwd:/src/b", Root: "/src/b", Degraded: "/src/b/.git: empty"}},
		{"a repo without a directory degrades to call", Repo, homeless,
			ResolvedScope{Key: "call:15", Degraded: "no working directory"}},

		{"a worktree is its top level", Worktree, inMain,
			ResolvedScope{Key: "worktree:/src/app", Root: "/src/app"}},
		{"a linked worktree has its own key", Worktree, inLinked,
			ResolvedScope{Key: "worktree:/src/feature", Root: "/src/feature"}},
		{"a submodule is its own worktree", Worktree, inSubmodule,
			ResolvedScope{Key: "worktree:/src/app/lib", Root: "/src/app/lib"}},
		{"no pointer moves a worktree", Worktree, forged,
			ResolvedScope{Key: "worktree:/evil", Root: "/evil"}},
		{"a bare container degrades to cwd with the reason", Worktree, inContainer,
			ResolvedScope{Key: "cwd:/src/c", Root: "/src/c", Degraded: "bare repository: no worktree here"}},
		{"outside git a worktree degrades to cwd", Worktree, outside,
			ResolvedScope{Key: "cwd:/tmp", Root: "/tmp", Degraded: "not in a git repository"}},
		{"a worktree without a directory degrades to call", Worktree, homeless,
			ResolvedScope{Key: "call:15", Degraded: "no working directory"}},

		{"cwd is the directory itself", Cwd, inMain, ResolvedScope{Key: "cwd:/src/app/api", Root: "/src/app/api"}},
		{"cwd without a directory degrades to call", Cwd, homeless,
			ResolvedScope{Key: "call:15", Degraded: "no working directory"}},

		{"a session has no root", Session, inMain, ResolvedScope{Key: "session:s1"}},
		{"no session id degrades to call", Session, outside, ResolvedScope{Key: "call:13", Degraded: "no session id"}},
		{"a parent session has no root", PSession, inMain, ResolvedScope{Key: "psession:p1"}},
		{"no parent degrades to the session", PSession, CallContext{Session: "s2", CallID: "1"},
			ResolvedScope{Key: "session:s2", Degraded: "no parent session"}},
		{"neither parent nor session degrades to call", PSession, outside,
			ResolvedScope{Key: "call:13", Degraded: "no parent session: no session id"}},
		{"a host process is its pid and start", PID, inMain, ResolvedScope{Key: "pid:42.1000"}},
		{"no host process degrades to call", PID, outside, ResolvedScope{Key: "call:13", Degraded: "no host process"}},
		{"a call is minted", Call, inMain, ResolvedScope{Key: "call:7"}},
		{"an unknown scope is never wider than one call", "wide", inMain,
			ResolvedScope{Key: "call:7", Degraded: `unknown scope "wide"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.scope.Resolve(tt.cc)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s.Resolve(%+v) (-want +got):\n%s", tt.scope, tt.cc, diff)
			}
			if key := tt.scope.Key(tt.cc); key != got.Key {
				t.Errorf("%s.Key: got %q, want %q", tt.scope, key, got.Key)
			}
		})
	}
}

func TestResolveRootIsAFunctionOfTheKey(t *testing.T) {
	roots := map[string]string{}
	for _, s := range []Scope{Repo, Worktree, Cwd} {
		for _, cc := range []CallContext{inMain, inLinked, inSubmodule, inContainer, forged, moved, outside, broken} {
			rs := s.Resolve(cc)
			if root, seen := roots[rs.Key]; seen && root != rs.Root {
				t.Errorf("%s: key %q has roots %q and %q", s, rs.Key, root, rs.Root)
			}
			roots[rs.Key] = rs.Root
		}
	}
}

func TestNeedsGit(t *testing.T) {
	var got []Scope
	for _, s := range []Scope{Global, Repo, Worktree, Cwd, Session, PSession, PID, Call} {
		if s.NeedsGit() {
			got = append(got, s)
		}
	}
	if diff := cmp.Diff([]Scope{Repo, Worktree}, got); diff != "" {
		t.Errorf("scopes that need git (-want +got):\n%s", diff)
	}
}

func TestPerCall(t *testing.T) {
	for key, want := range map[string]bool{"call:1": true, "call:": true, "call": false, "session:call:1": false, "": false} {
		if got := PerCall(key); got != want {
			t.Errorf("PerCall(%q): got %v, want %v", key, got, want)
		}
	}
}

func TestCallerOwned(t *testing.T) {
	for key, want := range map[string]bool{
		"session:s": true, "psession:p": true, "pid:1.2": true, "call:1": true,
		"global": false, "repo:/r/.git": false, "worktree:/r": false, "cwd:/r": false, "": false, "call": false,
	} {
		if got := CallerOwned(key); got != want {
			t.Errorf("CallerOwned(%q): got %v, want %v", key, got, want)
		}
	}
}
