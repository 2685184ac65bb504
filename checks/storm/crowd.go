package storm

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/socket"
)

// Crowd is all the hosts of a machine.
type Crowd struct {
	R     *rig.Rig
	Hosts []*Host
	Past  Tally // of hosts that are gone
}

// Add takes a host in.
func (c *Crowd) Add(h *Host) { c.Hosts = append(c.Hosts, h) }

// Death has f end a daemon, by whatever means; the hosts are told before and
// after.
func (c *Crowd) Death(f func()) {
	c.R.T.Helper()
	for _, h := range c.Hosts {
		h.dies()
	}
	f()
	for _, h := range c.Hosts {
		h.died()
	}
}

// Daemon is the process that holds the lock, once there is one that has said
// which it is.
func (c *Crowd) Daemon() proc.ID {
	c.R.T.Helper()
	for late := time.After(rig.Wait); ; {
		if rt, err := socket.OpenRuntime(c.R.Run, false); err == nil {
			pid, running, err := rt.Daemon()
			rt.Close()
			if start, alive := proc.StartTime(pid); err == nil && running && pid != 0 && alive {
				return proc.ID{PID: pid, Start: start}
			}
		}
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			c.R.T.Fatal("no daemon runs")
		}
	}
}

// Signal ends the daemon with a signal, and returns when its process is gone.
func (c *Crowd) Signal(sig os.Signal) {
	c.R.T.Helper()
	d := c.Daemon()
	c.Death(func() {
		if err := d.Signal(sig); err != nil && err != os.ErrProcessDone {
			c.R.T.Fatal(err)
		}
		c.gone(d)
	})
}

func (c *Crowd) gone(d proc.ID) {
	c.R.T.Helper()
	for late := time.After(rig.Wait); d.Alive(); {
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			c.R.T.Fatalf("daemon %d does not end", d.PID)
		}
	}
}

// Recovered waits until every host has an answer of the daemon that runs now.
func (c *Crowd) Recovered() {
	c.R.T.Helper()
	late := time.After(rig.Wait)
	for _, h := range c.Hosts {
		select {
		case <-h.Recovered():
		case <-h.ended:
			c.R.T.Fatalf("%s: connect ended: %s", h.o.Label, h.stderr.String())
		case <-late:
			c.R.T.Fatalf("%s: no answer since the last daemon ended; open are %q", h.o.Label, h.lost())
		}
	}
}

// One checks that one daemon lives, and nothing of those before it.
func (c *Crowd) One() {
	c.R.T.Helper()
	if all := c.R.Daemons(); len(all) != 1 {
		c.R.T.Errorf("%d daemons live: %+v", len(all), all)
	}
	newest := ""
	for _, p := range c.R.Children() {
		newest = max(newest, p.Epoch()) // as long as the year 2059, epochs have one length
	}
	if left := c.R.Gone(func(p rig.Process) bool { return p.Mark != "" && p.Epoch() != newest }); len(left) > 0 {
		c.R.T.Errorf("of dead daemons there live: %+v", left)
	}
}

// End ends every host and returns what became of all requests.
func (c *Crowd) End() Tally {
	c.Past.Add(end(c.Hosts))
	c.Hosts = nil
	return c.Past
}

func end(hosts []*Host) (sum Tally) {
	all := make(chan Tally)
	for _, h := range hosts {
		go func() { all <- h.End() }()
	}
	for range hosts {
		sum.Add(<-all)
	}
	return sum
}

// Seed is the environment variable's, else the clock's, and is logged: the same
// seed draws the same steps, though not the same moments.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("STORM_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	t.Logf("STORM_SEED=%d", seed)
	return seed
}

// Count is the environment variable's, else what is given.
func Count(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// Kill is SIGKILL.
const Kill = syscall.SIGKILL
