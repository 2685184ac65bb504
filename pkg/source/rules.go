package source

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// Rules are the rules on visibility that are in force (design D9). They are never
// changed, only replaced.
type Rules struct {
	Path   string // where the document is, or would be
	Exists bool
	Broken bool // it cannot be used: onError decides
	Closed bool // what it decides: that nobody sees anything

	Document visibility.Rules
	Table    *visibility.Table
	Live     bool // a change reaches sessions that run
	Log      bool // what they decide is logged
	Problems config.Problems

	disk visibility.Disk
	made string // fingerprint of what they were made from
}

// maxRuleDirs is how many of the directories that rules are for are watched, for
// links that are swapped on the way to them.
const maxRuleDirs = 256

// Rules are those in force. They stay the same value until something changes.
func (l *Loader) Rules() *Rules {
	l.mu.RLock()
	gen, own := l.gen, l.gen.own
	l.mu.RUnlock()
	if own == nil {
		own = l.ownFiles(gen)
	}
	return own.rules
}

// rulesPath is where the document is: where the config says, else beside it.
func (l *Loader) rulesPath(written string) string {
	rest, home := strings.CutPrefix(written, "~/")
	switch {
	case home:
		return filepath.Join(l.o.Dirs.Home, rest)
	case written != "":
		return written
	case len(l.o.Explicit) > 0:
		return filepath.Join(filepath.Dir(l.o.Explicit[0]), "rules.json")
	}
	return filepath.Join(l.o.Dirs.Config, "rules.json")
}

// Disk is this machine as rules have to know it.
func (l *Loader) Disk() visibility.Disk {
	return visibility.Disk{Home: l.home, Spell: func(dir string) string {
		if spelled, err := canon.Deepest(dir); err == nil {
			return spelled
		}
		return dir
	}}
}

// readRules reads the document that the user's own files name. One that cannot be
// used is as if it were not there, or shows nothing, until it is mended.
func (l *Loader) readRules(own *ownFiles) *Rules {
	cfg := config.Merge(own.files...)
	said := cfg.Daemon.Rules
	r := &Rules{Path: l.rulesPath(said.Path), Closed: said.OnError == "closed", Live: said.ApplyToRunningSessions, Log: said.LogDecisions, disk: l.Disk()}
	data, problem := r.read()
	r.Exists = data != nil || problem != nil
	r.Document = visibility.None()
	switch {
	case problem != nil:
		r.Problems = config.Problems{*problem}
	case data != nil:
		r.Document, r.Problems = visibility.Parse(r.Path, data)
	}
	if r.Broken = r.Problems.HasErrors(); r.Broken {
		r.Document = visibility.Broken(r.Closed)
		r.Problems = append(config.Problems{broken(r.Path, r.Closed)}, r.Problems...)
	}
	r.Table = r.Document.On(r.disk)
	r.made = r.print(data, problem)
	r.Problems = append(r.Problems, r.Table.Shadowed()...)
	r.Problems = append(r.Problems, r.Document.Unknown(l.namesFor(r, cfg, own))...)
	return r
}

func (r *Rules) read() ([]byte, *config.Problem) {
	if !filepath.IsAbs(r.Path) {
		return nil, refusal(r.Path, "is not an absolute path", `mend "path" in daemon.rules`)
	}
	return readFile(candidate{r.Path, config.User})
}

func broken(path string, closed bool) config.Problem {
	effect := `as if there were no rules, every server is seen ("onError": "open")`
	if closed {
		effect = `no server is seen by anybody ("onError": "closed")`
	}
	return config.Problem{File: path, Field: "rules", Msg: "cannot be used: until it is mended, " + effect, Hint: "mend what is named below"}
}

// namesFor are the servers that a row may name: the user's own, and those of the
// project files that sessions in the row's directory read, trusted or not.
func (l *Loader) namesFor(r *Rules, cfg *config.Config, own *ownFiles) func(row int) []string {
	names := slices.Concat(cfg.Names, cfg.Invalid)
	return func(row int) []string {
		if row < 0 {
			return names
		}
		all := slices.Clone(names)
		for _, p := range l.projectFiles(r.disk.Dir(r.Document.Rows[row].Path), own) {
			if p.file != nil {
				all = append(all, p.file.Config.Names()...)
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
}

// dirs are the directories that rules are for, as far as they are watched.
func (r *Rules) dirs() (dirs []string) {
	for _, row := range r.Document.Rows[:min(len(r.Document.Rows), maxRuleDirs)] {
		if dir := r.disk.Written(row.Path); filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// print is a fingerprint of the document and of where its directories are.
func (r *Rules) print(data []byte, problem *config.Problem) string {
	f := &fingerprint{}
	f.file(r.Path, data, problem)
	for _, dir := range r.dirs() {
		f.add(r.disk.Spell(dir))
	}
	return f.b.String()
}

// now is the fingerprint that the same rules would have if they were read now.
func (r *Rules) now() string {
	data, problem := r.read()
	return r.print(data, problem)
}
