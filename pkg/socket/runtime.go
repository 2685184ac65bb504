package socket

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Runtime is a checked runtime directory, held open: what was checked is what
// is used, whatever happens to the path afterwards.
type Runtime struct {
	path string
	dir  *os.File
	uid  int // whose directory this is, and who may be at the other end

	// peer is PeerOf, but for tests of a foreign user.
	peer func(*net.UnixConn) (Peer, error)

	daemonLock atomic.Bool // whether this Runtime holds daemon.lock
}

// OpenRuntime makes the directory 0700, parents included, or checks the one that
// is there (threat T14): a directory, not a link, ours, closed to others, and
// below directories that no other user can rename. What fails is never repaired
// nor removed; the error names path, owner and mode. With create false, a
// directory that does not exist is ErrNoDaemon.
func OpenRuntime(path string, create bool) (*Runtime, error) {
	if !filepath.IsAbs(path) {
		return nil, &fault{
			msg:  "runtime directory " + quote(path) + " is not an absolute path",
			hint: runtimeHint,
		}
	}
	path = filepath.Clean(path)
	if create {
		if err := makeDir(path); err != nil {
			return nil, err
		}
	}
	fd, err := openDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !create:
		return nil, noDaemon(path)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return nil, refuse(path, "is not a directory")
	case err != nil:
		return nil, &fault{msg: "runtime directory " + path + ": " + err.Error(), hint: runtimeHint, err: err}
	}
	r := &Runtime{path: path, dir: os.NewFile(uintptr(fd), path), uid: os.Geteuid(), peer: PeerOf}
	if err := r.check(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Path is the directory's.
func (r *Runtime) Path() string { return r.path }

// Close lets go of the directory; listeners and locks taken from it live on.
func (r *Runtime) Close() error { return r.dir.Close() }

// file is the path of an entry, for people and for the kernel's look-ups by path.
func (r *Runtime) file(name string) string { return filepath.Join(r.path, name) }

// fd is the held directory's descriptor.
func (r *Runtime) fd() int { return int(r.dir.Fd()) }

// lookup is the entry itself, links not followed.
func (r *Runtime) lookup(name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Fstatat(r.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

func makeDir(path string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.Mkdir(path, 0o700)
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return &fault{msg: "runtime directory: " + err.Error(), hint: runtimeHint, err: err}
}

func openDir(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
