//go:build !linux

package stdio

import "syscall"

func rawRead(fd uintptr, b []byte) (int, error) { return again(syscall.Read, fd, b) }

func rawWrite(fd uintptr, b []byte) (int, error) { return again(syscall.Write, fd, b) }

func again(call func(fd int, b []byte) (int, error), fd uintptr, b []byte) (int, error) {
	for {
		if n, err := call(int(fd), b); err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
