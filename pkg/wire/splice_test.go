package wire

import "testing"

func TestAppendChangesOnlyWhatItIsTold(t *testing.T) {
	const line = ` {"params":{"_meta":{"progressToken":"tok"},"name":"ls"} , "id":12,"method":"tools/call"}`
	tests := []struct {
		name  string
		edits func(e *Envelope) []Edit
		want  string
	}{
		{"nothing", func(*Envelope) []Edit { return nil }, line},
		{"the id", func(e *Envelope) []Edit { return []Edit{{e.ID, []byte("7")}} },
			` {"params":{"_meta":{"progressToken":"tok"},"name":"ls"} , "id":7,"method":"tools/call"}`},
		{"members out of order", func(e *Envelope) []Edit {
			return []Edit{{e.ID, []byte("7")}, {e.Name, []byte(`"rm"`)}, {e.ProgressToken, []byte("7")}}
		}, ` {"params":{"_meta":{"progressToken":7},"name":"rm"} , "id":7,"method":"tools/call"}`},
		{"an absent member changes nothing", func(e *Envelope) []Edit { return []Edit{{e.URI, []byte("7")}} }, line},
		{"an empty span within inserts", func(e *Envelope) []Edit {
			return []Edit{{Span{e.Params.End - 1, e.Params.End - 1}, []byte(`,"x":1`)}}
		}, ` {"params":{"_meta":{"progressToken":"tok"},"name":"ls","x":1} , "id":12,"method":"tools/call"}`},
		{"more than four", func(e *Envelope) []Edit {
			return []Edit{{e.Method, []byte("5")}, {e.ID, []byte("4")}, {e.Name, []byte("3")}, {e.ProgressToken, []byte("2")}, {Span{1, 1}, []byte("1")}}
		}, ` 1{"params":{"_meta":{"progressToken":2},"name":3} , "id":4,"method":5}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, err := Scan([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			edits := tt.edits(&env)
			if got := string(env.Append([]byte("before\n"), edits...)); got != "before\n"+tt.want+"\n" {
				t.Errorf("Append:\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	env, err := Scan([]byte(`{"id":1,"method":"m","params":{"name":"n","_meta":{"progressToken":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	dst, with := make([]byte, 0, 200), []byte("123")
	if n := testing.AllocsPerRun(100, func() {
		dst = env.Append(dst[:0], Edit{env.ProgressToken, with}, Edit{env.Name, with}, Edit{env.Method, with}, Edit{env.ID, with})
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestInsertMembers(t *testing.T) {
	for _, tt := range []struct{ name, object, members, want string }{
		{"into an empty object", `{}`, `"a":1`, `{"a":1}`},
		{"into one with space in it", "{ \n}", `"a":1`, "{ \n\"a\":1}"},
		{"behind others", `{"b":[{}] }`, `"a":1,"c":2`, `{"b":[{}] ,"a":1,"c":2}`},
		{"behind an object", `{"b":{}}`, `"a":1`, `{"b":{},"a":1}`},
		{"before space", "{\"b\":2} \n", `"a":1`, "{\"b\":2,\"a\":1} \n"},
		{"null is an empty object", `null`, `"a":1`, `{"a":1}`},
		{"nothing changes nothing", `{ "b" : 2 }`, ``, `{ "b" : 2 }`},
		{"nothing leaves null", `null`, ``, `null`},
		{"an array stays", `[1]`, `"a":1`, `[1]`},
		{"no bytes stay", ``, `"a":1`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			object := []byte(tt.object)
			if got := string(InsertMembers(object, []byte(tt.members))); got != tt.want {
				t.Errorf("InsertMembers(%s, %s) = %s, want %s", tt.object, tt.members, got, tt.want)
			}
			if string(object) != tt.object {
				t.Errorf("the object became %s", object)
			}
		})
	}
}

func TestDrop(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"the first", `{"x":1, "a":2}`, `{"a":2}`},
		{"the last", `{"a":1 , "x":2 }`, `{"a":1 }`},
		{"the only one", `{ "x":1 }`, `{  }`},
		{"one in the middle", `{"a":1, "x":2 , "b":3}`, `{"a":1, "b":3}`},
		{"several side by side", `{"x":1,"y":[2],"a":3,"y":4,"x":{}}`, `{"a":3}`},
		{"by turns", `{"x":1,"a":2,"x":3,"b":4,"x":5}`, `{"a":2,"b":4}`},
		{"all there are", `{"x":1, "y":2}`, `{}`},
		{"one by another spelling", `{"\u0078":1,"X":2}`, `{"X":2}`},
		{"none", `{"a":1}`, `{"a":1}`},
		{"none of an empty object", `{ }`, `{ }`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line := []byte(`{"result":` + tt.in + `,"id":1}`)
			env, err := Scan(line)
			if err != nil {
				t.Fatal(err)
			}
			got := string(env.Append(nil, env.Drop(nil, env.Result, "x", "y")...))
			if want := `{"result":` + tt.want + `,"id":1}` + "\n"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	env := Envelope{Line: []byte(`{}`)}
	if got := env.Drop(nil, Span{}, "x"); got != nil {
		t.Errorf("of an absent object: got %v", got)
	}
}
