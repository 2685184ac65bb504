package socket

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const runtimeHint = "name a private directory of your own with --runtime-dir or MCPX_RUNTIME_DIR"

// check holds the opened directory and those above it against threat T14.
func (r *Runtime) check() error {
	var st unix.Stat_t
	if err := unix.Fstat(r.fd(), &st); err != nil {
		return &fault{msg: "runtime directory " + r.path + ": " + err.Error(), err: err}
	}
	switch {
	case int(st.Uid) != r.uid:
		return refuse(r.path, "belongs to another user")
	case st.Mode&0o077 != 0:
		return refuse(r.path, "is open to other users")
	}
	return checkParents(filepath.Dir(r.path), r.uid)
}

// checkParents walks both spellings of the way to a directory, as written and
// with its links resolved: who owns any directory on either can swap what
// stands in it. In a user namespace root may have no name of its own, so the
// owner of / counts as root.
func checkParents(dir string, uid int) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return &fault{msg: "runtime directory: " + err.Error(), hint: runtimeHint, err: err}
	}
	root, err := ownerOf("/")
	if err != nil {
		return err
	}
	for _, way := range []string{dir, real} {
		for ; ; way = filepath.Dir(way) {
			if err := checkParent(way, uid, root); err != nil {
				return err
			}
			if way == filepath.Dir(way) {
				break
			}
		}
	}
	return nil
}

func checkParent(dir string, uid, root int) error {
	info, err := os.Stat(dir)
	if err != nil {
		return &fault{msg: "runtime directory: " + err.Error(), hint: runtimeHint, err: err}
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner == uid || owner == 0 || owner == root || info.Mode()&os.ModeSticky != 0 {
		return nil
	}
	return refuse(dir, "is above the runtime directory and belongs to another user")
}

func ownerOf(path string) (int, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, &fault{msg: "runtime directory: " + err.Error(), err: err}
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), nil
}

// refuse says what stands at path: kind, owner and mode.
func refuse(path, why string) error {
	found := "gone"
	if info, err := os.Lstat(path); err == nil {
		owner := int(info.Sys().(*syscall.Stat_t).Uid)
		found = fmt.Sprintf("%s, owner uid %d, mode %04o", kind(info.Mode()), owner, bits(info.Mode()))
	}
	return &fault{
		msg:  fmt.Sprintf("runtime directory: %s %s (%s)", path, why, found),
		hint: "mcpx changes nothing there; remove it yourself, or " + runtimeHint,
	}
}

func kind(m os.FileMode) string {
	switch m.Type() {
	case 0:
		return "a regular file"
	case os.ModeDir:
		return "a directory"
	case os.ModeSymlink:
		return "a symbolic link"
	case os.ModeSocket:
		return "a socket"
	case os.ModeNamedPipe:
		return "a named pipe"
	}
	return "a device"
}

// bits are the mode's as chmod writes them.
func bits(m os.FileMode) uint32 {
	b := uint32(m.Perm())
	if m&os.ModeSticky != 0 {
		b |= 0o1000
	}
	if m&os.ModeSetgid != 0 {
		b |= 0o2000
	}
	if m&os.ModeSetuid != 0 {
		b |= 0o4000
	}
	return b
}

func quote(s string) string { return strconv.Quote(s) }
