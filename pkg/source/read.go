package source

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
)

// MaxSize is the largest config file, in bytes (threat T5).
const MaxSize = 1 << 20

// readAll reads an open file whole, when it is a regular file of bearable size.
func readAll(f *os.File, fi fs.FileInfo, path string) ([]byte, *config.Problem) {
	if !fi.Mode().IsRegular() {
		return nil, refusal(path, "is not a regular file", "write the config into a file of its own")
	}
	// The size may have grown since Stat: what is read is what counts.
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	switch {
	case err != nil:
		return nil, refusal(path, canon.Reason(err).Error(), "make it readable")
	case len(data) > MaxSize:
		return nil, refusal(path, fmt.Sprintf("is larger than %d bytes", MaxSize), "a config is smaller than that: is it the right file?")
	}
	return data, nil
}

func owner(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

func group(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Gid)
	}
	return -1
}
