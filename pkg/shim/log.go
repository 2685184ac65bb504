package shim

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	maxLog    = 4 << 20 // bytes; a longer log is put aside at the next start
	maxWords  = 2 << 10 // bytes of the log in an error
	lastLines = 5
)

// logFile is the daemon's log, opened for appending, and where it ended before.
type logFile struct {
	*os.File
	before int64
}

// openLog is called under the start lock, so two never put it aside at once.
func openLog(stateDir string) (*logFile, error) {
	path := filepath.Join(stateDir, logName)
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, fmt.Errorf("the daemon's log: %w", err)
	}
	if info, err := os.Lstat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the daemon's log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the daemon's log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("the daemon's log: %w", err)
	}
	return &logFile{File: f, before: info.Size()}, nil
}

// lastWords are the last lines written since the log was opened, as the tail of
// an error; "" when there are none.
func (l *logFile) lastWords() string {
	info, err := l.Stat()
	if err != nil {
		return ""
	}
	from := max(l.before, info.Size()-maxWords)
	text := make([]byte, max(0, info.Size()-from))
	n, _ := l.ReadAt(text, from)
	lines := bytes.Split(bytes.TrimSpace(text[:n]), []byte("\n"))
	lines = lines[max(0, len(lines)-lastLines):]
	if words := bytes.Join(lines, []byte("\n   ")); len(words) > 0 {
		return "; its last words:\n   " + string(words)
	}
	return ""
}
