package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdCommit records a directory in a repository around the script's files, which
// it makes at first.
//
//	commit DIR
func cmdCommit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: commit DIR")
	}
	r, err := git.PlainInit(ts.Getenv("WORK"), false)
	if errors.Is(err, git.ErrRepositoryAlreadyExists) {
		r, err = git.PlainOpen(ts.Getenv("WORK"))
	}
	ts.Check(err)
	w, err := r.Worktree()
	ts.Check(err)
	_, err = w.Add(args[0])
	ts.Check(err)
	who := &object.Signature{Name: "you", Email: "you@example.com", When: time.Unix(0, 0)}
	_, err = w.Commit("a commit", &git.CommitOptions{Author: who})
	ts.Check(err)
}

// cmdExpand puts the work directory in place of $WORK in a file.
//
//	expand FILE
func cmdExpand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: expand FILE")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "$WORK", ts.Getenv("WORK"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
