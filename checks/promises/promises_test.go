// Package promises is what rules, switches and soft roots were asked to do,
// sentence by sentence, and the test that holds each.
package promises

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promise is a sentence and its tests: "package.Test", or "package.Test/name of a
// row", more than one with a space between.
type promise struct{ sentence, test string }

// rules are the sentences on rules and switches.
var rules = []promise{
	// Features
	{"Per-directory allow-list of MCP servers, inherited by subdirectories", "visibility.TestMatch/a directory under it inherits"},
	{"Hides the tools and refuses the calls", "visibility.TestDecide"},
	{"Per-session switches: narrow or widen the session you are in, temporarily, without touching the rules", "e2e.TestSwitches"},
	{"Honest readout: each server's runtime state, so \"allowed but dead\" is visible", "daemon.TestAllowedButDead"},
	{"A saved rule reaches running sessions immediately", "session.TestAnEditOfTheRulesReachesWhomItConcerns"},
	// Why
	{"A session opened in D:\\work\\proj-a gets only atlassian", "visibility.TestMatch/a drive"},
	{"Every other folder is left exactly as it was", "visibility.TestMatch/another folder of the drive"},
	// Limits
	{"Cannot conjure a disabled server: anything in an allow-list must already be enabled", "visibility.TestDecide/a switch shows no server that is off"},
	{"Only subtracts", "visibility.TestDecide/by the longer rule, which names one that is not there"},
	{"Subagents are scoped independently, from their own working directory", "session.TestASessionIsJudgedByItsOwnDirectory"},
	// Rules document
	{"No file = no effect", "source.TestRulesAreWhereTheConfigSays"},
	{"default \"*\": unmatched folders inject everything", "visibility.TestMatch/default all"},
	{"default []: unmatched folders inject no MCP server at all", "visibility.TestMatch/default nothing"},
	{"default [\"a\",\"b\"]: unmatched folders inject only those", "visibility.TestMatch/default some"},
	{"rules[].path: ~/ expands", "visibility.TestMatch/home"},
	{"and so does the home directory's variable", "visibility.TestMatch/home by its variable"},
	{"either slash works", "visibility.TestMatch/either slash"},
	{"case-insensitive where the file system is", "visibility.TestMatch/case, where the file system has none"},
	{"rules[].servers: allow-list for that directory and everything under it", "visibility.TestMatch/a directory with a rule"},
	{"A rule may name nothing", "visibility.TestMatch/a list of nothing"},
	// Matching
	{"Subdirectories inherit their parent rule", "visibility.TestMatch/a directory under it inherits"},
	{"Comparison happens at a separator boundary, so /ws/proj never matches /ws/project", "visibility.TestMatch/not one that begins alike"},
	{"Longest path wins", "visibility.TestMatch/the longest path wins"},
	{"Set a baseline on /ws and override it on /ws/proj", "visibility.TestMatch/and the baseline holds beside it"},
	{"Among equal-length duplicates the later row wins", "visibility.TestMatch/of two alike the later wins"},
	{"A session with no cwd falls back to default", "visibility.TestMatch/no directory"},
	{"A rules change applies to running sessions immediately, by saving and by editing the file", "source.TestRulesAreWatched"},
	{"applyToRunningSessions false: each session keeps what it began with", "session.TestASessionMayKeepTheRulesItBeganWith"},
	// Config
	{"rulesPath: where the document is", "source.TestRulesAreWhereTheConfigSays"},
	{"enforceGuard: also refuse the call, not just hide the tool (always on)", "session.TestAHiddenServerIsAnUnknownName"},
	{"onRulesError open: as if absent; closed: nothing", "source.TestABrokenDocumentIsOpenOrClosedAndRecovers"},
	{"logDecisions: one line per session: which rule matched, which servers survived", "session.TestDecisionsAreLoggedOncePerSession"},
	// How it works
	{"A server that connected a moment ago and is called immediately is refused too", "session.TestAHiddenServerIsAnUnknownName"},
	{"A child's scope is its own, a parent's restriction does not reach it", "session.TestASessionsConnectionsShareWhatWasChosen"},
	// Settings
	{"Rules-document path, failure policy, whether calls are refused", "page.TestRulesAreEditedOnThePage"},
	{"Says so when the document does not exist yet", "source.TestRulesAreWhereTheConfigSays"},
	{"Default: all, none or custom", "visibility.TestEdit/another default"},
	{"Directory rules: one editable row each", "visibility.TestEdit/another list for a row"},
	{"Add a rule by a path typed by hand", "visibility.TestEdit/a new row"},
	{"on a page: default, rows, picker, a path typed by hand", "page.TestRulesAreEditedOnThePage"},
	{"The picker lists every server with its live tool count and marks disabled ones, still selectable", "page.TestRulesAreEditedOnThePage"},
	{"Add a rule from the known directories", "page.TestRulesAreEditedOnThePage"},
	{"A rejected payload shows the reason on the page", "page.TestRulesAreEditedOnThePage"},
	{"Saving re-scopes running sessions immediately", "page.TestRulesAreEditedOnThePage"},
	{"A frozen session names what the current rules would give", "session.TestASessionMayKeepTheRulesItBeganWith"},
	{"Saving writes the document atomically", "source.TestTheDocumentIsReplacedAsAWhole"},
	{"A rejected payload shows the reason verbatim and leaves the file untouched", "visibility.TestEditRefuses/a document with an error"},
	// The badge
	{"Rendered always, matched rule or not: no rule matched → MCP all", "e2e.TestStatusline"},
	{"rule matched → MCP atlassian, or atlassian +1 for several", "visibility.TestDecide/by a rule"},
	{"rule with [] → MCP none", "visibility.TestDecide/nothing"},
	{"Shows the session directory, which rule decided it", "visibility.TestDecide"},
	{"and the visible and hidden counts", "visibility.TestDecide"},
	{"Each server's runtime state, and the visible and hidden tool counts, measured", "page.TestASwitchOnThePageReachesTheHost"},
	{"Every server row carries a toggle switch, and the whole row is the hit area", "page.TestASwitchOnThePageReachesTheHost"},
	{"What is drawn is always what the host installed", "page.TestAnAgentsPageOnlyNarrows"},
	{"Amber with • when an allowed server cannot serve, and the server red", "page.TestADyingServerTurnsRed"},
	{"flip one to add or remove that server for the session you are looking at", "visibility.TestChange/widen a rule"},
	{"or use All / None / Back to the rule", "visibility.TestChange/back to the rules"},
	{"The response to the write is the new readout", "e2e.TestSwitches"},
	{"Nothing is written to the rules document", "visibility.TestASwitchOutranksTheRules"},
	{"and the override dies with the session", "session.TestASessionsConnectionsShareWhatWasChosen"},
	{"It outranks the rules while set: a rules save no longer disturbs that session", "session.TestASwitchIsTheSessionsAndOutranksRules"},
	{"Back to the rule re-joins", "visibility.TestChange/back to the rules"},
	{"It may widen, not just narrow", "visibility.TestChange/widen a rule"},
	{"up to whatever is enabled: it cannot conjure a disabled server", "visibility.TestChangeRefuses/a server that is off"},
	{"The badge has a * while a session is overridden", "visibility.TestDecide/by a switch that widens"},
	// Allowed but unusable
	{"A server is usable only when it is connected and has listed its tools", "api.TestWords/up, and not connected"},
	{"The badge has a ! when a rule names a server that there is not", "daemon.TestAllowedButDead/the rule names one that is not there"},
	{"and a • when one that is allowed is dead", "daemon.TestAllowedButDead/one that is allowed fails"},
	{"a typo, or a removed server, is told", "visibility.TestUnknownNamesAreTold"},
	{"foo and foo__bar can coexist: the scope of one is not the other's", "visibility.TestDecide/a name is not its beginning"},
	{"Ownership of a tool goes to the right server, not to the first __", "roof.TestFind"},
	// Risk
	{"Takes capabilities away from a session; it can never add one", "visibility.TestDecide/a switch shows no server that is off"},
	{"A broken rules document fails open by default, so a typo cannot strip a working session", "visibility.TestNoDocumentShowsEverything"},
	{"Only ever handles server names and paths: no command line, arguments, or environment", "visibility.TestDecide"},
}

// roots are the sentences on soft roots, by their numbers.
var roots = []promise{
	{"1 Soft roots are the one source of truth for where a session works", "session.TestSetRootsMoveTheNextCall e2e.TestSetRoots"},
	{"1 on every channel alike: with native roots, without them, and over HTTP", "roots.TestSeed e2e.TestHTTPHostsStandWhereTheySay"},
	{"2 Native roots are a seed at the session's start", "roots.TestSeed session.TestTheFirstCallWaitsForTheRoots"},
	{"2 and when they change", "session.TestASilentMoveIsNoticed e2e.TestASilentMoveReachesTheOtherCheckout"},
	{"2 then the soft set lives its own life: native roots never shadow what was set", "session.TestRootsThatAreSetStandAboveAll"},
	{"3 No tool that changes roots is offered by default", "e2e.TestNoToolOfOursIsOffered"},
	{"3 Roots can be a boundary: what may be set has a ceiling", "daemon.TestChangeRoots e2e.TestSetRoots"},
	{"3 and an agent does not rewrite its own", "e2e.TestAnAgentMayTakeAwayAndNotGive e2e.TestSetRoots"},
	{"4 The state is the session's, not the server's or the daemon's", "session.TestASessionsConnectionsShareWhatWasChosen e2e.TestTheServerOfASessionIsToldItsRoots"},
	{"4 A person sets and sees them for one session", "e2e.TestSetRoots page.TestRootsAreSetOnThePage"},
	{"5 When the protocol's roots go, only the seed goes", "roots.TestTheRestGoesOnWithoutNativeRoots"},
}

// TestPromises checks that every sentence is held by tests that there are.
func TestPromises(t *testing.T) {
	sources := map[string]string{} // by package
	for _, p := range slices.Concat(rules, roots) {
		tests := named.FindAllString(p.test, -1)
		if len(tests) == 0 {
			t.Errorf("nobody holds: %s", p.sentence)
		}
		for _, full := range tests {
			pkg, test, _ := strings.Cut(full, ".")
			if _, ok := sources[pkg]; !ok {
				sources[pkg] = testsOf(t, pkg)
			}
			name, row, hasRow := strings.Cut(test, "/")
			if !strings.Contains(sources[pkg], "func "+name+"(t *testing.T)") {
				t.Errorf("there is no %s.%s: %s", pkg, name, p.sentence)
			}
			if hasRow && !strings.Contains(sources[pkg], `{"`+row+`",`) {
				t.Errorf("%s.%s has no row %q: %s", pkg, name, row, p.sentence)
			}
		}
	}
}

// named finds tests; the name of a row may have spaces.
var named = regexp.MustCompile(`\w+\.Test\w+(/[^"]+)?`)

func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "pkg", pkg)
	if pkg == "e2e" || pkg == "page" {
		dir = filepath.Join("..", pkg)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no tests: %v", dir, err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
