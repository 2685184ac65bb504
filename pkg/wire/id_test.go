package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCanonicalIDIsOneForOneID(t *testing.T) {
	digits := strings.Repeat("123", 100)
	tests := []struct {
		name, raw, want string
		ok              bool
	}{
		{"an integer", `1`, `1`, true},
		{"a string of digits is another id", `"1"`, `"1`, true},
		{"minus zero is zero", `-0`, `0`, true},
		{"a negative integer", `-12`, `-12`, true},
		{"an integer above 2^53 keeps its digits", `9007199254740993`, `9007199254740993`, true},
		{"and one of 300 digits", digits, digits, true},
		{"a string", `"A"`, `"A`, true},
		{"the same string, escaped", `"\u0041"`, `"A`, true},
		{"a pair of surrogates", `"\ud83d\ude00"`, `"😀`, true},
		{"the empty string", `""`, `"`, true},
		{"half a pair is no id", `"\ud83d"`, ``, false},
		{"a NUL is no id", `"\u0000"`, ``, false},
		{"a fraction is no id", `1.5`, ``, false},
		{"nor is 1.0", `1.0`, ``, false},
		{"an exponent is no id", `1e3`, ``, false},
		{"null is no id", `null`, ``, false},
		{"an object is no id", `{}`, ``, false},
		{"nothing is no id", ``, ``, false},
		{"an open string is no id", `"a`, ``, false},
		{"bad UTF-8 is no id", "\"\xff\"", ``, false},
		{"a leading zero is no id", `01`, ``, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := CanonicalID([]byte(tt.raw))
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("CanonicalID(%s) = %q, %v; want %q, %v", tt.raw, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestUintReadsCountedIDs(t *testing.T) {
	for raw, want := range map[string]uint64{`0`: 0, `7`: 7, `"7"`: 7, `9007199254740993`: 9007199254740993, `9999999999999999999`: 9999999999999999999} {
		if got, ok := Uint([]byte(raw)); !ok || got != want {
			t.Errorf("Uint(%s) = %d, %v; want %d", raw, got, ok, want)
		}
	}
	for _, raw := range []string{``, `""`, `"`, `-1`, `01`, `"01"`, `1.5`, `"a"`, `null`, `99999999999999999999`, `"1`} {
		if got, ok := Uint([]byte(raw)); ok {
			t.Errorf("Uint(%s) = %d, want none", raw, got)
		}
	}
}

// FuzzCanonicalID: two ids are one key exactly when encoding/json holds them for
// one value, and everything else is refused.
func FuzzCanonicalID(f *testing.F) {
	for _, s := range []string{`1`, `"1"`, `"A"`, `"\u0041"`, `-0`, `0`, `1.0`, `null`, `"\ud800"`, `"\ufffd"`, `{}`, ``} {
		f.Add(s, `0`)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		ka, oka := CanonicalID([]byte(a))
		kb, okb := CanonicalID([]byte(b))
		va, wanta := idValue(a)
		vb, wantb := idValue(b)
		if oka != wanta || okb != wantb {
			t.Fatalf("CanonicalID: %q %v, %q %v; want %v and %v", a, oka, b, okb, wanta, wantb)
		}
		if oka && okb && (ka == kb) != (va == vb) {
			t.Errorf("%s and %s: keys %q and %q, values %v and %v", a, b, ka, kb, va, vb)
		}
	})
}

// idValue is what encoding/json makes of an id.
func idValue(raw string) (any, bool) {
	if !utf8.ValidString(raw) || strings.TrimSpace(raw) != raw {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || !json.Valid([]byte(raw)) {
		return nil, false
	}
	switch v := v.(type) {
	case string:
		return v, !strings.ContainsRune(v, 0) && (!strings.Contains(v, "\ufffd") || plain([]byte(raw)))
	case json.Number:
		if v == "-0" {
			v = "0"
		}
		return v, !strings.ContainsAny(string(v), ".eE")
	}
	return nil, false
}
