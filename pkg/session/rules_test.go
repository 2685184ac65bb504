package session

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/source"
	"github.com/dezren39/mcpx/pkg/wire"
)

// rules puts rules in force and lets the session look.
func (s *stage) rules(document string) {
	s.t.Helper()
	s.world.rule(ruling(s.t, document))
	s.conn.Refresh()
}

// asksForEverything are one request of each method that reaches a server.
func asksForEverything(id int) []string {
	ask := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params)
	}
	return []string{
		ask("tools/call", `"name":"srv__a"`), ask("prompts/get", `"name":"srv__p"`), ask("resources/read", `"uri":"x:y"`),
		ask("resources/subscribe", `"uri":"x:y"`), ask("resources/unsubscribe", `"uri":"x:y"`),
		ask("completion/complete", `"ref":{"type":"ref/prompt","name":"srv__p"},"argument":{"name":"a","value":""}`),
		ask("completion/complete", `"ref":{"type":"ref/resource","uri":"x:{y}"},"argument":{"name":"y","value":""}`),
		ask("tasks/get", `"taskId":"t"`), ask("tasks/cancel", `"taskId":"t"`), ask("tasks/result", `"taskId":"t"`),
	}
}

// empty are the answers to all four lists.
var empty = regexp.MustCompile(`(?s)^.*"tools":\[\].*"prompts":\[\].*"resources":\[\].*"resourceTemplates":\[\].*$`)

func TestAHiddenServerIsAnUnknownName(t *testing.T) { // design D9, threat T13
	for _, to := range []string{"srv", ""} {
		t.Run("connect "+to, func(t *testing.T) {
			play(t, func(s *stage) {
				s.hello.Server = to
				s.servers.keep(map[string]string{"tools/list": tools})
				s.world.rule(ruling(t, `{"rules":[{"path":"/desk","servers":[]}]}`))
			}, func(s *stage) {
				s.greet(plain)
				s.sends(list(1, "tools"), list(2, "prompts"), list(3, "resources"), list(4, "resources/templates"))
				if got := strings.Join(s.got(), "\n"); !empty.MatchString(got) {
					t.Errorf("the lists are not empty:\n%s", got)
				}
				for _, line := range asksForEverything(5) {
					s.sends(line)
					got := s.got()
					if len(got) != 1 || problemOf(t, got[0]).Code != wire.CodeInvalidParams || !strings.HasPrefix(problemOf(t, got[0]).Message, "unknown ") {
						t.Errorf("%s: %q", line, got)
					}
				}
				if to == "" { // there it is told by its name, which the host could have from before
					s.sends(call(6, "srv__a"))
				} else {
					s.sends(call(6, "a"))
				}
				got := s.got()
				for _, want := range []string{`"rule":"rule /desk"`, `"reason":"server \"srv\" is hidden by rule /desk; this session sees none"`, `"server":"srv"`} {
					if !strings.Contains(got[0], want) {
						t.Errorf("the refusal lacks %s: %s", want, got[0])
					}
				}
				if got := s.servers.started(); got != "" {
					t.Errorf("started %q", got)
				}
				snap := s.conn.Snapshot()
				if got := snap.Servers[0]; got.State != "hidden by rule /desk" || snap.Decision.Rule != "/desk" {
					t.Errorf("the snapshot: %+v", snap)
				}
			})
		})
	}
}

func TestARefusalStartsNoOtherServerEither(t *testing.T) {
	play(t, func(s *stage) {
		s.hello.Server = ""
		two := server(scope.Cwd)
		two.Name = "two"
		s.world.configure("", view(server(scope.Cwd), two))
		s.world.rule(ruling(t, `{"default":["two"]}`))
	}, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "srv__a"))
		s.refuses(1, wire.CodeInvalidParams, `unknown tool "srv__a"`)
		if got := s.servers.started(); got != "" {
			t.Errorf("started %q", got)
		}
	})
}

func TestASessionIsJudgedByItsOwnDirectory(t *testing.T) {
	play(t, func(s *stage) {
		s.hello.Cwd = "/desk/sub"
		s.world.rule(ruling(t, `{"rules":[{"path":"/desk","servers":[]},{"path":"/other","servers":"*"}]}`))
	}, func(s *stage) {
		s.sends(telling, initialized)
		s.got()
		s.sends(stands(1, "/desk/sub"), call(1, "a"))
		s.refuses(1, wire.CodeInvalidParams, `unknown tool "a"`)
		s.sends(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		s.gets(asked(2))
		s.sends(stands(2, "/other"), call(2, "a"))
		s.gets(by(2, "cwd:/other"))
	})
}

func TestAnEditOfTheRulesReachesWhomItConcerns(t *testing.T) {
	for _, to := range []string{"srv", ""} {
		t.Run("connect "+to, func(t *testing.T) {
			play(t, func(s *stage) {
				s.hello.Server = to
				s.servers.keep(map[string]string{"tools/list": tools})
			}, func(s *stage) {
				s.greet(plain)
				s.rules(`{"default":[]}`)
				s.gets() // it was given no list yet
				s.sends(list(1, "tools"))
				if got := s.got(); len(got) != 1 || !strings.Contains(got[0], `"tools":[]`) {
					t.Errorf("the list: %q", got)
				}
				s.rules(`{"default":["srv"]}`)
				s.gets(changed("tools"))
				s.sends(list(2, "tools"))
				if got := s.got(); len(got) != 1 || !strings.Contains(got[0], `"n":1.0`) {
					t.Errorf("the list: %q", got)
				}
				s.rules(`{"default":"*"}`)
				s.gets() // another rule, the same list
				s.rules(`{"rules":[{"path":"/elsewhere","servers":[]}]}`)
				s.gets()
				s.rules(`{"rules":[{"path":"/desk","servers":["other"]}]}`)
				s.gets(changed("tools"))
			})
		})
	}
}

func TestWhoSeesAServerNoLongerIsNotItsGuest(t *testing.T) {
	for _, to := range []string{"srv", ""} {
		t.Run("connect "+to, func(t *testing.T) {
			play(t, func(s *stage) {
				s.hello.Server = to
				s.servers.keep(map[string]string{"tools/list": tools})
			}, func(s *stage) {
				s.greet(plain)
				tool := "a"
				if to == "" {
					tool = "srv__a"
				}
				s.sends(call(1, tool))
				s.gets(by(1, "cwd:/desk"))
				server := s.servers.of("cwd:/desk")
				say := `{"jsonrpc":"2.0","method":"notifications/vendor/news"}`
				server.says(say)
				s.gets(say)
				s.rules(`{"default":[]}`)
				s.got()
				server.says(say)
				s.gets()
				s.rules(`{"default":"*"}`)
				s.got()
				s.sends(call(2, tool))
				s.gets(by(2, "cwd:/desk"))
				server.says(say)
				s.gets(say)
			})
		})
	}
}

func TestASessionMayKeepTheRulesItBeganWith(t *testing.T) { // applyToRunningSessions
	play(t, func(s *stage) {
		frozen := ruling(t, `{"default":"*"}`)
		frozen.Live = false
		s.world.rule(frozen)
	}, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "a"))
		s.gets(by(1, "cwd:/desk"))
		stricter := ruling(t, `{"default":[]}`)
		stricter.Live = false
		s.world.rule(stricter)
		s.conn.Refresh()
		s.sends(call(2, "a"))
		s.gets(by(2, "cwd:/desk"))
		if got := s.conn.Snapshot().Frozen; got != "default: sees none; hidden: srv" {
			t.Errorf("the rules now would decide %q", got)
		}
		s.rules(`{"default":[]}`) // and the option is back
		s.sends(call(3, "a"))
		s.refuses(3, wire.CodeInvalidParams, `unknown tool "a"`)
	})
}

func TestRulesThatCannotBeReadSaySo(t *testing.T) {
	st := standing(t, view(server(scope.Cwd)), `{"default":[]}`)
	st.rules = &source.Rules{Path: "/r.json", Broken: true, Table: st.rules.Table}
	want := verdict{state: "hidden by rules that cannot be read", rule: "/r.json",
		reason: `server "srv" is hidden: /r.json cannot be used, and "onError" is "closed"`, hint: "mend the file; mcpx doctor names what is wrong"}
	if diff := cmp.Diff(want, st.judge("srv"), cmp.AllowUnexported(verdict{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARuleMayNameAServerThatIsOff(t *testing.T) {
	off := server(scope.Cwd)
	off.Disabled = true
	v := view(off)
	v.Invalid, v.Untrusted = []string{"bad"}, []config.Untrusted{{Name: "theirs"}}
	d := standing(t, v, `{"default":["srv","bad","theirs","typo"]}`).decision
	if diff := cmp.Diff([]string{"typo"}, d.Missing); diff != "" || d.Allows("srv") {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

func TestDecisionsAreLoggedOncePerSession(t *testing.T) { // logDecisions
	var log strings.Builder
	play(t, func(s *stage) {
		s.log = slog.New(slog.NewTextHandler(&log, nil))
		r := ruling(t, `{"rules":[{"path":"/desk","servers":[]}]}`)
		r.Log = true
		s.world.rule(r)
	}, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "a"), call(2, "a"))
		s.got()
	})
	if got := strings.Count(log.String(), `rule="rule /desk: sees none; hidden: srv"`); got != 1 {
		t.Errorf("the decision is there %d times:\n%s", got, log.String())
	}
}

func TestALookThatCameLateUndoesNothing(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "a"))
		s.gets(by(1, "cwd:/desk"))
		l := s.conn.only()
		before := s.conn.guess()
		s.rules(`{"default":[]}`)
		s.got()
		if !l.hidden() {
			t.Fatal("the server is seen")
		}
		if _, err := l.resolve(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		if !l.hidden() {
			t.Error("somebody who looked before the rules were changed made it visible again")
		}
	})
}
