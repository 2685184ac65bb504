package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzScan: what Scan accepts, encoding/json reads the same way whether it tells
// capitals apart or not; edits change the bytes they name and no others; what it
// refuses as broken is broken.
func FuzzScan(f *testing.F) {
	for _, bb := range benchLines()[:1] {
		f.Add(bb.line)
	}
	for _, s := range []string{
		`{"id":1,"method":"m","params":{"name":"n","uri":"u","_meta":{"progressToken":"t","io.modelcontextprotocol/logLevel":"x"}}}`,
		`{"id":"\u0041","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":3},"resultType":"task"}}`,
		`{"id":null,"error":{"code":1}}`, `{"method":"m","params":{"requestId":1,"progressToken":2}}`,
		`{"id":1,"method":"m","params":{"Name":"a","n\u0061me":"b"},"paramſ":{}}`, `[1]`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		env, err := Scan(line)
		if err != nil {
			broken := !json.Valid(line) || !utf8.Valid(line) || strings.Contains(err.Error(), "deeper")
			if code := err.(*ScanError).Code; broken != (code == CodeParse) {
				t.Fatalf("%q: code %d (%v); broken is %v", line, code, err, broken)
			}
			return
		}
		var exact map[string]json.RawMessage
		var loose looseMessage
		if err := json.Unmarshal(line, &exact); err != nil {
			t.Fatalf("%q was accepted: %v", line, err)
		}
		if err := json.Unmarshal(line, &loose); err != nil {
			t.Fatalf("%q was accepted: %v", line, err)
		}
		same(t, "id", env.Bytes(env.ID), exact["id"], loose.ID)
		same(t, "method", env.Bytes(env.Method), exact["method"], loose.Method)
		same(t, "params", env.Bytes(env.Params), exact["params"], loose.Params)
		if len(loose.Params) > 0 {
			sameParams(t, &env)
		}
		if raw := exact["method"]; raw != nil {
			var method string
			if err := json.Unmarshal(raw, &method); err != nil || method != env.Text(env.Method) {
				t.Errorf("method %q, want %q", env.Text(env.Method), method)
			}
		}
		checkEdits(t, &env)
	})
}

// looseMessage and looseParams are filled without regard to capitals, the last
// of several winning.
type looseMessage struct{ ID, Method, Params json.RawMessage }

type looseParams struct {
	Name, URI, Cursor, TaskID, RequestID, ProgressToken json.RawMessage
	Meta                                                json.RawMessage `json:"_meta"`
}

func sameParams(t *testing.T, env *Envelope) {
	var exact map[string]json.RawMessage
	var loose looseParams
	if json.Unmarshal(env.Bytes(env.Params), &exact) != nil || json.Unmarshal(env.Bytes(env.Params), &loose) != nil {
		t.Fatalf("params %q were accepted", env.Bytes(env.Params))
	}
	same(t, "name", env.Bytes(env.Name), exact["name"], loose.Name)
	same(t, "uri", env.Bytes(env.URI), exact["uri"], loose.URI)
	same(t, "cursor", env.Bytes(env.Cursor), exact["cursor"], loose.Cursor)
	same(t, "taskId", env.Bytes(env.TaskID), exact["taskId"], loose.TaskID)
	same(t, "requestId", env.Bytes(env.RequestID), exact["requestId"], loose.RequestID)
	same(t, "progressToken", env.Bytes(env.Token), exact["progressToken"], loose.ProgressToken)
	if env.Result.Empty() {
		same(t, "_meta", env.Bytes(env.Meta), exact["_meta"], loose.Meta)
	}
}

// same wants three readings of a member to agree; null is as good as absent.
func same(t *testing.T, name string, ours []byte, theirs ...json.RawMessage) {
	t.Helper()
	for _, raw := range theirs {
		if string(ours) == "null" || string(raw) == "null" {
			ours, raw = bytes.TrimPrefix(ours, []byte("null")), bytes.TrimPrefix(raw, []byte("null"))
		}
		if !bytes.Equal(ours, raw) {
			t.Errorf("%s: we read %q, another reads %q", name, ours, raw)
		}
	}
}

func checkEdits(t *testing.T, env *Envelope) {
	spans := []Span{env.ProgressToken, env.Name, env.Method, env.ID}
	var same, marked []Edit
	marks := 0
	for _, at := range spans {
		same = append(same, Edit{at, env.Bytes(at)})
		marked = append(marked, Edit{at, []byte{0}})
		if !at.Empty() {
			marks++
		}
	}
	if got := env.Append(nil, same...); string(got) != string(env.Line)+"\n" {
		t.Errorf("edits that change nothing made %q of %q", got, env.Line)
	}
	got := env.Append(nil, marked...)
	rest := env.Line
	for _, piece := range bytes.Split(got[:len(got)-1], []byte{0}) {
		i := bytes.Index(rest, piece)
		if i < 0 {
			t.Fatalf("%q holds %q, which is not in the line", got, piece)
		}
		rest = rest[i+len(piece):]
	}
	if n := bytes.Count(got, []byte{0}); n != marks {
		t.Errorf("%d edits seen, want %d", n, marks)
	}
}

// FuzzObject: lookups and edits of raw objects agree with encoding/json and stay
// within what is valid.
func FuzzObject(f *testing.F) {
	f.Add([]byte(object), "a")
	f.Add([]byte(`{"a":1 , "b":[{}] }`), "b")
	f.Add([]byte(`[1,{"a":2}]`), "a")
	f.Fuzz(func(t *testing.T, raw []byte, key string) {
		Batch(raw)
		if !utf8.Valid(raw) || !utf8.ValidString(key) || !json.Valid(raw) || skipValue(raw, skipSpace(raw, 0), 1) < 0 {
			DeleteMember(raw, key)
			InsertMembers(raw, []byte(`"x":1`))
			return
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			return
		}
		at, ok := Member(raw, key)
		if value, exists := want[key]; ok != exists || !bytes.Equal(raw[at.Start:at.End], value) {
			t.Fatalf("Member(%q, %q) = %q, want %q", raw, key, raw[at.Start:at.End], value)
		}
		check := func(edited []byte, present bool) {
			var got map[string]json.RawMessage
			if err := json.Unmarshal(edited, &got); err != nil {
				t.Fatalf("%q became %q: %v", raw, edited, err)
			}
			if value, exists := got[key]; exists != present || present && string(value) != "7" {
				t.Errorf("%q became %q", raw, edited)
			}
			delete(got, key)
			for name, value := range got {
				if !bytes.Equal(value, want[name]) {
					t.Errorf("%q became %q: %q changed", raw, edited, name)
				}
			}
		}
		check(ReplaceMember(raw, key, []byte("7")), true)
		check(DeleteMember(raw, key), false)
	})
}

// FuzzDrop checks that the object loses the members dropped and nothing else,
// and that an edit of any that stays goes with it.
func FuzzDrop(f *testing.F) {
	f.Add([]byte(`{"x":1, "a":2 ,"x":{},"b":[3]}`))
	f.Add([]byte(`{"x":1,"x":2}`))
	f.Add([]byte(`{ }`))
	f.Fuzz(func(t *testing.T, object []byte) {
		line := slices.Concat([]byte(`{"id":1,"result":`), object, []byte(`}`))
		env, err := Scan(line)
		if err != nil || env.Kind != Result || object[0] != '{' || string(env.Bytes(env.Result)) != string(object) {
			return
		}
		edits := env.Drop(nil, env.Result, "x")
		var want []string
		for name, value := range Members(object) {
			if key, _ := Text(object[name.Start:name.End]); key != "x" {
				want = append(want, string(object[name.Start:name.End])+"=0")
				edits = append(edits, Edit{At: Span{env.Result.Start + value.Start, env.Result.Start + value.End}, With: []byte("0")})
			}
		}
		out := env.Append(nil, edits...)
		after, err := Scan(out[:len(out)-1])
		if err != nil {
			t.Fatalf("%s became %s: %v", line, out, err)
		}
		var got []string
		left := after.Bytes(after.Result)
		for name, value := range Members(left) {
			got = append(got, string(left[name.Start:name.End])+"="+string(left[value.Start:value.End]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s became %s: got %v, want %v", line, out, got, want)
		}
	})
}
