package stdio

import (
	"syscall"
	"unsafe"
)

// rawRead and rawWrite are read(2) and write(2) for descriptors in non-blocking
// mode. They do not tell the scheduler, which has nothing to learn: they never
// wait, and move no more than the kernel's buffer holds. Told of a system call,
// the runtime of a process that slept wakes its monitor thread, which then polls
// for a while: that was half of the context switches of a call, and 40 % of the
// processor time.
func rawRead(fd uintptr, b []byte) (int, error) { return raw(syscall.SYS_READ, fd, b) }

func rawWrite(fd uintptr, b []byte) (int, error) { return raw(syscall.SYS_WRITE, fd, b) }

func raw(call, fd uintptr, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
