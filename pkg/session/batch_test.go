package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/wire"
)

func TestABatchIsAnsweredAsOne(t *testing.T) { // protocol W15
	const ping = `{"jsonrpc":"2.0","id":9,"method":"ping"}`
	tests := []struct {
		name  string
		lines []string // of the batch
		want  []string // answers in one array, nil for none
	}{
		{"when all is answered", []string{call(1, "hold"), call(2, "a"), ping}, []string{result(9, "{}"), by(2, "cwd:/desk"), by(1, "cwd:/desk")}},
		{"without the notifications", []string{`{"jsonrpc":"2.0","method":"notifications/x"}`, call(2, "a")}, []string{by(2, "cwd:/desk")}},
		{"not at all when there is nothing to answer", []string{`{"jsonrpc":"2.0","method":"notifications/x"}`}, nil},
		{"without what was cancelled", []string{call(1, "hold"), call(2, "a"), cancel(1)}, []string{by(2, "cwd:/desk")}},
		{"not at all when all was cancelled", []string{call(1, "hold"), cancel(1)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			play(t, nil, func(s *stage) {
				s.greet(plain)
				s.sends("[" + strings.Join(tt.lines, ",") + "]")
				s.servers.of("cwd:/desk").let()
				got := s.got()
				if tt.want == nil {
					if len(got) > 0 {
						t.Errorf("the host got %q, want nothing", got)
					}
					return
				}
				if len(got) != 1 {
					t.Fatalf("the host got %q, want one line", got)
				}
				if diff := cmp.Diff(elements(t, "["+strings.Join(tt.want, ",")+"]"), elements(t, got[0])); diff != "" {
					t.Errorf("the batch (-want +got):\n%s", diff)
				}
			})
		})
	}
	t.Run("with the errors of what could not pass", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			s.greet(plain)
			s.sends(`[{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","name":"b"}},` + ping + `]`)
			got := elements(t, s.got()[0])
			if len(got) != 2 || problemOf(t, got[`3`]).Code != -32600 || got["9"] != result(9, "{}") {
				t.Errorf("the batch was answered %q, want an error for 3 and a result for 9", got)
			}
		})
	})
	t.Run("with an error when it is empty", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			s.greet(plain)
			s.sends("[]")
			s.refuses(0, wire.CodeInvalid, "not a batch with something in it")
		})
	})
	t.Run("and one id is answered once in it", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			s.greet(plain)
			s.sends(call(0, "a")) // from here on nothing waits
			s.gets(by(0, "cwd:/desk"))
			s.sends("[" + call(1, "hold") + "," + call(1, "a") + "," + ping + "]")
			s.refuses(1, wire.CodeInvalid, "a request with this id is in flight")
			s.servers.of("cwd:/desk").let()
			got := elements(t, s.got()[0])
			if len(got) != 2 || got["1"] != by(1, "cwd:/desk") {
				t.Errorf("the batch was answered %q", got)
			}
		})
	})
}

// elements are the answers in a batch, by id.
func elements(t *testing.T, batch string) map[string]string {
	t.Helper()
	all, err := wire.Batch([]byte(batch))
	if err != nil {
		t.Fatalf("%s: %v", batch, err)
	}
	answers := map[string]string{}
	for _, el := range all {
		env, err := wire.Scan(el)
		if err != nil {
			t.Fatalf("%s: %v", el, err)
		}
		answers[string(env.Bytes(env.ID))] = string(el)
	}
	return answers
}
