package scope

import (
	"errors"
	"testing"
)

func TestParse(t *testing.T) {
	for word, want := range map[string]Scope{
		"": Global, "global": Global, "repo": Repo, "worktree": Worktree, "cwd": Cwd, "session": Session,
		"psession": PSession, "parent-session": PSession, "pid": PID, "call": Call,
	} {
		if got, err := Parse(word); got != want || err != nil {
			t.Errorf("Parse(%q): got %q, %v; want %q", word, got, err, want)
		}
	}
}

func TestParseUnknown(t *testing.T) {
	const all = "one of global, repo, worktree, cwd, session, psession, pid, call"
	tests := []struct{ name, word, hint string }{
		{"a slip finds its word", "worktre", `did you mean "worktree"?`},
		{"case is a slip", "Repo", `did you mean "repo"?`},
		{"a slip in the long spelling finds the short one", "parent_session", `did you mean "psession"?`},
		{"a far word lists all", "machine", all},
		{"a short word is not a slip of everything", "x", all},
		{"a huge word is not compared", string(make([]byte, 1<<20)), all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.word)
			unknown, is := errors.AsType[*UnknownError](err)
			if !is {
				t.Fatalf("Parse: got %v, want an UnknownError", err)
			}
			if unknown.Hint() != tt.hint {
				t.Errorf("hint: got %q, want %q", unknown.Hint(), tt.hint)
			}
		})
	}
}

func TestUnder(t *testing.T) {
	tests := []struct {
		name, dir, root string
		want            bool
	}{
		{"a directory is under itself", "/ws/proj", "/ws/proj", true},
		{"a child is under", "/ws/proj/a/b", "/ws/proj", true},
		{"a sibling with the same beginning is not", "/ws/project", "/ws/proj", false},
		{"a parent is not", "/ws", "/ws/proj", false},
		{"everything is under /", "/ws", "/", true},
		{"/ is under /", "/", "/", true},
		{"/ is under nothing else", "/", "/ws", false},
		{"nothing is under the empty root", "/ws", "", false},
		{"the empty directory is under nothing", "", "/", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Under(tt.dir, tt.root); got != tt.want {
				t.Errorf("Under(%q, %q): got %v, want %v", tt.dir, tt.root, got, tt.want)
			}
		})
	}
}
