package proc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// look reads /proc/pid/stat.
func look(pid int) (entry, bool) {
	data, err := os.ReadFile(file(pid, "stat"))
	if err != nil {
		return entry{}, false
	}
	return parseStat(string(data))
}

// parseStat reads a line of /proc/pid/stat (proc(5)): the second field is the
// program's name in parentheses and may hold spaces, newlines and parentheses,
// so the fields are counted from the last one.
func parseStat(line string) (entry, bool) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return entry{}, false
	}
	rest := strings.Fields(line[end+1:]) // rest[0] is field 3
	if len(rest) < 20 {
		return entry{}, false
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(line[:open]))
	parent, err2 := strconv.Atoi(rest[4-3])
	group, err3 := strconv.Atoi(rest[5-3])
	start, err4 := strconv.ParseUint(rest[22-3], 10, 64)
	if errors.Join(err1, err2, err3, err4) != nil {
		return entry{}, false
	}
	state := rest[0]
	return entry{
		ID:     ID{PID: pid, Start: start},
		parent: parent,
		group:  group,
		dead:   state == "Z" || state == "X" || state == "x",
	}, true
}

// list is the process table, as far as it is shown to this user.
func list() []entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var table []entry
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if e, ok := look(pid); ok {
			table = append(table, e)
		}
	}
	return table
}

// owner is the real user: the owner of the files under /proc is root for a
// process that is not dumpable, as a host that guards its memory is not.
func owner(pid int) (uid int, ok bool) {
	data, err := os.ReadFile(file(pid, "status"))
	if err != nil {
		return 0, false
	}
	_, rest, found := bytes.Cut(data, []byte("\nUid:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, false
	}
	uid, err = strconv.Atoi(string(fields[0]))
	return uid, err == nil
}

func argv(pid int) []string {
	data, err := os.ReadFile(file(pid, "cmdline"))
	line := strings.TrimRight(string(data), "\x00")
	if err != nil || line == "" {
		return nil
	}
	return strings.Split(line, "\x00")
}

// markOf is the MCPX_INSTANCE that pid was started with, "" when it has none or
// when this user may not read its environment.
func markOf(pid int) string {
	data, err := os.ReadFile(file(pid, "environ"))
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		if mark, ok := bytes.CutPrefix(entry, []byte("MCPX_INSTANCE=")); ok {
			return string(mark)
		}
	}
	return ""
}

// Cwd is where pid stands; ok is false when it cannot be read, or when the
// directory is gone.
func Cwd(pid int) (dir string, ok bool) {
	var buf [unix.PathMax]byte // the kernel gives no more
	n, ok := readCwd(pid, buf[:])
	if !ok {
		return "", false
	}
	dir = string(buf[:n])
	if strings.HasSuffix(dir, " (deleted)") {
		// Either the kernel's word for a directory that is gone, or its name.
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return "", false
		}
	}
	return dir, true
}

// readCwd is readlink(2) without telling the scheduler, since it never waits: a
// host may be looked for before each of its calls (design D10), and the
// runtime's monitor is not to be woken for that.
func readCwd(pid int, buf []byte) (n int, ok bool) {
	var path [32]byte
	name := strconv.AppendInt(append(path[:0], "/proc/"...), int64(pid), 10)
	name = append(name, "/cwd\x00"...)
	here := unix.AT_FDCWD // path is absolute
	got, _, errno := unix.RawSyscall6(unix.SYS_READLINKAT, uintptr(here), uintptr(unsafe.Pointer(&name[0])),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	return int(got), errno == 0
}

// RSS is pid's resident memory in bytes, 0 when unknown.
func RSS(pid int) int64 {
	data, err := os.ReadFile(file(pid, "statm"))
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

func file(pid int, name string) string {
	path := append(make([]byte, 0, len("/proc/1234567/cmdline")), "/proc/"...)
	path = strconv.AppendInt(path, int64(pid), 10)
	return string(append(append(path, '/'), name...))
}
