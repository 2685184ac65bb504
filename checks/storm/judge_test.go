package storm

import (
	"fmt"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
)

// TestJudgeExcusesOneSecondAnswerADeath: whatever was answered in between, and
// none that no death can have caused.
func TestJudgeExcusesOneSecondAnswerADeath(t *testing.T) {
	var faults []string
	j := newJudge("h", func(*rig.RPCError) bool { return false }, func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf(format, args...))
	})
	ask := func(method string) (id string) {
		q, _ := j.ask(method, func(*request) string { return "" })
		return q.id
	}
	answer := func(id string) { j.line(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)) }
	none := func(what string) {
		t.Helper()
		if len(faults) > 0 {
			t.Errorf("%s: %q", what, faults)
		}
		faults = nil
	}
	list := ask("tools/list")
	answer(list)
	j.dies()
	j.died()
	ping := ask("ping")
	answer(ping)
	none("before anything came twice")
	answer(list)
	none("a list answered again after what was asked later")
	answer(list)
	if len(faults) != 1 {
		t.Errorf("one death excused two second answers: %q", faults)
	}
	faults = nil
	answer(ping)
	if len(faults) != 1 {
		t.Errorf("a second answer to what was asked after the last death: %q", faults)
	}
	faults = nil
	j.dies()
	during := ask("ping")
	j.died()
	answer(during)
	answer(during)
	none("asked while a daemon ended, which may have answered")
}
