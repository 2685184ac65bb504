// Package stdio reads and writes newline-delimited messages on pipes and
// sockets: capped lines in, whole lines out without ever blocking the caller.
// It does not look into a line; wire does.
package stdio

// MaxLine is the cap on one line, in bytes (design D8, report H1).
const MaxLine = 64 << 20

// Sizes of a reader's buffer: usual between large lines, least while lines are
// short. Most of the streams of hosts carry short lines only, and are idle.
const (
	usual = 64 << 10
	least = 4 << 10
)
