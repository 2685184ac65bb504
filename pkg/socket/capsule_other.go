//go:build !linux

package socket

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func newCapsuleFile() (*os.File, error) {
	f, err := os.CreateTemp("", "mcpx-capsule-*") // 0600
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		err = f.Truncate(CapsuleSize)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkCapsuleFile wants a regular file of our own that has no name any more.
func checkCapsuleFile(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch {
	case fileMode(uint32(st.Mode)) != 0:
		return errors.New("not a regular file")
	case int(st.Uid) != os.Geteuid():
		return errors.New("a file of another user")
	case st.Nlink != 0:
		return errors.New("a file with a name")
	case st.Size != CapsuleSize:
		return errors.New("wrong size")
	}
	return nil
}
