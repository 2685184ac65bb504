package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/demo"
)

func TestDemoReportSaysWhatIsWrongAndFails(t *testing.T) {
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p := testProgram(map[string]string{"LANG": "C.UTF-8"})
	p.stdout, p.stderr = out, out
	report := &demo.Report{Processes: 1, First: 84 * time.Millisecond, Then: 200 * time.Microsecond, Sessions: []demo.Session{
		{Dir: "/tmp/src/shop", PID: 31337, RunIn: "/tmp/src/shop", Roots: []string{"file:///tmp/src/shop"}, Saw: []string{"OnlyOnMain"}},
		{Dir: "/tmp/src/shop-feature", PID: 31337, RunIn: "/tmp/src/shop", Peer: 1, Wrong: []string{"it saw nothing, not OnlyOnFeature"}},
	}}
	if err := p.demoReport(report, false); !errors.Is(err, exitCode(1)) {
		t.Errorf("demoReport: %v, want exit code 1", err)
	}
	got, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "demo-wrong.txt", got)
}

func TestMillisKeepsWhatMatters(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{200 * time.Microsecond, "0.2 ms"}, {84 * time.Millisecond, "84 ms"}, {6200 * time.Millisecond, "6200 ms"}, {95 * time.Second, "95 s"},
	}
	for _, tt := range tests {
		if got := millis(tt.d); got != tt.want {
			t.Errorf("millis(%v) = %q, want %q", tt.d, got, tt.want)
		}
	}
}
