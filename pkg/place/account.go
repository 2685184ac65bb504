package place

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// account is the user this process runs as and what the disk holds for them;
// tests put their own together.
type account struct {
	uid     int
	home    string // of the passwd entry; "" when there is none
	darwin  bool
	real    func(dir string) string   // links resolved where dir exists
	private func(dir string) bool     // a directory, ours, closed to others
	glob    func(pat string) []string // sorted
}

func system() account {
	a := account{
		uid:    os.Geteuid(),
		darwin: runtime.GOOS == "darwin",
		real: func(dir string) string {
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				return real
			}
			return dir
		},
		glob: func(pat string) []string {
			found, _ := filepath.Glob(pat) // only a bad pattern is an error
			return found
		},
	}
	a.private = a.owns
	if u, err := user.LookupId(strconv.Itoa(a.uid)); err == nil && filepath.IsAbs(u.HomeDir) {
		a.home = u.HomeDir
	}
	return a
}

// runtimeBases are where this system keeps a user's sockets, found by uid and
// never by a variable. On macOS that is the per-user temporary directory, whose
// name only the C library tells; on disk it is the one there that is ours.
func (a account) runtimeBases() []string {
	if a.darwin {
		return a.glob("/private/var/folders/*/*/T")
	}
	return []string{fmt.Sprintf("/run/user/%d", a.uid)}
}

// owns reports whether dir is a directory, no link, that only this user can
// enter (threat T14).
func (a account) owns(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == a.uid
}
