package source

import "github.com/dezren39/mcpx/pkg/config"

// Project is a project file that a session would read, and what becomes of it.
type Project struct {
	Path    string
	Trusted bool
	Changed bool            // it was trusted, and it or a program it names is another now
	Problem *config.Problem // why it has no say whatever is trusted; nil when there is no such reason
}

// Projects are the project files of a session in dir, nearest first.
func (l *Loader) Projects(dir string) []Project {
	own := l.ownFiles(l.generation())
	var all []Project
	for _, p := range l.projectFiles(dir, own) {
		_, approved := own.trust.Projects[p.path]
		one := Project{Path: p.path, Problem: p.problem}
		if p.file != nil {
			one.Trusted = p.file.Trusted
			one.Changed = approved && !one.Trusted
		}
		all = append(all, one)
	}
	return all
}
