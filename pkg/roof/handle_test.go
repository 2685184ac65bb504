package roof

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/wire"
	"github.com/google/go-cmp/cmp"
)

var visible = []string{"a", "b", "foo__bar"}

func TestTaskID(t *testing.T) {
	for server, raw := range map[string]string{"a": `"1"`, "b": `"x\u0041/é"`, "foo__bar": `""`} {
		got, own, ok := ReadTaskID(TaskID(server, []byte(raw)), visible)
		if !ok || got != server || string(own) != raw {
			t.Errorf("(%s, %s) came back as %q %q %v", server, raw, got, own, ok)
		}
	}
	sealed := func(s string) string { return taskTag + base64.RawURLEncoding.EncodeToString([]byte(s)) }
	good := TaskID("a", []byte(`"c"`))
	for name, text := range map[string]string{
		"nothing": "", "a server's own": "c", "the tag alone": taskTag, "not base64": taskTag + "*",
		"a hidden server's":    TaskID("hidden", []byte(`"c"`)),
		"a name that is short": sealed("\x05a"), "a name without end": sealed("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a"),
		"a length in two ways": sealed("\x81\x00a"), "a number": sealed("\x01a7"), "half a string": sealed("\x01a\"c"),
		"two strings": sealed("\x01a\"c\"\"d\""), "half a surrogate": sealed("\x01a\"\\ud800\""), "not UTF-8": sealed("\x01a\"\xff\""),
		"padding": good + "==", "a line end": good + "\n", "other bits at the end": good[:len(good)-1] + string(good[len(good)-1]+1),
	} {
		if server, raw, ok := ReadTaskID(text, visible); ok {
			t.Errorf("%s: read as %q %q", name, server, raw)
		}
	}
}

// FuzzHandle: what is made comes back; any other text is refused, or is what
// would have been made.
func FuzzHandle(f *testing.F) {
	f.Add("a", []byte(`"c"`), "x")
	f.Add("foo__bar", []byte{}, TaskID("a", []byte(`"c"`)))
	f.Fuzz(func(t *testing.T, server string, raw []byte, text string) {
		_, isID := wire.CanonicalID(raw)
		wellMade := isID && len(raw) > 0 && raw[0] == '"'
		got, own, ok := ReadTaskID(TaskID(server, raw), []string{"other", server})
		if ok != wellMade || ok && (got != server || string(own) != string(raw)) {
			t.Errorf("(%q, %q) came back as %q %q %v", server, raw, got, own, ok)
		}
		if server, raw, ok := ReadTaskID(text, visible); ok && (TaskID(server, raw) != text || !slices.Contains(visible, server)) {
			t.Errorf("%q was read as %v %q", text, server, raw)
		}
	})
}

func TestTasks(t *testing.T) {
	id := TaskID("a", []byte(`"t\u0031"`))
	tests := []struct{ name, method, in, want string }{
		{"a call that became a task", "tools/call", `{"id":1,"result":{"task":{"taskId":"t\u0031","status":"working"}}}`, `{"id":1,"result":{"task":{"taskId":"@","status":"working"}}}`},
		{"the same, in the modern era", "tools/call", `{"id":1,"result":{"resultType":"task","taskId":"t\u0031"}}`, `{"id":1,"result":{"resultType":"task","taskId":"@"}}`},
		{"a tool's own word", "tools/call", `{"id":1,"result":{"taskId":"t\u0031","structuredContent":{"taskId":"t\u0031"}}}`, `{"id":1,"result":{"taskId":"t\u0031","structuredContent":{"taskId":"t\u0031"}}}`},
		{"how it stands", "tasks/get", `{"id":1,"result":{"taskId":"t\u0031"}}`, `{"id":1,"result":{"taskId":"@"}}`},
		{"its result", "tasks/result", `{"id":1,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t\u0031"}}}}`, `{"id":1,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"@"}}}}`},
		{"all of them", "tasks/list", `{"id":1,"result":{"tasks":[{"taskId":"t\u0031"},7,{"status":"x"}]}}`, `{"id":1,"result":{"tasks":[{"taskId":"@"},7,{"status":"x"}]}}`},
		{"news", "", `{"method":"notifications/tasks/status","params":{"taskId":"t\u0031","status":"completed"}}`, `{"method":"notifications/tasks/status","params":{"taskId":"@","status":"completed"}}`},
		{"nothing", "tools/call", `{"id":1,"result":{"content":[]}}`, `{"id":1,"result":{"content":[]}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, err := wire.Scan([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			got := string(env.Append(nil, SealTasks(nil, &env, tt.method, "a")...))
			if diff := cmp.Diff(strings.ReplaceAll(tt.want, "@", id)+"\n", got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenTasks(t *testing.T) {
	a, b := TaskID("a", []byte(`"t\u0031"`)), TaskID("b", []byte(`"t"`))
	tests := []struct {
		name, in, want, server string
		ok                     bool
	}{
		{"a question after one", `{"taskId":"` + a + `"}`, `{"taskId":"t\u0031"}`, "a", true},
		{"a word about one", `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + b + `"}}}`, `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}`, "b", true},
		{"of nothing", `{}`, `{}`, "", true},
		{"of two at once", `{"taskId":"` + a + `","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + b + `"}}}`, "", "", false},
		{"a server's own id", `{"taskId":"t1"}`, "", "", false},
		{"a hidden server's", `{"taskId":"` + TaskID("hidden", []byte(`"t"`)) + `"}`, "", "", false},
		{"an empty one", `{"taskId":"` + TaskID("a", nil) + `"}`, "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, err := wire.Scan([]byte(`{"id":1,"method":"tasks/get","params":` + tt.in + `}`))
			if err != nil {
				t.Fatal(err)
			}
			edits, server, ok := OpenTasks(nil, &env, visible)
			if ok != tt.ok || server != tt.server {
				t.Fatalf("got %q %v", server, ok)
			}
			if want := `{"id":1,"method":"tasks/get","params":` + tt.want + "}\n"; ok && string(env.Append(nil, edits...)) != want {
				t.Errorf("got %s, want %s", env.Append(nil, edits...), want)
			}
		})
	}
}
