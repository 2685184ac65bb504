package config

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
)

// pattern is one compiled entry of tools or excludeTools.
type pattern func(name string) bool

// ToolFilter is tools and excludeTools, compiled: keep it where many names are
// asked about.
type ToolFilter struct {
	all     bool // tools is not set
	allow   []pattern
	exclude []pattern
}

// ToolFilter compiles tools and excludeTools. Patterns that do not compile
// match nothing in tools and everything in excludeTools; Parse refuses them.
func (r *Resolved) ToolFilter() ToolFilter {
	return ToolFilter{
		all:     r.Tools == nil,
		allow:   compileAll(r.Tools, false),
		exclude: compileAll(r.ExcludeTools, true),
	}
}

// AllowsTool applies tools and excludeTools to a tool's name.
func (r *Resolved) AllowsTool(name string) bool { return r.ToolFilter().Allows(name) }

// Allows reports whether the tool is offered; excludeTools wins.
func (f ToolFilter) Allows(name string) bool {
	matches := func(p pattern) bool { return p(name) }
	return !slices.ContainsFunc(f.exclude, matches) && (f.all || slices.ContainsFunc(f.allow, matches))
}

func compileAll(patterns []string, onError bool) []pattern {
	out := make([]pattern, len(patterns))
	for i, p := range patterns {
		compiled, err := compilePattern(p)
		if err != nil {
			compiled = func(string) bool { return onError }
		}
		out[i] = compiled
	}
	return out
}

// compilePattern reads one of three forms: an exact name, a glob, or a regular
// expression between slashes, which matches anywhere in the name.
func compilePattern(p string) (pattern, error) {
	switch {
	case p == "":
		return nil, errors.New("an empty pattern")
	case len(p) >= 2 && p[0] == '/' && p[len(p)-1] == '/':
		re, err := regexp.Compile(p[1 : len(p)-1])
		if err != nil {
			return nil, err
		}
		return re.MatchString, nil
	case !strings.ContainsAny(p, `*?[\`):
		return func(name string) bool { return name == p }, nil
	}
	if _, err := path.Match(p, ""); err != nil {
		return nil, errors.New("the glob is not closed")
	}
	// A tool's name is no path, so "*" must span a slash: no name keeps one here.
	p = flat(p)
	return func(name string) bool {
		ok, err := path.Match(p, flat(name))
		return ok && err == nil
	}, nil
}

// flat puts a character no tool's name has in place of slashes, the one thing
// path.Match treats apart.
func flat(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
