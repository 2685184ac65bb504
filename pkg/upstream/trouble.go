package upstream

import "github.com/dezren39/mcpx/pkg/wire"

// Trouble is what every error that mcpx itself answers says beside its message
// (design D7). Only Reason is always there.
type Trouble struct {
	Reason string
	Server string
	Hint   string
	Rule   string   // by which a session does not see the server
	Exit   string   // how the process ended, when that is the reason
	Stderr []string // its last lines; the last 20 of them travel
}

// dataLines is how many lines of stderr travel with each error to a host.
const dataLines = 20

// Data is the error's data member: {"mcpx":{"reason":…}}.
func (t Trouble) Data() []byte {
	b := wire.AppendString([]byte(`{"mcpx":{"reason":`), t.Reason)
	for _, m := range [...]struct{ name, value string }{
		{"server", t.Server}, {"rule", t.Rule}, {"hint", t.Hint}, {"exit", t.Exit},
	} {
		if m.value != "" {
			b = wire.AppendString(append(append(append(b, ",\""...), m.name...), "\":"...), m.value)
		}
	}
	if len(t.Stderr) > 0 {
		b = append(b, `,"stderr":`...)
		for i, line := range t.Stderr[max(0, len(t.Stderr)-dataLines):] {
			if i == 0 {
				b = append(b, '[')
			} else {
				b = append(b, ',')
			}
			b = wire.AppendString(b, line)
		}
		b = append(b, ']')
	}
	return append(b, "}}"...)
}
