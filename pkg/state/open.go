package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Open makes or checks the directory. It never changes the mode or owner of
// one that is already there: a wrong one is an error naming both.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	// Lstat, since a link could lead into a directory somebody else may write.
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, &Refusal{Path: path, Msg: "is not a directory", hint: "move it away"}
	}
	uid, mode := owner(fi), fi.Mode().Perm()
	if uid != os.Geteuid() || mode&0o077 != 0 {
		return nil, &Refusal{
			Path: path,
			Msg:  fmt.Sprintf("has owner %d and mode %04o, and must be private to user %d", uid, mode, os.Geteuid()),
			hint: "chmod 0700 it if it is yours, else move it away",
		}
	}
	return &Dir{path: path}, nil
}

// read opens name once, without following a link or waiting for a FIFO's
// writer, and checks what it opened.
func (d *Dir) read(name string) (env envelope, found bool, err error) {
	if err := checkName(name); err != nil {
		return env, false, err
	}
	f, err := os.OpenFile(d.file(name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return env, false, nil
	case errors.Is(err, syscall.ELOOP):
		return env, false, &Refusal{Path: d.file(name), Msg: "is a link", hint: "remove the link"}
	case err != nil:
		return env, false, err
	}
	defer f.Close()
	if err := d.vouch(name, f); err != nil {
		return env, false, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return env, false, err
	}
	if len(data) > MaxSize {
		return env, false, d.tooLarge(name)
	}
	if err := json.Unmarshal(data, &env); err != nil {
		return envelope{}, false, d.damaged(name, err)
	}
	return env, true, nil
}

func (d *Dir) vouch(name string, f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	uid, mode := owner(fi), fi.Mode()
	switch {
	case !mode.IsRegular():
		return &Refusal{Path: d.file(name), Msg: "is not a regular file", hint: "move it away"}
	case uid != os.Geteuid() || mode.Perm()&0o022 != 0:
		return &Refusal{
			Path: d.file(name),
			Msg:  fmt.Sprintf("has owner %d and mode %04o, and must be writable by user %d only", uid, mode.Perm(), os.Geteuid()),
			hint: "move the file away",
		}
	case fi.Size() > MaxSize:
		return d.tooLarge(name)
	}
	return nil
}

func (d *Dir) tooLarge(name string) error {
	return &Refusal{Path: d.file(name), Msg: "is larger than a state file may be", hint: "move the file away"}
}

// checkName keeps a name from leading out of the directory.
func checkName(name string) error {
	if name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." {
		return fmt.Errorf("%q is not the name of a state file", name)
	}
	return nil
}

func owner(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
