package daemon

// skew is what a daemon does about a caller of another API number.
type skew int

const (
	serve  skew = iota // hellos are frozen, so that an older one is understood
	leave              // a newer one may say what this daemon does not know: its own daemon does
	refuse             // somebody else decides which daemon runs
)

// skewed decides that (design D13). A newer caller makes an older daemon leave;
// an older one is served, and stops nothing, so that two builds that are used in
// turn cost one restart and no more. A service's daemon would be started again
// as it was. Pure.
func skewed(caller, own int, supervised bool) skew {
	switch {
	case caller < 1, caller > own && supervised:
		return refuse
	case caller > own:
		return leave
	default:
		return serve
	}
}
