package proc

import (
	"bytes"
	"context"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB of <sys/proc.h>

// look asks the kernel for one process.
func look(pid int) (entry, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return entry{}, false
	}
	return fromKernel(k), true
}

func list() []entry {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	table := make([]entry, len(all))
	for i := range all {
		table[i] = fromKernel(&all[i])
	}
	return table
}

func fromKernel(k *unix.KinfoProc) entry {
	began := k.Proc.P_starttime
	return entry{
		ID:     ID{PID: int(k.Proc.P_pid), Start: uint64(began.Sec)*1e6 + uint64(began.Usec)},
		parent: int(k.Eproc.Ppid),
		group:  int(k.Eproc.Pgid),
		dead:   k.Proc.P_stat == zombie,
	}
}

func owner(pid int) (uid int, ok bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, false
	}
	return int(k.Eproc.Pcred.P_ruid), true
}

// argv reads KERN_PROCARGS2: a count, the program's path, padding, the words.
func argv(pid int) []string {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(data) < 4 {
		return nil
	}
	n := int(binary.NativeEndian.Uint32(data))
	_, rest, _ := bytes.Cut(data[4:], []byte{0})
	words := bytes.Split(bytes.TrimLeft(rest, "\x00"), []byte{0})
	var all []string
	for _, w := range words[:min(n, len(words))] {
		all = append(all, string(w))
	}
	return all
}

// markOf is unknown here: environments are not read.
func markOf(int) string { return "" }

// Cwd is where pid stands; here it is always unknown.
func Cwd(int) (dir string, ok bool) { return "", false }

// RSS is pid's resident memory in bytes; here it is always unknown, 0.
func RSS(int) int64 { return 0 }

// Subreap does nothing here: only Linux lets a process adopt orphans.
func Subreap(context.Context) (wait func(), err error) { return func() {}, nil }

func sealDescriptors() {}
