package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
)

// candidate is a place where a file of the user's or the system's may be.
type candidate struct {
	path string
	tier config.Tier
}

// ownCandidates is the second half of the search of design §3, nearest first;
// explicit files replace all of it.
func (l *Loader) ownCandidates() []candidate {
	if len(l.o.Explicit) > 0 {
		var all []candidate
		for _, path := range l.o.Explicit {
			all = append(all, candidate{path, config.Explicit})
		}
		return all
	}
	return []candidate{
		{filepath.Join(l.o.Dirs.Config, "config.json"), config.User},
		{filepath.Join(l.o.Dirs.Home, projectName), config.User},
		{l.o.System, config.System},
	}
}

// readOwn reads every own file and updates good. One that cannot be read or
// parsed stays in force as it last was (report J1); one that is gone is gone.
func (l *Loader) readOwn(good map[string]*config.File) *ownFiles {
	own := &ownFiles{real: map[string]bool{}}
	var print fingerprint
	for _, c := range l.ownCandidates() {
		if real, err := canon.Path(c.path); err == nil {
			own.real[real] = true
		}
		data, problem := readFile(c)
		print.file(c.path, data, problem)
		f := c.parse(data)
		switch {
		case problem != nil:
			own.extra = append(own.extra, *problem)
			f = good[c.path]
		case f == nil:
			delete(good, c.path)
		case f.Broken:
			own.extra = append(own.extra, f.Problems()...)
			f = good[c.path]
		default:
			good[c.path] = f
		}
		if f != nil {
			own.files = append(own.files, f)
			own.problems = append(own.problems, f.Problems()...)
		}
	}
	var err error
	if own.trust, err = l.loadTrust(); err != nil {
		own.extra = append(own.extra, *trustProblem(err))
	}
	own.rules = l.readRules(own)
	print.add(own.rules.made)
	own.extra = append(own.extra, own.rules.Problems...)
	own.problems = append(own.problems, own.extra...)
	own.print = print.b.String()
	return own
}

func trustProblem(err error) *config.Problem {
	return refusal("", "trusted projects: "+err.Error(), config.HintOf(err))
}

// readFile reads one own file: nil without a problem when there is none.
func readFile(c candidate) ([]byte, *config.Problem) {
	f, err := os.OpenFile(c.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, c.missing(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, refusal(c.path, canon.Reason(err).Error(), "")
	}
	if c.tier == config.System && (owner(fi) != 0 || fi.Mode().Perm()&0o022 != 0) {
		return nil, refusal(c.path, "must belong to root and be writable by root only", "chown root and chmod 0644 it")
	}
	return readAll(f, fi, c.path)
}

// parse is nil for a file that is not there.
func (c candidate) parse(data []byte) *config.File {
	if data == nil {
		return nil
	}
	file, _ := config.Parse(c.path, c.tier, data)
	if real, err := canon.Path(c.path); err == nil {
		file.Real = real
	}
	return file
}

// missing tells a file that is not there from one that cannot be reached. A
// link to nothing is the second: somebody wanted a file here.
func (c candidate) missing(err error) *config.Problem {
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return refusal(c.path, canon.Reason(err).Error(), "make it readable")
	}
	if _, lerr := os.Lstat(c.path); lerr == nil {
		return refusal(c.path, "is a link to nothing", "mend the link or remove it")
	}
	if c.tier == config.Explicit {
		return refusal(c.path, "no such file", "check --config and MCPX_CONFIG")
	}
	return nil
}

func refusal(path, msg, hint string) *config.Problem {
	return &config.Problem{File: path, Msg: msg, Hint: hint}
}
