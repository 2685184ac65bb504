// Package hostfile knows where each host keeps its MCP entries and in which
// form. It reads and writes bytes: files are its callers' business, and nothing
// here is ever written into a host's own file.
package hostfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Entry is one server as a host's file has it.
type Entry struct {
	Name     string
	Command  string
	Args     []string
	Env      map[string]string
	Cwd      string
	URL      string
	Headers  map[string]string
	Disabled bool

	// Local is set for an entry in the user's file that counts in one project.
	Local bool
	// Left are the keys of the entry that are not carried over, sorted.
	Left []string
}

// Place is a file a host reads.
type Place struct {
	Path    string // from the home directory, or from the project's
	Project bool
}

// Level is the part of a host's settings an entry belongs to.
type Level string

// Levels, as Claude Code names them; the other hosts know the first two.
const (
	User    Level = "user"
	Project Level = "project"
	Local   Level = "local"
)

// Host is one host's format.
type Host struct {
	Name   string // as it is written in a machine file
	Title  string // as people know it
	File   string // the name of the file that Encode is for
	Places []Place
	Doc    string // the page the format was taken from
	Tried  string // the version the format was tried with; "" when it comes from the page alone

	form     form
	register func(s Entry, l Level) string
}

// form turns entries into a file's bytes and back. dir is the project's
// directory, for the file that has entries by project.
type form interface {
	encode(entries []Entry) ([]byte, error)
	decode(file string, data []byte, dir string) ([]Entry, error)
}

// All are the hosts, in the order in which messages name them.
func All() []Host {
	return []Host{
		claudeCode(), codex(), opencode(), gemini(),
		claudeDesktop(), vscode(), cursor(), zed(), homeManager(),
	}
}

// Names are the names of All.
func Names() []string {
	var names []string
	for _, h := range All() {
		names = append(names, h.Name)
	}
	return names
}

// Named finds a host.
func Named(name string) (Host, bool) {
	all := All()
	i := slices.IndexFunc(all, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, false
	}
	return all[i], true
}

// Encode is a whole file with these entries: the same bytes for the same
// entries, sorted, with a newline at the end.
func (h Host) Encode(entries []Entry) ([]byte, error) {
	sorted := slices.SortedFunc(slices.Values(entries), byName)
	return h.form.encode(sorted)
}

// Decode reads the entries of a file, sorted by name. dir is the project's
// directory: an entry that counts there only is Local. A file that does not
// parse is a config.Problem with its place; a bad entry loses only itself.
func (h Host) Decode(file string, data []byte, dir string) ([]Entry, error) {
	entries, err := h.form.decode(file, data, dir)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(entries, byName)
	return entries, nil
}

// Register says how the host is told to start s, at the same level: a command
// line, or for a host without one, what to write where.
func (h Host) Register(s Entry, l Level) string { return h.register(s, l) }

// Connect is the entry that makes a host use a server through mcpx. runtimeDir
// is where the daemon's sockets are, "" for the usual place.
func Connect(server, runtimeDir string) Entry {
	args := []string{"connect", server}
	if runtimeDir != "" {
		args = append(args, "--runtime-dir", runtimeDir)
	}
	return Entry{Name: server, Command: "mcpx", Args: args}
}

// IsConnect reports whether an entry starts mcpx already.
func (e Entry) IsConnect() bool {
	program := e.Command[strings.LastIndexAny(e.Command, `/\`)+1:]
	return strings.TrimSuffix(program, ".exe") == "mcpx" && slices.Contains(e.Args, "connect")
}

func byName(a, b Entry) int { return strings.Compare(a.Name, b.Name) }

// shell is a command line of these words.
func shell(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Quote makes w one word of a POSIX shell.
func Quote(w string) string {
	if w == "" || strings.ContainsFunc(w, special) {
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return w
}

func special(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("@%+=:,./_-", r))
}

// edit is the register line of a host that is told by editing a file.
func edit(path, where, value string) string {
	return fmt.Sprintf("in %s set %s to %s", path, where, value)
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
