//go:build !linux

package socket

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// umask is the process's, and so is its lock.
var umask sync.Mutex

// bindPrivate binds a socket that is 0600 from its first instant.
func bindPrivate(addr string) (*net.UnixListener, error) {
	umask.Lock()
	defer umask.Unlock()
	defer unix.Umask(unix.Umask(0o177))
	return listenUnix(addr, nil)
}
