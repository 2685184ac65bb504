package daemon

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// ownPipe makes a received descriptor fit for waiting: non-blocking, and if it
// is a pipe on a description of its own, so that the host's end of it does not
// become non-blocking with ours. It closes f when it fails or replaces it.
func ownPipe(f *os.File, flag int) (*os.File, error) {
	if runtime.GOOS == "linux" && isPipe(f) {
		own, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), flag|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = f.Close()
			return os.NewFile(uintptr(own), f.Name()), nil
		}
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	_ = f.Close()
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil // NewFile sees the flag and uses the poller
}

func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// awaitReaderGone waits until nobody reads what is written to w any more; false
// when w was closed first. A host that is dead, or has closed its end, wants no
// answer: what it has in flight must not hold a server that others wait for.
func awaitReaderGone(w *os.File) bool {
	raw, err := w.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	_ = raw.Read(func(fd uintptr) bool { // an error on the descriptor counts as readable
		fds := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(fds, 0)
		gone = err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		return gone
	})
	return gone
}
