package rig

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is one process of this machine's user, as the kernel has it.
type Process struct {
	PID  int
	Argv []string
	Mark string // MCPX_INSTANCE, which only what a daemon started has
}

// Epoch is of the daemon that started the process.
func (p Process) Epoch() string {
	epoch, _, _ := strings.Cut(strings.TrimPrefix(p.Mark, p.Mark[:strings.IndexByte(p.Mark+".", '.')]+"."), ".")
	return epoch
}

// Daemon reports whether the process is a daemon, not what starts one.
func (p Process) Daemon() bool {
	return p.Mark == "" && len(p.Argv) > 2 && p.Argv[1] == "daemon" && p.Argv[2] != "--detach"
}

// Processes are those that have this machine's home in their environment: all
// that a test started, and all that this started in turn. It skips the test
// where there is no /proc.
func (r *Rig) Processes() []Process {
	r.T.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		r.T.Skip("no /proc")
	}
	var all []Process
	for _, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue
		}
		env := strings.Split(string(data), "\x00")
		if !slices.Contains(env, "HOME="+r.Home) {
			continue
		}
		p := Process{}
		p.PID, _ = strconv.Atoi(filepath.Base(dir))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		p.Argv = strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		for _, kv := range env {
			if mark, ok := strings.CutPrefix(kv, "MCPX_INSTANCE="); ok {
				p.Mark = mark
			}
		}
		all = append(all, p)
	}
	return all
}

// Daemons are the daemons that live. A child of one is none, though it looks
// like its parent until it has become its program, which may have ended before
// anybody can ask whose child it was: so who is a daemon is one at two looks.
func (r *Rig) Daemons() []Process {
	r.T.Helper()
	first, all := r.daemons(), r.daemons()
	return slices.DeleteFunc(all, func(p Process) bool {
		return !slices.ContainsFunc(first, func(o Process) bool { return o.PID == p.PID }) ||
			slices.ContainsFunc(first, func(o Process) bool { return slices.Contains(childrenOf(o.PID), p.PID) })
	})
}

func (r *Rig) daemons() []Process {
	r.T.Helper()
	return slices.DeleteFunc(r.Processes(), func(p Process) bool { return !p.Daemon() })
}

// Children are what daemons started and what came of that, whoever is its parent
// by now.
func (r *Rig) Children() []Process {
	r.T.Helper()
	return slices.DeleteFunc(r.Processes(), func(p Process) bool { return p.Mark == "" })
}

// Gone waits until nothing that fits is left, for a few seconds, and returns
// what is.
func (r *Rig) Gone(fits func(Process) bool) (left []Process) {
	r.T.Helper()
	for until := time.Now().Add(8 * time.Second); ; {
		left = slices.DeleteFunc(r.Processes(), func(p Process) bool { return !fits(p) })
		if len(left) == 0 || time.Now().After(until) {
			return left
		}
		<-time.After(10 * time.Millisecond)
	}
}

// Zombies are the children of a process that have ended and were not reaped.
func Zombies(parent int) []int { return childrenIn(parent, "Z") }

// childrenOf are the children of a process.
func childrenOf(parent int) []int { return childrenIn(parent, "") }

// childrenIn are those in a state, "" for any.
func childrenIn(parent int, state string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		if i := bytes.LastIndexByte(data, ')'); i >= 0 {
			f := strings.Fields(string(data[i+1:]))
			if len(f) > 1 && (state == "" || f[0] == state) && f[1] == strconv.Itoa(parent) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// Descriptors is how many a process has open, 0 when it is gone.
func Descriptors(pid int) int {
	entries, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	return len(entries)
}
