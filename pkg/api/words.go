package api

import (
	"cmp"
	"fmt"
	"strings"
)

// Words for how a server is, the same wherever it is told: in status, in a
// session's servers, in JSON.
const (
	Idle       = "idle"
	ListKept   = "idle (list kept)"
	ListFailed = "up, list failed"
	SignIn     = "needs sign-in"
	BackingOff = "backing off"
	Failed     = "failed"
	NoSuchName = "unknown name in a rule"
)

// Words are the instance's state as people read it. It is connected only once a
// list has succeeded.
func (in InstanceStatus) Words() string {
	why := cmp.Or(in.Reason, in.LastError)
	switch {
	case in.State == "connected":
		return "connected (" + in.offers() + ")"
	case in.State != "starting" && strings.Contains(why, SignIn):
		return SignIn
	case in.State == "list-failed":
		return ListFailed
	case in.State == "backing-off":
		return fmt.Sprintf("%s (%s, until %s)", BackingOff, cmp.Or(why, "no reason given"), in.RetryAt.Format("15:04:05"))
	case in.State == "failed":
		return fmt.Sprintf("%s (%s)", Failed, cmp.Or(why, "no reason given"))
	}
	return in.State
}

// offers counts what there is; tools are always told.
func (in InstanceStatus) offers() string {
	text := count(in.Tools, "tool")
	if in.Prompts > 0 {
		text += ", " + count(in.Prompts, "prompt")
	}
	if in.Resources > 0 {
		text += ", " + count(in.Resources, "resource")
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Dead reports whether a server in this state cannot serve, and will not by being
// called.
func Dead(state string) bool {
	for _, dead := range []string{ListFailed, SignIn, BackingOff, Failed} {
		if state == dead || strings.HasPrefix(state, dead+" (") {
			return true
		}
	}
	return false
}
