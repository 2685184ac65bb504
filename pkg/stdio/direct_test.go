package stdio

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestDirectReadsADescriptorAndLeavesOthersAlone(t *testing.T) {
	plain := strings.NewReader("x")
	if got := Direct(plain); got != io.Reader(plain) {
		t.Errorf("Direct of a reader without a descriptor: got another reader")
	}
	r, w := pipe(t)
	d := Direct(r)
	if d == io.Reader(r) {
		t.Fatal("Direct of a pipe: got the pipe itself")
	}
	got := make(chan string)
	go func() {
		b, err := io.ReadAll(d)
		if err != nil {
			t.Errorf("ReadAll: %v, want the end of the input", err)
		}
		got <- string(b)
	}()
	for _, part := range []string{"first", "", "second"} {
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if text := <-got; text != "firstsecond" {
		t.Errorf("read %q", text)
	}
}

func TestDirectObeysADeadline(t *testing.T) {
	r, _ := pipe(t)
	d := Direct(r)
	ended := make(chan error)
	go func() {
		_, err := d.Read(make([]byte, 1))
		ended <- err
	}()
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}
