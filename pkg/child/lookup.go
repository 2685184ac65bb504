package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dezren39/mcpx/pkg/canon"
)

// missingError says that a program is on none of the directories searched.
type missingError struct {
	command  string
	searched []string
	skipped  []string // with the reason in parentheses
}

// Error lists what was searched, so that a wrong PATH shows (report O3).
func (e *missingError) Error() string {
	msg := fmt.Sprintf("%q is not in any directory of the child's PATH", e.command)
	if len(e.searched) > 0 {
		msg += ": searched " + strings.Join(e.searched, ", ")
	}
	if len(e.skipped) > 0 {
		msg += ": skipped " + strings.Join(e.skipped, ", ")
	}
	return msg
}

// Hint says where a PATH can be set.
func (e *missingError) Hint() string {
	return `set daemon.path, or PATH in the server's "env", or write the program's absolute path`
}

// Find is how a start finds the program of a command: an absolute path as it is,
// a name on path, a PATH. The error says what was searched and has a Hint.
func Find(command, path string) (program string, err error) { return lookup(command, path) }

// lookup finds the program of a command: an absolute path as it is, a name on
// path, the child's PATH. Entries that are empty or relative, and directories
// that others may write, are skipped: whoever owns them would choose what runs
// (threat T19).
func lookup(command, path string) (string, error) {
	if strings.ContainsRune(command, '/') {
		return command, checkProgram(command)
	}
	missing := &missingError{command: command}
	for _, dir := range filepath.SplitList(path) {
		if slices.Contains(missing.searched, dir) {
			continue
		}
		if reason := distrust(dir); reason != "" {
			missing.skipped = append(missing.skipped, fmt.Sprintf("%q (%s)", dir, reason))
			continue
		}
		program := filepath.Join(dir, command)
		if command != "" && checkProgram(program) == nil {
			return program, nil
		}
		missing.searched = append(missing.searched, dir)
	}
	return "", missing
}

// checkProgram says in words why file cannot be run.
func checkProgram(file string) error {
	if !filepath.IsAbs(file) {
		return fmt.Errorf("%s is not an absolute path", file)
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", file)
	case err != nil:
		return fmt.Errorf("%s: %w", file, canon.Reason(err))
	case info.IsDir():
		return fmt.Errorf("%s is a directory", file)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable", file)
	}
	return nil
}

// distrust is the reason not to search dir, "" when there is none.
func distrust(dir string) string {
	if !filepath.IsAbs(dir) {
		return "not absolute"
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "" // searched in vain, and listed as searched
	}
	if info.Mode()&0o002 != 0 {
		return "others may write to it" // also a sticky one: they may add to it
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && !trustedOwner(int(st.Uid)) {
		return "owned by another user"
	}
	return ""
}

// trustedOwner: this user, or root, also where root has no number here.
func trustedOwner(uid int) bool {
	return uid == 0 || uid == os.Geteuid() || uid == unmappedRoot()
}
