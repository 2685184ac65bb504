package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// readRegular reads a file of at most so many bytes whole. It waits for nobody:
// a pipe or device is no file of settings.
func readRegular(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("larger than %d MiB", most>>20)
	}
	return data, err
}
