package socket

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// capsuleSeals keep the size, so that a mapping of it never faults. F_SEAL_WRITE
// must stay off: a daemon's read(2) fills it.
const capsuleSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

func newCapsuleFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("mcpx-capsule", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "capsule")
	if err := f.Truncate(CapsuleSize); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, capsuleSeals); err != nil {
		f.Close()
		return nil, os.NewSyscallError("fcntl", err)
	}
	return f, nil
}

// checkCapsuleFile asks for the seals, which only memory files have.
func checkCapsuleFile(fd int) error {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return errors.New("not a memory file")
	}
	if seals&capsuleSeals != capsuleSeals || seals&(unix.F_SEAL_WRITE|unix.F_SEAL_FUTURE_WRITE) != 0 {
		return errors.New("wrong seals")
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Size != CapsuleSize {
		return errors.New("wrong size")
	}
	return nil
}
