package socket

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxPath is the longest path a socket address holds, in bytes: 107 on Linux,
// 103 on macOS, one less than its field for the final NUL.
const maxPath = len(unix.RawSockaddrUnix{}.Path) - 1

// address is what the kernel is given for a socket of the directory: its path,
// or, where that is too long, a short way through the held directory (threat T14).
func (r *Runtime) address(name string) (string, error) {
	path := r.file(name)
	if len(path) <= maxPath {
		return path, nil
	}
	if through, ok := throughDescriptor(r.fd(), name); ok {
		return through, nil
	}
	return "", tooLong(path, name)
}

func tooLong(path, name string) error {
	return &fault{
		msg: fmt.Sprintf("socket path %s is %d bytes long, and this system takes %d at most", path, len(path), maxPath),
		hint: fmt.Sprintf("name a directory of at most %d bytes with --runtime-dir or MCPX_RUNTIME_DIR",
			maxPath-len("/"+name)),
	}
}

// notSocket refuses what stands where a socket should; nothing is removed (report L1).
func notSocket(path string, m os.FileMode) error {
	return &fault{
		msg:  path + " is " + kind(m) + ", not a socket",
		hint: "mcpx changes nothing there; look at it and move it away",
	}
}
