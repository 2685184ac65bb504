// Package state keeps small files that survive the daemon: atomic, 0600,
// bounded, versioned. A file it cannot vouch for reads as absent, never as more.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
)

// MaxSize is the largest file that is read or written, in bytes.
const MaxSize = 16 << 20

// Dir is a private directory (0700, own).
type Dir struct{ path string }

// Path is where the directory is.
func (d *Dir) Path() string { return d.path }

// envelope is what a file holds: a format number beside the data, so that a
// file of another version is told apart before its data is looked at.
type envelope struct {
	Format int             `json:"format"`
	Data   json.RawMessage `json:"data"`
}

// Load reads name (JSON, at most 16 MiB, a regular file of ours, not a link)
// into v, a pointer. found is false when there is none; a file of another
// format, owner or shape is an error and reads as nothing: v is then zero.
func (d *Dir) Load(name string, format int, v any) (found bool, err error) {
	env, found, err := d.read(name)
	if err != nil || !found {
		return false, err
	}
	if env.Format != format {
		return false, d.otherFormat(name, env.Format, format)
	}
	if err := json.Unmarshal(env.Data, v); err != nil {
		reflect.ValueOf(v).Elem().SetZero()
		return false, d.damaged(name, err)
	}
	return true, nil
}

// Save writes name atomically: an exclusive temporary file, fsync, rename. It
// refuses to replace a file of a newer format, which a newer mcpx wrote (threat
// T38), and anything that is not a regular file of ours.
func (d *Dir) Save(name string, format int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", d.file(name), err)
	}
	data, err = json.Marshal(envelope{format, data})
	if err != nil {
		return fmt.Errorf("%s: %w", d.file(name), err)
	}
	if len(data) > MaxSize {
		return fmt.Errorf("%s: %d bytes are more than a state file may hold", d.file(name), len(data))
	}
	if err := d.mayReplace(name, format); err != nil {
		return err
	}
	return d.replace(name, data)
}

// Remove removes name; absent is fine.
func (d *Dir) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := os.Remove(d.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d *Dir) file(name string) string { return filepath.Join(d.path, name) }

// mayReplace lets a damaged file be replaced: it is ours, and of no use.
func (d *Dir) mayReplace(name string, format int) error {
	env, found, err := d.read(name)
	var why *Refusal
	switch {
	case errors.As(err, &why) && why.damaged:
		return nil
	case err != nil:
		return err
	case found && env.Format > format:
		return d.otherFormat(name, env.Format, format)
	}
	return nil
}

func (d *Dir) replace(name string, data []byte) (err error) {
	tmp, err := os.CreateTemp(d.path, "."+name+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), d.file(name))
}
