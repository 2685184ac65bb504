// Package place says where mcpx keeps things: config, state, cache and sockets,
// found from HOME so that every host's children find the same daemon (design D12).
package place

// Dirs are the directories of one user. All are absolute; none need exist.
type Dirs struct {
	Home    string
	Config  string // ~/.config/mcpx
	State   string // ~/.local/state/mcpx
	Cache   string // ~/.cache/mcpx
	Runtime string // sockets and locks
}

// Options say what may influence Find.
type Options struct {
	Getenv     func(string) string
	RuntimeDir string // --runtime-dir; MCPX_RUNTIME_DIR comes after it
	XDG        bool   // honour XDG_*: only a daemon started by hand or a service
}
