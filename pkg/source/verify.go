package source

import (
	"fmt"

	"github.com/dezren39/mcpx/pkg/config"
)

// Verify looks once more, right before a start, whether what a project's server
// runs is what was trusted: its file may have changed, or a program that it
// names, and nobody have noticed yet (threat T5). It reads them anew; for a
// server of another tier it does nothing. The error is an *Altered, or that of
// the trust file.
func (l *Loader) Verify(s *config.Resolved) error {
	if s.Tier != config.Project {
		return nil
	}
	trust, err := l.loadTrust()
	if err != nil {
		return err
	}
	path := s.Origins[""].File
	p := readTrusted(path, trust)
	if p.file == nil || !p.file.Trusted || !startsAs(p.file.Config, s) {
		return &Altered{Server: s.Name, File: path}
	}
	return nil
}

// startsAs reports whether the file still says of s what it was made from: the
// file may have been changed and trusted anew.
func startsAs(f *config.File, s *config.Resolved) bool {
	now := f.Server(s.Name)
	if now == nil {
		return false
	}
	as := *s
	as.Command, as.Args, as.Env, as.Cwd = now.Command, now.Args, now.Env, now.Cwd
	as.URL, as.Headers, as.Secrets = now.URL, now.Headers, nil
	if now.Mcpx != nil {
		as.Secrets = now.Mcpx.Secrets
	}
	return as.Definition() == s.Definition()
}

// Altered is why a project's server is not started.
type Altered struct {
	Server string
	File   string // the project's
}

func (e *Altered) Error() string {
	return fmt.Sprintf("server %q: %s, or a program that it names, is not what was trusted", e.Server, e.File)
}

// Hint says what to do about it.
func (e *Altered) Hint() string { return "look at it, then: mcpx trust " + e.File }
