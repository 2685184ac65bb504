package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/roof"
)

func TestOffersReadWhatTheyCan(t *testing.T) {
	tests := []struct {
		name string
		list listed
		want []offer
	}{
		{"a tool", listed{roof.Tools, []byte(`{"tools":[{"name":"a","title":"A","description":"does a","inputSchema":{"x":1.0}}]}`)},
			[]offer{{name: "a", title: "A", about: "does a", takes: []byte(`{"x":1.0}`)}}},
		{"a resource is called by its URI", listed{roof.Resources, []byte(`{"resources":[{"name":"page","uri":"r:1"},{"name":"page","title":"Page","uri":"r:2"}]}`)},
			[]offer{{name: "r:1", title: "page"}, {name: "r:2", title: "Page"}}},
		{"a template by its own", listed{roof.Templates, []byte(`{"resourceTemplates":[{"uriTemplate":"t:{x}"}]}`)}, []offer{{name: "t:{x}"}}},
		{"members of another type cost only themselves", listed{roof.Tools, []byte(`{"tools":[{"name":"a","description":7,"title":null},"b",{}]}`)},
			[]offer{{name: "a"}, {}, {}}},
		{"whose each is, under one roof", listed{roof.Tools,
			[]byte(`{"tools":[{"name":"a__x"},{"name":"c__y"}],"_meta":{"dev.mcpx/servers":[{"server":"a","items":1},{"server":"b","items":0},{"server":"c","items":1}]}}`)},
			[]offer{{name: "a__x", server: "a"}, {name: "c__y", server: "c"}}},
		{"one that says more than there is", listed{roof.Tools, []byte(`{"tools":[{"name":"x"}],"_meta":{"dev.mcpx/servers":[{"server":"a","items":1000000000}]}}`)},
			[]offer{{name: "x", server: "a"}}},
		{"nothing", listed{roof.Tools, []byte(`{}`)}, []offer{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.list.offers(), cmp.AllowUnexported(offer{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfferMatchesAllWordsInAnyCase(t *testing.T) {
	o := offer{name: "go_search", title: "Symbols", about: "Find symbols\nin the Workspace"}
	tests := map[string]bool{
		"": true, "search": true, "SEARCH workspace": true, "symbols search": true, "search nowhere": false, "go_search find": true, "searchsymbols": false,
	}
	for words, want := range tests {
		if got := o.matches(strings.Fields(words)); got != want {
			t.Errorf("matches(%q) = %v, want %v", words, got, want)
		}
	}
}

func TestSummaryIsTheFirstLine(t *testing.T) {
	tests := []struct {
		o    offer
		want string
	}{
		{offer{about: "\n  first \r\nsecond"}, "first"}, {offer{title: "a title"}, "a title"}, {offer{title: "t", about: "about"}, "about"}, {offer{}, ""},
	}
	for _, tt := range tests {
		if got := tt.o.summary(); got != tt.want {
			t.Errorf("%+v.summary() = %q, want %q", tt.o, got, tt.want)
		}
	}
}

func TestOfferTableFitsTheTerminal(t *testing.T) {
	offers := []offer{{name: "a", server: "one", about: strings.Repeat("word ", 20)}, {name: "longer", server: "two", about: "short"}}
	tests := []struct {
		name  string
		fit   int
		utf8  bool
		wants string
	}{
		{"cut at its end", 40, true, "NAME    SERVER  DESCRIPTION\na       one     word word word word wor…\nlonger  two     short\n"},
		{"as ASCII says it", 40, false, "NAME    SERVER  DESCRIPTION\na       one     word word word word w...\nlonger  two     short\n"},
		{"a terminal too narrow leaves a little", 10, true, "NAME    SERVER  DESCRIPTION\na       one     word word w…\nlonger  two     short\n"},
		{"whole in a pipe", 0, true, "NAME    SERVER  DESCRIPTION\na       one     " + strings.TrimSpace(strings.Repeat("word ", 20)) + "\nlonger  two     short\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := offerTable(roof.Tools, offers, true)
			table.fit = tt.fit
			var b strings.Builder
			printer{w: &b, utf8: tt.utf8}.table(table)
			if diff := cmp.Diff(tt.wants, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJoinedKeepsWhatItDoesNotKnow(t *testing.T) {
	lists := []listed{
		{roof.Resources, []byte(`{"z":1.0,"resources":[{"uri":"r:1","n":12345678901234567890},{"uri":"r:2"}],"_meta":{"x":1}}`)},
		{roof.Templates, []byte(`{"resourceTemplates":[{"uriTemplate":"t:{x}"}],"_meta":{"y":1}}`)},
	}
	roofed := []listed{{roof.Tools, []byte(`{"tools":[{"name":"a__x"},{"name":"b__y"}],"_meta":{"dev.mcpx/servers":[{"server":"a","items":1},{"server":"b","items":1}]}}`)}}
	tests := []struct {
		name   string
		lists  []listed
		search []string
		want   string
	}{
		{"one is as it came", lists[:1], nil, string(lists[0].result)},
		{"the items of the second stand in the first", lists, nil,
			`{"z":1.0,"resources":[{"uri":"r:1","n":12345678901234567890},{"uri":"r:2"}],"_meta":{"x":1},"resourceTemplates":[{"uriTemplate":"t:{x}"}]}`},
		{"only what is looked for", lists, []string{"R:1"}, `{"z":1.0,"resources":[{"uri":"r:1","n":12345678901234567890}],"_meta":{"x":1},"resourceTemplates":[]}`},
		{"parts that are no longer true are gone", roofed, []string{"y"}, `{"tools":[{"name":"b__y"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(joined(tt.lists, tt.search))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
