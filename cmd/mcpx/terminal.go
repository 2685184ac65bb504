package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal asks the kernel: /dev/null is a character device too.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}
