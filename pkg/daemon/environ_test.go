package daemon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A child that had these would take systemd's sockets for its own, or tell
// systemd that the daemon is ready.
func TestNothingOfTheServiceManagerReachesChildren(t *testing.T) {
	environ := []string{
		"LISTEN_FDS=2", "LISTEN_PID=1", "LISTEN_FDNAMES=attach:control", "LISTEN_PIDFDID=9",
		"NOTIFY_SOCKET=/run/systemd/notify", "WATCHDOG_USEC=1", "WATCHDOG_PID=1", "SYSTEMD_EXEC_PID=1",
		"PATH=/bin", "LISTENER=mine", "HOME=/home/u",
	}
	want := []string{"PATH=/bin", "LISTENER=mine", "HOME=/home/u"}
	if diff := cmp.Diff(want, withoutManager(environ)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if environ[0] != "LISTEN_FDS=2" {
		t.Error("the daemon's own environment was changed")
	}
}
