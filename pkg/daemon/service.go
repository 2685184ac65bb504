package daemon

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/dezren39/mcpx/pkg/socket"
)

// takeover is how long a daemon whose sockets are systemd's waits for one that
// a shim started before it. That one sees within seconds that its sockets are
// no longer its own, and then stops its servers (design D13).
const takeover = time.Minute

// lock takes the daemon lock, given sockets with patience.
func lock(ctx context.Context, rt *socket.Runtime, given bool) (unlock func(), err error) {
	if given {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, takeover)
		defer cancel()
	}
	for {
		unlock, held, err := rt.LockDaemon()
		if held || err != nil {
			return unlock, err
		}
		if !given {
			return nil, fmt.Errorf("%s: %w", rt.Path(), ErrRunning)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", rt.Path(), ErrRunning)
		}
	}
}

// listen is one of the sockets: systemd's, or our own.
func (d *Daemon) listen(name string) (net.Listener, error) {
	if d.o.Sockets == nil {
		return d.runtime.Listen(name)
	}
	return d.runtime.Take(name, d.o.Sockets[name])
}

func (d *Daemon) notify(state string) {
	if d.o.Notify != nil {
		d.o.Notify(state)
	}
}
