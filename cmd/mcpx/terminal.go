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

// columns is the width of a terminal, 0 for what is none or does not say.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
