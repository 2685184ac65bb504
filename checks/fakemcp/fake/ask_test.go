package fake

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const askCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask","arguments":%s}}`

// TestAskServesSeveralCallsAtOnce: each call is answered with the line that
// answers its own question, in whatever order they come.
func TestAskServesSeveralCallsAtOnce(t *testing.T) {
	p := start(t, "-ask", "sampling/createMessage")
	for i := 1; i <= 2; i++ {
		got := p.ask(fmt.Sprintf(askCall, i, fmt.Sprintf(`{"params":{"n":%d}}`, i)))
		want := fmt.Sprintf(`{"id":"ask-%d","jsonrpc":"2.0","method":"sampling/createMessage","params":{"n":%d}}`, i, i)
		if got != want {
			t.Fatalf("asked %s, want %s", got, want)
		}
	}
	for _, line := range []string{
		`{"jsonrpc":"2.0", "id":"ask-2","error":{"code":-1,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":"ask-1","result":{"x":1.50}}`,
	} {
		if diff := cmp.Diff(line, textOf(t, p.ask(line))); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	}
}

func TestAskWithoutParams(t *testing.T) {
	p := start(t, "-ask", "ping", "-reuse-ids")
	if got, want := p.ask(fmt.Sprintf(askCall, 9, "{}")), `{"id":1,"jsonrpc":"2.0","method":"ping"}`; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

func TestAskTakesItsQuestionBack(t *testing.T) {
	p := start(t, "-ask", "elicitation/create", "-ask-cancel", "1ms")
	p.ask(fmt.Sprintf(askCall, 9, "{}"))
	want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"taken back","requestId":"ask-1"}}`
	if got := p.read(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := textOf(t, p.read()); got != "cancelled" {
		t.Errorf("the call was answered %q", got)
	}
}

func TestACancelledCallTakesItsQuestionBack(t *testing.T) {
	p := start(t, "-ask", "elicitation/create")
	p.ask(fmt.Sprintf(askCall, 9, "{}"))
	got := p.ask(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
	want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"taken back","requestId":"ask-1"}}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
