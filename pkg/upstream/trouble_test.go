package upstream

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTroubleSaysWhatIsKnown(t *testing.T) {
	tests := []struct {
		name string
		in   Trouble
		want string
	}{
		{"a reason alone", Trouble{Reason: `no "x" <here>`}, `{"mcpx":{"reason":"no \"x\" <here>"}}`},
		{"all there is", Trouble{Reason: "r", Server: "s", Hint: "h", Exit: "exit status 3", Stderr: []string{"a", "b"}},
			`{"mcpx":{"reason":"r","server":"s","hint":"h","exit":"exit status 3","stderr":["a","b"]}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(tt.in.Data())); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTroubleHoldsTheLastLinesOnly(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprint(i))
	}
	var got struct{ Mcpx struct{ Stderr []string } }
	if err := json.Unmarshal(Trouble{Reason: "r", Stderr: lines}.Data(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines[80:], got.Mcpx.Stderr); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
}
