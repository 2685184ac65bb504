package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with a file; Warning ones hold nothing back.
type Problem struct {
	Warning bool
	File    string
	Line    int // 1-based; 0 when the problem is the file as a whole
	Col     int // 1-based, in characters
	Server  string
	Field   string
	Msg     string
	Hint    string // what to do; printed on a line of its own
	Rule    string // the rule's name where it has one, such as "cwd-launcher"
}

// Problems are gathered, never stopped at the first.
type Problems []Problem

// Error is the problem's first line: where, server, field, what is wrong.
func (p Problem) Error() string {
	var b strings.Builder
	if where := p.Where(); where != "" {
		b.WriteString(where + ": ")
	}
	if p.Server != "" {
		fmt.Fprintf(&b, "server %q: ", p.Server)
	}
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Msg)
	return b.String()
}

// Where is "file:line:column", as far as they are known.
func (p Problem) Where() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// HintOf is the hint that travels with an error, "" when there is none: that of
// the first in its chain that has a Hint method, else a Problem's.
func HintOf(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return e.Hint()
	}
	if p, ok := errors.AsType[Problem](err); ok {
		return p.Hint
	}
	return ""
}

// HasErrors reports whether any problem is more than a warning.
func (ps Problems) HasErrors() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return !p.Warning })
}

// InOrder sorts by file and position and drops what is said twice, so that the
// same files always give the same report.
func (ps Problems) InOrder() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Server, b.Server), cmp.Compare(a.Field, b.Field))
	})
	said := map[Problem]bool{}
	return slices.DeleteFunc(ps, func(p Problem) bool {
		twice := said[p]
		said[p] = true
		return twice
	})
}

// spot is where a problem is: what report needs beside what is wrong.
type spot struct {
	at     Origin
	server string
	field  string
}

// fault is what is wrong, without where.
type fault struct {
	msg  string
	hint string
	rule string
	warn bool
}

func (s spot) problem(f fault) Problem {
	return Problem{
		Warning: f.warn, File: s.at.File, Line: s.at.Line, Col: s.at.Col,
		Server: s.server, Field: s.field, Msg: f.msg, Hint: f.hint, Rule: f.rule,
	}
}
