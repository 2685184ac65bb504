package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArgumentsAreOneObjectOnOneLine(t *testing.T) {
	tests := []struct{ name, in, want, wrong string }{
		{"digits, names and their order stay", "{\n \"z\": 12345678901234567890.50,\r\n\t\"a\": \"x\\u2028\\n\", \"a\": 1e400 }\n", `{"z":12345678901234567890.50,"a":"x\u2028\n","a":1e400}`, ""},
		{"an empty one", " {} ", `{}`, ""},
		{"a list", `[{}]`, "", "call: here: not a JSON object"},
		{"null", `null`, "", "call: here: not a JSON object"},
		{"nothing", ``, "", "call: here: not JSON at byte 0: unexpected end of JSON input"},
		{"two", `{} {}`, "", "call: here: not JSON at byte 4: invalid character '{' after top-level value"},
		{"another encoding", "{\"a\":\"\xff\"}", "", "call: here: not UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := oneObject("here", []byte(tt.in))
			wrong := ""
			if err != nil {
				wrong = err.Error()
			}
			if string(got) != tt.want || wrong != tt.wrong {
				t.Errorf("oneObject(%q) = %s, %q; want %s, %q", tt.in, got, wrong, tt.want, tt.wrong)
			}
		})
	}
}

func TestProgressTextSaysHowFarItIs(t *testing.T) {
	tests := []struct{ params, want string }{
		{`{"progressToken":2,"progress":3,"total":10,"message":"indexing"}`, "  3/10  indexing"},
		{`{"progress":0.5}`, "  0.5"},
		{`{"message":"indexing"}`, "  indexing"},
		{`{"progress":"many"}`, ""},
		{`[]`, ""},
	}
	for _, tt := range tests {
		if got := progressText([]byte(tt.params)); got != tt.want {
			t.Errorf("progressText(%s) = %q, want %q", tt.params, got, tt.want)
		}
	}
}

func TestReadResultShowsTextAndNamesTheRest(t *testing.T) {
	tests := []struct {
		name, result string
		want         []string
		failed, bad  bool
	}{
		{"texts", `{"content":[{"type":"text","text":"a\nb\n"},{"type":"text","text":""}]}`, []string{"a\nb", ""}, false, false},
		{"text and the same as structure is shown once", `{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`, []string{`{"a":1}`}, false, false},
		{"structure alone", `{"content":[],"structuredContent":{"a":1.0}}`, []string{`{"a":1.0}`}, false, false},
		{"an image", `{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AAAA", 1024) + `"}]}`, []string{"[image image/png 3 KiB]"}, false, false},
		{"a name cannot begin a line", `{"content":[{"type":"resource_link","uri":"f:x","name":"a\nmcpx: b"}]}`, []string{"[link f:x a mcpx: b]"}, false, false},
		{"its own failure", `{"content":[],"isError":true}`, nil, true, false},
		{"no content", `{}`, nil, false, false},
		{"null", `null`, nil, false, true},
		{"a list", `[]`, nil, false, true},
		{"content of another shape", `{"content":{}}`, nil, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, failed, err := readResult([]byte(tt.result))
			if diff := cmp.Diff(tt.want, got); diff != "" || failed != tt.failed || (err != nil) != tt.bad {
				t.Errorf("failed %v, err %v (-want +got):\n%s", failed, err, diff)
			}
		})
	}
}
