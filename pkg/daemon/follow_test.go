package daemon

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/config"
)

func TestAProblemIsLoggedOnceUntilItIsGone(t *testing.T) {
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, nil))
	a, b := config.Problem{Server: "a", Msg: "first"}, config.Problem{Server: "b", Msg: "second"}
	var said told
	for _, problems := range []config.Problems{{a}, {a, b}, {a, a}, {}, {a}} {
		said.note(log, problems)
	}
	if first, second := strings.Count(out.String(), "first"), strings.Count(out.String(), "second"); first != 2 || second != 1 {
		t.Errorf("logged %d and %d times, want 2 and 1:\n%s", first, second, out.String())
	}
}
