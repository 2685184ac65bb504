package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// program is what to start as the daemon: the name we were started by, so that
// an upgrade under that name takes effect, if nobody else could have put it
// there; else the program we are (design D13, threat T19). Never a relative
// path, and never /proc/self/exe, which is the old build.
func (o Options) program() (string, error) {
	if found := lookUp(o.Argv0, o.Getenv("PATH")); found != "" {
		return found, nil
	}
	self, err := os.Executable() // on Linux the path the link holds, read at start
	if err != nil || !filepath.IsAbs(self) {
		return "", &fault{
			msg:  fmt.Sprintf("the daemon's program: %q is not to be trusted, and our own path is unknown", o.Argv0),
			hint: "start it by hand: mcpx daemon",
			err:  err,
		}
	}
	return self, nil
}

// Program is what would be started as the daemon, and whether only its user and
// root can replace it (threat T19).
func (o Options) Program() (path string, trusted bool, err error) {
	path, err = o.program()
	return path, err == nil && trustworthy(path), err
}

// lookUp is "" where only an untrustworthy program goes by that name.
func lookUp(argv0, path string) string {
	if filepath.IsAbs(argv0) {
		if trustworthy(argv0) {
			return argv0
		}
		return ""
	}
	if argv0 == "" || strings.Contains(argv0, "/") {
		return ""
	}
	for _, dir := range filepath.SplitList(path) {
		if found := filepath.Join(dir, argv0); filepath.IsAbs(dir) && trustworthy(found) {
			return found
		}
	}
	return ""
}

// trustworthy is a program that only we or root can write or replace: the file,
// the directory it is named in and, behind links, the one it is in.
func trustworthy(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return false
	}
	return keptByUs(info) && dirKeptByUs(filepath.Dir(path)) && dirKeptByUs(filepath.Dir(real))
}

func dirKeptByUs(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && keptByUs(info)
}

// keptByUs is owned by us or root, and writable by no other.
func keptByUs(info os.FileInfo) bool {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	return (owner == os.Geteuid() || owner == 0) && info.Mode()&0o022 == 0
}
