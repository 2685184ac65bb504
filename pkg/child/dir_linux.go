package child

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// openDir holds the directory open until the child is started in it by its
// descriptor, so that a link swapped meanwhile has no effect (threat T24).
func openDir(path string, exact bool) (workdir, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return workdir{}, err
	}
	d := workdir{
		path:  path,
		spawn: "/proc/self/fd/" + strconv.Itoa(fd),
		close: func() { _ = unix.Close(fd) },
	}
	if err := checkDir(d, exact); err != nil {
		d.close()
		return workdir{}, err
	}
	return d, nil
}

func checkDir(d workdir, exact bool) error {
	if err := unix.Access(d.spawn, unix.X_OK); err != nil {
		return err
	}
	real, err := os.Readlink(d.spawn)
	if err != nil {
		return err
	}
	if strings.HasSuffix(real, " (deleted)") {
		if _, err := os.Stat(d.path); err != nil {
			return err
		}
	}
	if exact && real != d.path {
		return swappedError{real}
	}
	return nil
}
