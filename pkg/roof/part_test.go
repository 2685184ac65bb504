package roof

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPartsSayWhoseTheItemsAre(t *testing.T) {
	tests := []struct {
		name   string
		kind   Kind
		pages  []Page
		failed map[string]string
		want   []Part
	}{
		{"in the order of the list, also who has none", Tools,
			pages("b", `{"tools":[{"name":"x"}]}`, "a", `{"tools":[{"name":"y"},{"name":"z"}]}`, "c", `{"tools":[]}`), nil,
			[]Part{{"a", 2, ""}, {"b", 1, ""}, {"c", 0, ""}}},
		{"who failed, and why", Tools, pages("a", `{"tools":[{"name":"y"}]}`, "b", ``), map[string]string{"b": "server \"b\": no\nanswer"},
			[]Part{{"a", 1, ""}, {"b", 0, "server \"b\": no\nanswer"}}},
		{"what is left out", Resources,
			pages("a", `{"resources":[{"uri":"r:1"},{"uri":"r:2"}]}`, "b", `{"resources":[{"uri":"r:1"},{"uri":"r:2"},{"uri":"r:3"}]}`), nil,
			[]Part{{"a", 2, ""}, {"b", 1, `"r:1" is left out: server a has it (and 1 more)`}}},
		{"no servers", Tools, nil, nil, []Part{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := Merge(tt.kind, tt.pages).Answer(tt.failed)
			if diff := cmp.Diff(tt.want, PartsOf(answer)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", answer, diff)
			}
		})
	}
	if got := PartsOf([]byte(`{"tools":[],"_meta":{"dev.mcpx/servers":7}}`)); got != nil {
		t.Errorf("of what is not ours: %v", got)
	}
}
