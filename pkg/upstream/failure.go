package upstream

import (
	"errors"
	"fmt"
	"strings"
)

var errStartTimeout = errors.New("start timeout")

// Failure is why a server did not start, or why it ended.
type Failure struct {
	Server  string
	Msg     string   // "initialize timed out after 60s"
	Exit    string   // "exit status 3"; "" when the process was still there
	Stderr  []string // its last lines
	Stopped bool     // Stop was asked for
	Fix     string   // what to do about it
	Reason  string   // data.mcpx.reason of the calls it fails; "" for that of a process

	refused bool // the server itself said no, so a remembered era is in doubt
}

// Error names the server, what happened, the exit status and the last line on
// stderr.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "server %q: %s", f.Server, f.Msg)
	if f.Exit != "" {
		fmt.Fprintf(&b, ": %s", f.Exit)
	}
	if words := lastWords(f.Stderr); words != "" {
		fmt.Fprintf(&b, "; its last words: %q", words)
	}
	return b.String()
}

// Hint says what to do about it; "" when there is nothing to say.
func (f *Failure) Hint() string { return f.Fix }

// lastWords is the last line that says something, not too long for a message.
func lastWords(stderr []string) string {
	for i := len(stderr) - 1; i >= 0; i-- {
		if words := strings.TrimSpace(stderr[i]); words != "" {
			return words[:min(len(words), 300)]
		}
	}
	return ""
}
