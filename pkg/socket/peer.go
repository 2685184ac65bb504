package socket

import (
	"fmt"
	"net"
)

// Peer is who is at the other end, by the kernel (threat T16): of an accepted
// connection who connected, of a dialled one who listens.
type Peer struct{ PID, UID int }

// PeerOf asks the kernel. A peer outside our pid namespace has PID 0.
func PeerOf(c *net.UnixConn) (Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var p Peer
	var perr error
	if err := raw.Control(func(fd uintptr) { p, perr = peerOf(int(fd)) }); err != nil {
		return Peer{}, err
	}
	if perr != nil {
		return Peer{}, fmt.Errorf("peer of a socket: %w", perr)
	}
	return p, nil
}
