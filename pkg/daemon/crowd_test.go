package daemon

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/api"
)

func TestCrowded(t *testing.T) {
	full := &api.Error{
		Msg:  "the daemon has 116 of 128 descriptors open and takes no more sessions",
		Hint: "close some sessions (mcpx status), or raise the limit of open files where the daemon is started (ulimit -n, LimitNOFILE=)",
	}
	tests := []struct {
		name        string
		used, limit int
		want        *api.Error
	}{
		{"room", 100, 128, nil},
		{"the last tenth is for those who are in", 116, 128, full},
		{"a system that does not say", 116, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, crowded(tt.used, tt.limit)); diff != "" {
				t.Errorf("crowded (-want +got):\n%s", diff)
			}
		})
	}
	if used, limit := descriptors(); used < 3 || limit < used {
		t.Errorf("descriptors: %d of %d", used, limit)
	}
}

func TestAReaderThatIsGoneIsNoticed(t *testing.T) {
	open := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	}
	r, w := open()
	defer w.Close()
	gone := make(chan bool)
	go func() { gone <- awaitReaderGone(w) }()
	if _, err := w.WriteString("unread"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
		t.Fatal("a reader that only does not read is called gone")
	default:
	}
	r.Close()
	if !<-gone {
		t.Error("a reader that is gone was not noticed")
	}

	r, w = open()
	defer r.Close()
	go func() { gone <- awaitReaderGone(w) }()
	w.Close()
	if <-gone {
		t.Error("our own close was taken for the reader's")
	}
}
