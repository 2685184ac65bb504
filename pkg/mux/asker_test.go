package mux

import "testing"

func TestDecideAsk(t *testing.T) {
	a, b := &Port{}, &Port{}
	both, none := []*Port{a, b}, []*Port(nil)
	const sampling = "sampling/createMessage"
	tests := []struct {
		name   string
		in     askable
		method string
		port   *Port
		want   askVerdict
	}{
		{"nobody was offered", askable{attached: both, calling: []*Port{a}}, sampling, nil, notOffered},
		{"what mcpx does not know goes to the only caller", askable{attached: both, calling: []*Port{a}}, "vendor/x", a, asked},
		{"two callers", askable{asking: AskCaller, attached: both, calling: both}, sampling, nil, ambiguous},
		{"one caller", askable{asking: AskCaller, attached: both, calling: []*Port{b}}, sampling, b, asked},
		{"no caller on a shared instance", askable{asking: AskCaller, attached: []*Port{a}}, sampling, nil, ambiguous},
		{"no caller on a session's own", askable{asking: AskOwner, attached: []*Port{a}}, sampling, a, asked},
		{"no caller, two connections of the owner", askable{asking: AskOwner, attached: both}, sampling, nil, ambiguous},
		{"nobody is there", askable{asking: AskOwner, attached: none}, sampling, nil, notOffered},
		{"another's given up call", askable{asking: AskCaller, attached: both, calling: []*Port{a}, ghosts: []ghost{{port: b}}}, sampling, nil, ambiguous},
		{"its own given up call", askable{asking: AskCaller, attached: both, calling: []*Port{a}, ghosts: []ghost{{port: a}}}, sampling, a, asked},
		{"the owner of the task it names", askable{asking: AskCaller, attached: both, calling: both, related: b}, sampling, b, asked},
		{"which offers nothing more than asking does", askable{attached: both, related: b}, sampling, nil, notOffered},
		{"a given up call on a session's own", askable{asking: AskOwner, attached: both, calling: []*Port{a}, ghosts: []ghost{{port: b}}}, sampling, a, asked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			port, got := decideAsk(tt.in, tt.method)
			if port != tt.port || got != tt.want {
				t.Errorf("decideAsk = %p, %v, want %p, %v", port, got, tt.port, tt.want)
			}
		})
	}
}
