package remote

import (
	"testing"

	"github.com/dezren39/mcpx/pkg/wire"
)

func TestMoves(t *testing.T) {
	discover := outcome{status: 200, kind: wire.Result, result: []byte(`{"supportedVersions":["2026-07-28"]}`)}
	initialize := outcome{status: 200, kind: wire.Result, result: []byte(`{"protocolVersion":"2025-06-18"}`)}
	plain := func(status int) outcome { return outcome{status: status, trouble: &trouble{}} }
	refused := func(status, code int, data string) outcome {
		return outcome{status: status, kind: wire.Error, code: code, data: []byte(data)}
	}
	probe, ini, disc := state{ask: probing, auto: true}, state{ask: initializing, auto: true}, state{ask: discovering, auto: true}
	strict := func(s state) state { s.strict = true; return s }
	forced := func(s state) state { s.auto = false; return s }
	tests := []struct {
		name string
		s    state
		o    outcome
		want move
	}{
		{"a modern answer opens", probe, discover, openModern},
		{"a page in place of an answer: perhaps legacy", probe, plain(200), tryLegacy},
		{"400 with nothing to read", probe, plain(400), tryLegacy},
		{"404 with nothing to read", probe, plain(404), tryLegacy},
		{"405", probe, plain(405), tryLegacy},
		{"404 with method not found", probe, refused(404, -32601, ``), tryLegacy},
		{"400 with a code of before", probe, refused(400, -32000, ``), tryLegacy},
		{"200 with an error", probe, refused(200, -32602, ``), tryLegacy},
		{"a version error that names only legacy ones", probe, refused(400, -32022, `{"supported":["2025-11-25","2025-06-18"]}`), tryLegacy},
		{"a version error that names ours", probe, refused(400, -32022, `{"supported":["2026-07-28"]}`), tryModern},
		{"a version error that names only later ones", probe, refused(400, -32022, `{"supported":["2027-07-28"]}`), giveUp},
		{"a version error that names none", probe, refused(400, -32022, ``), tryLegacy},
		{"a header error is a modern server's", probe, refused(400, -32020, ``), giveUp},
		{"a header error at a strict greeting", strict(probe), refused(400, -32020, ``), tryPlain},
		{"a legacy server's idea of an answer", probe, outcome{status: 200, kind: wire.Result, result: []byte(`{}`)}, tryLegacy},
		{"silence", probe, outcome{}, tryLegacy},
		{"401 is no evidence", probe, plain(401), giveUp},
		{"403 is no evidence", probe, plain(403), giveUp},
		{"403 with an error is none either", probe, refused(403, -32601, ``), giveUp},
		{"408 is no evidence", probe, plain(408), giveUp},
		{"429 is no evidence", probe, plain(429), giveUp},
		{"500 is no evidence", probe, plain(500), giveUp},
		{"503 with an error is none either", probe, refused(503, -32601, ``), giveUp},
		{"a redirect is no evidence", probe, plain(307), giveUp},
		{"the network is no evidence", probe, outcome{trouble: &trouble{}}, giveUp},

		{"a legacy answer opens", ini, initialize, openLegacy},
		{"an unknown revision does not", ini, outcome{status: 200, kind: wire.Result, result: []byte(`{"protocolVersion":"2031-01-01"}`)}, giveUp},
		{"a strict server may refuse our members", strict(ini), refused(200, -32602, ``), tryPlain},
		{"or with a bare status", strict(ini), plain(400), tryPlain},
		{"a plain refusal is one", ini, refused(200, -32602, ``), giveUp},
		{"a refusal that says modern", ini, refused(400, -32022, `{"supported":["2026-07-28"]}`), tryModern},
		{"a server without initialize", strict(ini), refused(404, -32601, ``), tryModern},
		{"one that misses modern headers", ini, refused(400, -32020, ``), tryModern},
		{"the config's era is not left", forced(ini), refused(404, -32601, ``), giveUp},
		{"a 5xx is no reason to be plain", strict(ini), plain(502), giveUp},

		{"a known modern one", disc, discover, openModern},
		{"one that has become legacy", disc, plain(404), tryLegacy},
		{"one that has become later", disc, refused(400, -32022, `{"supported":["2027-07-28"]}`), giveUp},
		{"one that finds fault with headers", disc, refused(400, -32020, ``), giveUp},
		{"one that must be modern", forced(disc), plain(404), giveUp},
		{"a strict modern one", strict(disc), refused(400, -32602, ``), tryPlain},
		{"a strict one whose answer is none", strict(disc), initialize, giveUp},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.s.on(tt.o); got != tt.want {
				t.Errorf("got move %d, want %d", got, tt.want)
			}
		})
	}
}
