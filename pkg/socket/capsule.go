package socket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// CapsuleSize is the size of a capsule in bytes; it is sparse.
const CapsuleSize = 1 << 40

// The capsule's header (design D8), frozen: 8 bytes of magic, the version and
// the page size as little-endian uint32. What lies behind them in the first page
// is package capsule's, and zero in a fresh one.
const (
	capsuleMagic   = "mcpxcap1"
	capsuleVersion = 1
	headerSize     = len(capsuleMagic) + 8
)

// CapsuleOpenAt is where in the header a daemon says, as a little-endian uint32,
// how many of the host's lines it has not dealt with.
const CapsuleOpenAt = 44

// OpenLines is that number, for the shim: with none open, nobody waits for the
// next daemon.
func OpenLines(f *os.File) int {
	var n [4]byte
	if _, err := f.ReadAt(n[:], CapsuleOpenAt); err != nil {
		return 0
	}
	return int(binary.LittleEndian.Uint32(n[:]))
}

// NewCapsule makes the file that lives as long as the shim: the third
// descriptor of the hand-over. Package capsule says what daemons keep in it.
func NewCapsule() (*os.File, error) {
	f, err := newCapsuleFile()
	if err != nil {
		return nil, fmt.Errorf("capsule: %w", err)
	}
	header := []byte(capsuleMagic)
	header = binary.LittleEndian.AppendUint32(header, capsuleVersion)
	header = binary.LittleEndian.AppendUint32(header, uint32(os.Getpagesize()))
	if _, err := f.WriteAt(header, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("capsule: %w", err)
	}
	return f, nil
}

// CheckCapsule refuses a file that is not a capsule this program understands.
// The file is untrusted: its kind is looked at first, so that the read cannot
// block, and 16 bytes are read (threat T17; T18 as design D8 has it).
func CheckCapsule(f *os.File) error {
	if err := onDescriptor(f, checkCapsuleFile); err != nil {
		return fmt.Errorf("capsule: %w", err)
	}
	header := make([]byte, headerSize)
	if _, err := f.ReadAt(header, 0); errors.Is(err, io.EOF) {
		return errors.New("capsule: too short")
	} else if err != nil {
		return fmt.Errorf("capsule: %w", err)
	}
	rest := header[len(capsuleMagic):]
	version, page := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
	switch {
	case string(header[:len(capsuleMagic)]) != capsuleMagic:
		return errors.New("capsule: not one of mcpx")
	case version != capsuleVersion:
		return fmt.Errorf("capsule: version %d, not %d", version, capsuleVersion)
	case int(page) != os.Getpagesize():
		return fmt.Errorf("capsule: pages of %d bytes, not %d", page, os.Getpagesize())
	}
	return nil
}
