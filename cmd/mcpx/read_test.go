package main

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/dezren39/mcpx/pkg/source"
)

func TestReadRegularWaitsForNobodyAndReadsNoMore(t *testing.T) {
	dir := t.TempDir()
	pipe, full, over := filepath.Join(dir, "pipe"), filepath.Join(dir, "full"), filepath.Join(dir, "over")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	const most = 1 << 20
	for name, size := range map[string]int{full: most, over: most + 1} {
		if err := os.WriteFile(name, bytes.Repeat([]byte{'x'}, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := readRegular(full, most); err != nil || len(data) != most {
		t.Errorf("a file as large as may be: got %d bytes, %v", len(data), err)
	}
	for name, want := range map[string]string{pipe: "not a regular file", dir: "not a regular file", over: "larger than 1 MiB"} {
		if _, err := readRegular(name, most); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %q", filepath.Base(name), err, want)
		}
	}
}

// TestCheckReadsWhatTheDaemonReads: what check calls good must not be refused by
// the daemon for its size.
func TestCheckReadsWhatTheDaemonReads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, append([]byte("{}"), bytes.Repeat([]byte{' '}, source.MaxSize)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readConfig(file); err == nil || err.Error() != file+": larger than 1 MiB" {
		t.Errorf("got %v", err)
	}
}
