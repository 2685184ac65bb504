package gitwhere

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// maxFile bounds every file read here, in bytes (threat T11).
const maxFile = 1 << 20

// readFile reads a regular file of bounded size. Anything else could block or
// never end: a FIFO called config must not hold up a daemon.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Again on what was opened: the first look only spares devices the opening.
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return data, nil
}

// readSmall reads a file that holds one line, without its end.
func readSmall(path string) (string, error) {
	data, err := readFile(path)
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return "", fmt.Errorf("%s holds a NUL", path)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
