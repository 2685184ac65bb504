// Package scope says which callers share a server process and which directory
// that process belongs to (record 0004 §1). It is pure: the facts about git are
// gathered by gitwhere beforehand and ride in the CallContext.
package scope

// Scope is how widely one process of a server is shared.
type Scope string

// The scopes of record 0004, from the widest to the narrowest.
const (
	Global   Scope = "global"
	Repo     Scope = "repo"
	Worktree Scope = "worktree"
	Cwd      Scope = "cwd"
	Session  Scope = "session"
	PSession Scope = "psession"
	PID      Scope = "pid"
	Call     Scope = "call"
)

// Git is what gitwhere found around a directory.
type Git struct {
	CommonDir    string // names the repository in a key; "" outside git
	Worktree     string // the directory that holds .git; "" in a bare repository
	MainWorktree string // top level of the main worktree; "" when there is none
	Unconfirmed  bool   // .git points elsewhere and nothing there points back (threat T1)
	Problem      string // why facts are missing; "" when all were found
}

// CallContext is everything about a caller that a scope may look at.
type CallContext struct {
	Cwd      string // canonical; "" when the caller has none
	Git      Git
	Session  string
	Parent   string
	PID      int    // of the host program; 0 when unknown
	PIDStart uint64 // start time of PID, in clock ticks since boot; tells recycled pids apart
	CallID   string // minted by the daemon, unique for its life
}

// ResolvedScope is the one answer of Resolve.
type ResolvedScope struct {
	Key      string // which process
	Root     string // the directory it belongs to; "" when the scope has none
	Degraded string // why the key is narrower than asked; "" when it is not
}
