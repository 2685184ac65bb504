package pool

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
)

// ErrRetired refuses a lease in a pool whose definition has left the config;
// the caller looks the definition up again.
var ErrRetired = errors.New("its definition has left the config")

// ErrClosed refuses a lease while mcpx stops.
var ErrClosed = errors.New("mcpx is stopping")

// ErrStopped answers those who waited for an instance that was stopped.
var ErrStopped = errors.New("stopped while a call waited for it")

// LimitError is a place that did not come free, or never would.
type LimitError struct {
	Server string
	Key    string        // config key of the limit: max, daemon.maxInstances, daemon.maxStarts, sharing; else stop, session calls, session starts
	Max    int           // the limit's value; 0 where it has none
	Waited time.Duration // 0 when waiting would have been in vain: open sessions own every place
}

// Error names the server, the limit's config key and value, and how long the
// wait was.
func (e *LimitError) Error() string {
	where := fmt.Sprintf("server %q: ", e.Server)
	switch {
	case e.Waited == 0:
		return where + fmt.Sprintf("%s %d: open sessions own every instance", e.Key, e.Max)
	case e.Key == string(bySharing):
		return where + fmt.Sprintf("sharing: exclusive, and earlier calls took longer than %s", e.Waited)
	case e.Key == string(byMaxStarts):
		return where + fmt.Sprintf("%s %d: other servers were starting for %s", e.Key, e.Max, e.Waited)
	case e.Key == string(byPredecessor):
		return where + fmt.Sprintf("stop: its last process was not gone after %s", e.Waited)
	case e.Key == string(bySessionCalls):
		return where + fmt.Sprintf("%s %d: this session had so many calls with a process each for %s", e.Key, e.Max, e.Waited)
	case e.Key == string(bySessionStart):
		return where + fmt.Sprintf("%s %d: this session starts more processes than that a minute, and waited %s for its turn", e.Key, e.Max, e.Waited)
	}
	return where + fmt.Sprintf("%s %d: every instance was busy for %s", e.Key, e.Max, e.Waited)
}

// Hint says which setting to change.
func (e *LimitError) Hint() string {
	switch limit(e.Key) {
	case byMaxInstances, byMaxStarts:
		return fmt.Sprintf(`raise %q in the "daemon" block of your config`, e.Key[len("daemon."):])
	case bySharing:
		return `give it a narrower "scope", or "sharing": "shared" if it can serve calls side by side`
	case byPredecessor:
		return "try again; mcpx logs " + e.Server + " says what it is doing"
	case bySessionCalls, bySessionStart:
		return fmt.Sprintf(`give %q a wider "scope", so that its calls need fewer processes`, e.Server)
	}
	if e.Waited == 0 {
		return fmt.Sprintf(`close a session that uses it, or raise "max" in the "mcpx" block of %q`, e.Server)
	}
	return fmt.Sprintf(`raise "max" in the "mcpx" block of %q`, e.Server)
}

// BackoffError answers at once for a key whose last start failed a moment ago.
type BackoffError struct {
	Server string
	Err    error         // of the last failure, last words on stderr included
	Retry  time.Duration // until the next start may be tried
}

// Error is the last failure and when the next start may be tried.
func (e *BackoffError) Error() string {
	return fmt.Sprintf("%v; retry in %s", e.Err, e.Retry)
}

// Unwrap is the last failure.
func (e *BackoffError) Unwrap() error { return e.Err }

// Hint is the last failure's, and else how not to wait.
func (e *BackoffError) Hint() string {
	return cmp.Or(config.HintOf(e.Err), "mcpx restart "+e.Server+" clears the wait")
}
