package gitwhere

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/gcfg"

	"github.com/dezren39/mcpx/pkg/canon"
)

// known are the extensions of repository format 1 that do not move anything we
// look at.
var known = []string{
	"noop", "noop-v1", "partialclone", "objectformat", "compatobjectformat", "refstorage",
	"worktreeconfig", "relativeworktrees", "preciousobjects", "submodulepathconfig",
}

// settings are the few that say where a repository lies. Nothing else is read,
// and no include is followed (threat T11).
type settings struct {
	bare     bool
	worktree string // core.worktree, canonical; "" when unset or not there
}

// settings reads the config of a git directory, and its config.worktree where
// that counts. What we will not vouch for is put to git.
func (l locator) settings(ctx context.Context, gitDir string) (settings, error) {
	var raw rawSettings
	err := raw.read(filepath.Join(gitDir, "config"))
	if err == nil && isTrue(raw.worktreeConfig) {
		err = raw.read(filepath.Join(gitDir, "config.worktree"))
	}
	if err != nil {
		return settings{}, err
	}
	s := settings{bare: isTrue(raw.bare)}
	if raw.worktree != "" {
		if dir, err := canon.Dir(from(gitDir, raw.worktree)); err == nil {
			s.worktree = dir
		}
	}
	if raw.doubt() == "" {
		return s, nil
	}
	if s.bare, err = l.vouch(ctx, gitDir); err != nil {
		return settings{}, fmt.Errorf("%s: %s: %w", gitDir, raw.doubt(), err)
	}
	return s, nil
}

// rawSettings are values as written.
type rawSettings struct {
	bare, worktree, worktreeConfig, format string
	unknown                                string // an extension that nobody told us of
	unread                                 string // why the rest of a file could not be read
}

// read adds the values of one file; a later value wins, and no file is no value.
func (r *rawSettings) read(path string) error {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.parse(filepath.Base(path), data)
	return nil
}

// parse listens to the decoder below go-git's Config. That itself looks through
// all sections for each line, which takes seconds on a hostile file of 1 MiB,
// and does not tell a name without a value from one with an empty value.
func (r *rawSettings) parse(name string, data []byte) {
	err := gcfg.ReadWithCallback(bytes.NewReader(data), func(section, sub, key, value string, blank bool) error {
		if sub == "" {
			if blank {
				value = "true" // a name alone is a claim
			}
			r.set(strings.ToLower(section), strings.ToLower(key), value)
		}
		return nil
	})
	if err != nil {
		r.unread = fmt.Sprintf("%s:%s", name, err)
	}
}

func (r *rawSettings) set(section, key, value string) {
	switch section + "." + key {
	case "core.bare":
		r.bare = value
	case "core.worktree":
		r.worktree = value
	case "core.repositoryformatversion":
		r.format = value
	case "extensions.worktreeconfig":
		r.worktreeConfig = value
	default:
		if section == "extensions" && key != "" && !slices.Contains(known, key) {
			r.unknown = key
		}
	}
}

// doubt is why this reading may be wrong, "" when it is not. Format 0 has no
// extensions: git ignores the names it does not know there.
func (r *rawSettings) doubt() string {
	switch {
	case r.unread != "":
		return "cannot read " + r.unread
	case r.format == "" || r.format == "0":
		return ""
	case r.format != "1":
		return fmt.Sprintf("repository format %q is not known", r.format)
	case r.unknown != "":
		return fmt.Sprintf("extension %q is not known", r.unknown)
	}
	return ""
}

// isTrue reads a boolean as git does.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(value)
	return err == nil && n != 0
}
