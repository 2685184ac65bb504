package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const object = ` { "a":1 ,"b":{"a":2},"c\/d":[3], "a" : "last"}`

func TestMemberFindsTheLastOfAName(t *testing.T) {
	for key, want := range map[string]string{"a": `"last"`, "b": `{"a":2}`, "c/d": `[3]`} {
		if at, ok := Member([]byte(object), key); !ok || object[at.Start:at.End] != want {
			t.Errorf("Member(%q) = %v %v, want %s", key, at, ok, want)
		}
	}
	for _, key := range []string{"d", "A", "", `c\/d`} {
		if at, ok := Member([]byte(object), key); ok {
			t.Errorf("Member(%q) = %s, want none", key, object[at.Start:at.End])
		}
	}
	for _, broken := range []string{``, `[]`, `null`, `{`, `{"a"`, `{"a":`, `{"a":x`, `{"a`} {
		if _, ok := Member([]byte(broken), "a"); ok {
			t.Errorf("Member found a member in %s", broken)
		}
	}
}

func TestReplaceMember(t *testing.T) {
	for _, tt := range []struct{ name, key, want string }{
		{"in place", "b", ` { "a":1 ,"b":0,"c\/d":[3], "a" : "last"}`},
		{"the last of several", "a", ` { "a":1 ,"b":{"a":2},"c\/d":[3], "a" : 0}`},
		{"or added", "e\"", ` { "a":1 ,"b":{"a":2},"c\/d":[3], "a" : "last","e\"":0}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(ReplaceMember([]byte(object), tt.key, []byte("0"))); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDeleteMember(t *testing.T) {
	for _, tt := range []struct{ name, object, key, want string }{
		{"the first", `{"a":1, "b":2}`, "a", `{"b":2}`},
		{"the last", `{"a":1 , "b":2 }`, "b", `{"a":1  }`},
		{"the only one", `{ "a":1 }`, "a", `{ }`},
		{"one in the middle", `{"a":1,"b":2,"c":3}`, "b", `{"a":1,"c":3}`},
		{"all of a name", object, "a", ` { "b":{"a":2},"c\/d":[3]}`},
		{"none", `{"a":1}`, "b", `{"a":1}`},
		{"of what is cut off", `{"a":1`, "a", `{"a":1`},
		{"of null", `null`, "a", `null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(DeleteMember([]byte(tt.object), tt.key)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestElements(t *testing.T) {
	for _, tt := range []struct {
		array string
		want  []string
	}{
		{`[]`, nil}, {` [ ] `, nil}, {`[1]`, []string{`1`}},
		{` [ {"a":[1,2]} , "]", [3],null ]`, []string{`{"a":[1,2]}`, `"]"`, `[3]`, `null`}},
		{`{}`, nil}, {`null`, nil}, {``, nil}, {`[`, nil}, {`[1,x]`, []string{`1`}}, {`[1 2]`, []string{`1`}},
	} {
		var got []string
		for at := range Elements([]byte(tt.array)) {
			got = append(got, tt.array[at.Start:at.End])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Elements(%s) (-want +got):\n%s", tt.array, diff)
		}
	}
}

func TestElementsAndMembersStopWhenAsked(t *testing.T) {
	n := 0
	for range Elements([]byte(`[1,2,3]`)) {
		n++
		break
	}
	for range Members([]byte(`{"a":1,"b":2}`)) {
		n++
		break
	}
	if n != 2 {
		t.Errorf("went on %d times, want 2", n)
	}
}
