package scope

import (
	"fmt"
	"strings"
)

// Why a key is narrower than the scope that was asked for (design D2). Where
// gitwhere knows better, its Problem is said instead.
const (
	noDirectory    = "no working directory"
	notInGit       = "not in a git repository"
	noWorktree     = "no worktree here"
	noMainWorktree = "no main worktree"
	notConfirmed   = "link not confirmed"
	noSession      = "no session id"
	noParent       = "no parent session"
	noPID          = "no host process"
)

// NeedsGit lets the caller skip git when nothing asks for it.
func (s Scope) NeedsGit() bool { return s == Repo || s == Worktree }

// NeedsDir reports whether the scope is one of a place: repo, worktree and cwd.
func (s Scope) NeedsDir() bool { return s.NeedsGit() || s == Cwd }

// Resolve is the one resolution path (record 0004 §1, table in design D2). Root
// is a pure function of the key for repo, worktree and cwd: two callers who
// share a key always get the same root. A degraded key is narrower, never
// wider, and its root follows the degraded key (record §9). CallID must be set:
// every scope may end there.
func (s Scope) Resolve(cc CallContext) ResolvedScope {
	switch s {
	case Global, "":
		return ResolvedScope{Key: "global"}
	case Repo:
		return resolveRepo(cc)
	case Worktree:
		return resolveWorktree(cc)
	case Cwd:
		return resolveCwd(cc, "")
	case Session:
		return resolveSession(cc, "")
	case PSession:
		if cc.Parent == "" {
			return resolveSession(cc, noParent)
		}
		return ResolvedScope{Key: "psession:" + cc.Parent}
	case PID:
		if cc.PID == 0 {
			return resolveCall(cc, noPID)
		}
		return ResolvedScope{Key: fmt.Sprintf("pid:%d.%d", cc.PID, cc.PIDStart)}
	case Call:
		return resolveCall(cc, "")
	}
	return resolveCall(cc, fmt.Sprintf("unknown scope %q", string(s)))
}

// Key is Resolve(cc).Key.
func (s Scope) Key(cc CallContext) string { return s.Resolve(cc).Key }

// CallerOwned reports whether key belongs to one caller (session, psession,
// pid, call): such an instance ends with its owner and is never evicted for
// another (design D17).
func CallerOwned(key string) bool {
	kind, _, found := strings.Cut(key, ":")
	if !found {
		return false
	}
	switch Scope(kind) {
	case Session, PSession, PID, Call:
		return true
	}
	return false
}

// PerCall reports whether key is that of a single call, whose process ends with
// it.
func PerCall(key string) bool { return strings.HasPrefix(key, string(Call)+":") }

// resolveRepo never follows a pointer that nothing confirms: a downloaded tree
// could name another repository by it and so join its process (threat T1).
func resolveRepo(cc CallContext) ResolvedScope {
	g := cc.Git
	switch {
	case cc.Cwd == "" || g.CommonDir == "":
		return resolveCwd(cc, whyNoRepo(g))
	case g.Unconfirmed && g.Worktree == "":
		return resolveCwd(cc, join(notConfirmed, g.Problem))
	case g.Unconfirmed:
		return ResolvedScope{
			Key:      "repo:" + strings.TrimSuffix(g.Worktree, "/") + "/.git",
			Root:     g.Worktree,
			Degraded: join(notConfirmed, g.Problem),
		}
	case g.MainWorktree == "":
		return ResolvedScope{Key: "repo:" + g.CommonDir, Degraded: noMainWorktree}
	}
	return ResolvedScope{Key: "repo:" + g.CommonDir, Root: g.MainWorktree}
}

func resolveWorktree(cc CallContext) ResolvedScope {
	if cc.Cwd == "" || cc.Git.Worktree == "" {
		return resolveCwd(cc, whyNoWorktree(cc.Git))
	}
	return ResolvedScope{Key: "worktree:" + cc.Git.Worktree, Root: cc.Git.Worktree}
}

// resolveCwd also takes what repo and worktree cannot place; why is their
// reason, "" when cwd itself was asked for.
func resolveCwd(cc CallContext, why string) ResolvedScope {
	if cc.Cwd == "" {
		return resolveCall(cc, noDirectory)
	}
	return ResolvedScope{Key: "cwd:" + cc.Cwd, Root: cc.Cwd, Degraded: why}
}

func resolveSession(cc CallContext, why string) ResolvedScope {
	if cc.Session == "" {
		return resolveCall(cc, join(why, noSession))
	}
	return ResolvedScope{Key: "session:" + cc.Session, Degraded: why}
}

func resolveCall(cc CallContext, why string) ResolvedScope {
	return ResolvedScope{Key: "call:" + cc.CallID, Degraded: why}
}

func whyNoRepo(g Git) string {
	if g.Problem != "" {
		return g.Problem
	}
	return notInGit
}

func whyNoWorktree(g Git) string {
	if g.Problem == "" && g.CommonDir != "" {
		return noWorktree
	}
	return whyNoRepo(g)
}

func join(why, more string) string {
	if why == "" || more == "" {
		return why + more
	}
	return why + ": " + more
}
