package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
)

// poison is what a server or a clone may put into any text (threat T27).
const poison = "a\x1b[31m\x07b\nc\u202ed\u009be\U000e0041f\xffg"

func TestLineIsOneRecordOfPrintableText(t *testing.T) {
	tests := []struct {
		name string
		utf8 bool
		in   string
		want string
	}{
		{"printable text stays", true, "gopls → ~/src · ok", "gopls → ~/src · ok"},
		{"what is not printable is shown as an escape", true, poison,
			`a\x1b[31m\ab\nc\u202ed\u009be\U000e0041f\xffg`},
		{"our own signs have ASCII spellings", false, "a → b · c … •••", "a -> b - c ... ***"},
		{"other letters are escaped where the locale has none", false, "straße", `stra\u00dfe`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (printer{utf8: tt.utf8}).clean(tt.in); got != tt.want {
				t.Errorf("clean(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestLineIsCapped(t *testing.T) {
	var b strings.Builder
	printer{w: &b}.line("%s", strings.Repeat("x", 1<<20))
	if got := b.Len(); got > maxLine+16 {
		t.Errorf("a line of 1 MiB prints %d bytes, want at most %d", got, maxLine+16)
	}
}

func TestJSONIsPrintableAndMeansTheSame(t *testing.T) {
	in := strings.ToValidUTF8(poison, "\ufffd")
	var b strings.Builder
	if err := (printer{w: &b}).json(in); err != nil {
		t.Fatal(err)
	}
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if !unicode.IsPrint(r) {
			t.Errorf("%q is in %q", r, b.String())
		}
	}
	var back string
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back != in {
		t.Errorf("read back %q, %v; want %q", back, err, in)
	}
}

func TestWriteCleansLinesAndKeepsThemApart(t *testing.T) {
	var b strings.Builder
	fmt.Fprint(printer{w: &b, utf8: true}, "mcpx: a\x1bb\n   hint: c\n")
	if want := "mcpx: a\\x1bb\n   hint: c\n"; b.String() != want {
		t.Errorf("wrote %q, want %q", b.String(), want)
	}
}

func TestHintTravelsWithTheError(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"none", errors.New("x"), ""},
		{"ours", fmt.Errorf("wrapped: %w", &failure{msg: "x", hint: "do y"}), "do y"},
		{"the daemon's", &api.Refusal{Err: api.Error{Msg: "x", Hint: "do y"}}, "do y"},
		{"the config's", config.Problem{Msg: "x", Hint: "do y"}, "do y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := config.HintOf(tt.err); got != tt.want {
				t.Errorf("HintOf(%v) = %q, want %q", tt.err, got, tt.want)
			}
		})
	}
}

func TestLocaleDecidesAboutUTF8InTheOrderOfTheC(t *testing.T) {
	tests := []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "C.utf8"}, true},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "C"}, false},
		{map[string]string{"LC_CTYPE": "C.UTF-8", "LANG": "C"}, true},
	}
	for _, tt := range tests {
		if got := isUTF8(func(n string) string { return tt.env[n] }); got != tt.want {
			t.Errorf("isUTF8(%v) = %v, want %v", tt.env, got, tt.want)
		}
	}
}

func TestTextIsWholeAndHarmless(t *testing.T) {
	long := strings.Repeat("x", 2*maxLine)
	tests := []struct {
		name      string
		utf8, tty bool
		in, want  string
	}{
		{"lines and tabs are a text's own", true, true, "a\n\tb\r\nc", "a\n\tb\nc\n"},
		{"nothing is cut", true, true, long, long + "\n"},
		{"what is not printable is shown as an escape", true, false, "a\x1b[31m\rb\u202e\xff", `a\x1b[31m\rb\u202e\xff` + "\n"},
		{"a pipe takes UTF-8 in any locale", false, false, "straße", "straße\n"},
		{"a terminal only where the locale has it", false, true, "straße", `stra\u00dfe` + "\n"},
		{"nothing is nothing", true, true, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if err := (printer{w: &b, utf8: tt.utf8, tty: tt.tty}).text(tt.in); err != nil || b.String() != tt.want {
				t.Errorf("text(%.40q) printed %.40q, %v; want %.40q", tt.in, b.String(), err, tt.want)
			}
		})
	}
}

func TestRawJSONIsWhatCame(t *testing.T) {
	const in = "{\"z\":1.50,\t\"a\" :12345678901234567890, \"s\":\"\\u0041\u202e\u007f\U000e0041\"}"
	const want = `{"z":1.50, "a" :12345678901234567890, "s":"\u0041\u202e\u007f\udb40\udc41"}` + "\n"
	var b strings.Builder
	if err := (printer{w: &b}).rawJSON([]byte(in)); err != nil || b.String() != want {
		t.Errorf("rawJSON printed %s, %v; want %s", b.String(), err, want)
	}
}
