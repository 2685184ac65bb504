package socket

import (
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func capsule(t *testing.T) *os.File {
	t.Helper()
	f, err := NewCapsule()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestCapsuleIsAHeaderAndNothingElse(t *testing.T) {
	f := capsule(t)
	if err := CheckCapsule(f); err != nil {
		t.Errorf("CheckCapsule: %v", err)
	}
	want := []byte("mcpxcap1\x01\x00\x00\x00")
	want = binary.LittleEndian.AppendUint32(want, uint32(os.Getpagesize()))
	want = append(want, make([]byte, 2*os.Getpagesize()-len(want))...)
	got := make([]byte, len(want))
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != string(want) {
		t.Errorf("%v; the first two pages start %q", err, got[:32])
	}
	info, err := f.Stat()
	if err != nil || info.Size() != 1<<40 {
		t.Errorf("size %d, %v, want 1 TiB", info.Size(), err)
	}
}

func TestCapsuleKeepsItsSizeAndTakesWrites(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only memory files have seals")
	}
	f := capsule(t)
	for _, size := range []int64{0, 1 << 39, 1 << 41} {
		if err := f.Truncate(size); err == nil {
			t.Errorf("it was resized to %d", size)
		}
	}
	if _, err := f.WriteAt([]byte("line\n"), 1<<30); err != nil {
		t.Errorf("a write: %v", err)
	}
}

func TestCheckCapsuleRefusesEveryFlippedByte(t *testing.T) {
	f := capsule(t)
	header := make([]byte, headerSize)
	if _, err := f.ReadAt(header, 0); err != nil {
		t.Fatal(err)
	}
	for i, b := range header {
		f.WriteAt([]byte{b ^ 0x40}, int64(i))
		if err := CheckCapsule(f); err == nil {
			t.Errorf("byte %d flipped: it was taken", i)
		}
		f.WriteAt([]byte{b}, int64(i))
	}
	if err := CheckCapsule(f); err != nil {
		t.Errorf("restored: %v", err)
	}
}

func TestCheckCapsuleNamesANewerOne(t *testing.T) {
	f := capsule(t)
	f.WriteAt([]byte{2}, int64(len(capsuleMagic)))
	if err := CheckCapsule(f); err == nil || err.Error() != "capsule: version 2, not 1" {
		t.Errorf("got %v", err)
	}
}

// A file that would block or never end is refused by its kind, unread.
func TestCheckCapsuleReadsNoForeignKind(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	named, err := os.Create(t.TempDir() + "/capsule")
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	for _, f := range []*os.File{r, zero, named} {
		start := time.Now()
		err := CheckCapsule(f)
		if err == nil || !strings.HasPrefix(err.Error(), "capsule: ") || time.Since(start) > time.Second {
			t.Errorf("%s: %v after %v", f.Name(), err, time.Since(start))
		}
	}
}
