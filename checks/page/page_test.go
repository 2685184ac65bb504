package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/dezren39/mcpx/checks/rig"
)

// tools are the names of a host's list.
func tools(h *rig.Host) (names []string) {
	h.T.Helper()
	var r struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(h.Ask("tools/list", nil).Result, &r); err != nil {
		h.T.Fatal(err)
	}
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func sees(h *rig.Host, server string) bool {
	h.T.Helper()
	return slices.ContainsFunc(tools(h), func(name string) bool { return strings.HasPrefix(name, server+"__") })
}

// changed waits until the host is told that its tools have changed.
func changed(h *rig.Host) {
	h.T.Helper()
	for h.Note("the list has changed").Method != "notifications/tools/list_changed" {
	}
}

func twoHosts(t *testing.T) (r *rig.Rig, one, two *rig.Host) {
	r = rig.New(t, mcpx, config(map[string]string{
		"docs": `"command": "FAKE"`, "jira": `"command": "FAKE"`, "off": `"command": "FAKE", "mcpx": {"disabled": true}`,
	}))
	one, two = r.Connect(r.Home, "--session", "one"), r.Connect(r.Home, "--session", "two")
	for _, h := range []*rig.Host{one, two} {
		h.Open()
		if !sees(h, "docs") || !sees(h, "jira") {
			t.Fatal("a host does not see both servers")
		}
	}
	return r, one, two
}

// TestASwitchOnThePageReachesTheHost: the whole row is the switch, by mouse and by
// keyboard, for one session.
func TestASwitchOnThePageReachesTheHost(t *testing.T) {
	r, one, two := twoHosts(t)
	p := open(t, r)
	p.until("both sessions", `document.querySelectorAll('article[aria-label^="session "]').length === 2`)
	p.until("what is visible", text(card("session one"))+`.includes("0 hidden")`)
	p.do(chromedp.Click(row("one", "jira") + `/span[@class="name"]`))
	changed(one)
	if sees(one, "jira") || !sees(one, "docs") || !sees(two, "jira") {
		t.Errorf("after the switch one has %v and two %v", tools(one), tools(two))
	}
	p.until("the switch", text(card("session one"))+`.includes("hidden by switch")`)
	if got := eval[string](p, text(card("session one")+" .badge")); !strings.HasPrefix(got, "MCP docs*") {
		t.Errorf("the badge is %q", got)
	}
	p.do(chromedp.Focus(row("one", "jira")+"/input"), chromedp.KeyEvent(" "))
	changed(one)
	if !sees(one, "jira") {
		t.Errorf("after the space key one has %v", tools(one))
	}
	p.do(chromedp.Click(`//article[@aria-label="session one"]//button[.="None"]`))
	p.until("none", text(card("session one")+" .badge")+`.startsWith("MCP none")`)
	if got := tools(one); len(got) > 0 {
		t.Errorf("after None one has %v", got)
	}
	p.do(chromedp.Click(`//article[@aria-label="session one"]//button[.="Back to the rule"]`))
	p.until("the rule", text(card("session one")+" .badge")+` === "MCP all"`)
	p.do(chromedp.Click(`//article[@aria-label="session one"]//button[.="All"]`))
	p.until("all", text(card("session one")+" .badge")+` === "MCP all*"`)
	r.Mcpx("sessions", "deny", "docs", "--session", "two")
	p.until("what was switched elsewhere", text(card("session two"))+`.includes("hidden by switch")`)
	two.EndInput()
	p.until("the end of a session", `!document.querySelector('article[aria-label="session two"]')`)
}

// TestRulesAreEditedOnThePage: preview, save, refusal with the reason, removal.
func TestRulesAreEditedOnThePage(t *testing.T) {
	r, one, _ := twoHosts(t)
	file := filepath.Join(r.Home, ".config/mcpx/rules.json")
	p := open(t, r)
	p.until("no document", text("section:last-of-type")+`.includes("does not exist yet")`)
	p.until("the policy", text("section:last-of-type")+`.includes("What is hidden is also refused") && `+text("section:last-of-type")+`.includes("onError: open")`)
	p.until("the directories of sessions", `document.querySelector("#directories option").value === `+fmt.Sprintf("%q", r.Home))
	add := func(path, server string) {
		p.do(chromedp.Click("#add-rule"), chromedp.SendKeys("#rule-path", path),
			chromedp.Click(`//form[contains(@class,"editor")]//label[contains(.,"`+server+`")]`))
	}
	add(r.Home, "docs")
	for _, label := range []string{"jira 13 tools", "off disabled"} {
		p.until("the picker's "+label, `[...document.querySelectorAll(".picker label")].some((l) => l.innerText.trim() === "`+label+`" && !l.control.disabled)`)
	}
	p.until("the preview", text(".editor [role=status]")+`.includes("MCP all → MCP docs")`)
	if _, err := os.Stat(file); err == nil {
		t.Error("a preview wrote the document")
	}
	p.do(chromedp.Click(".editor button[type=submit]"))
	changed(one)
	if sees(one, "jira") {
		t.Errorf("the rule is saved and one has %v", tools(one))
	}
	p.until("the session that the rule decides", text(card("session one"))+`.includes("hidden by rule")`)
	saved, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(saved), `"docs"`) {
		t.Fatalf("%v: %s", err, saved)
	}
	add("not/absolute", "jira")
	p.do(chromedp.Click(".editor button[type=submit]"))
	p.until("the refusal", text(".editor .refusal")+`.includes("not/absolute")`)
	if now, _ := os.ReadFile(file); string(now) != string(saved) {
		t.Errorf("a refused edit changed the document:\n%s", now)
	}
	if got := eval[string](p, `document.getElementById("rule-path").value`); got != "not/absolute" {
		t.Errorf("what was typed is gone: %q", got)
	}
	p.do(chromedp.Click(`//form//button[.="Cancel"]`))
	if got := eval[string](p, `document.activeElement.id`); got != "add-rule" {
		t.Errorf("after Cancel the focus is at %q", got)
	}
	r.Write(file, `{"rules": [`)
	p.until("a broken document", text("section:last-of-type")+`.includes("cannot be used")`)
	r.Write(file, string(saved))
	p.until("a mended one", `!`+text("section:last-of-type")+`.includes("cannot be used")`)
	p.do(chromedp.Click(`.rules button`))
	p.do(chromedp.Click(`//form//button[.="Remove the rule"]`))
	p.until("no rule", text(card("session one")+" .badge")+` === "MCP all"`)
	if !sees(one, "jira") {
		t.Errorf("without the rule one has %v", tools(one))
	}
}

// TestRootsAreSetOnThePage: the session moves, and goes back to where its host is.
func TestRootsAreSetOnThePage(t *testing.T) {
	r, one, _ := twoHosts(t)
	main, _ := r.Checkouts()
	p := open(t, r)
	form := card("session one") + " .roots"
	p.do(chromedp.Click(form+" summary"), chromedp.SendKeys("#dir-one", main+"/nowhere"))
	p.do(chromedp.Click(`//article[@aria-label="session one"]//button[.="Only this"]`))
	p.until("the refusal", text(card("session one")+" .refusal")+`.includes("nowhere")`)
	p.do(chromedp.SetValue("#dir-one", main), chromedp.Click(`//article[@aria-label="session one"]//button[.="Only this"]`))
	p.until("the move", text(card("session one")+" .path")+`.startsWith("~/main")`)
	p.until("no refusal", `!document.querySelector('`+card("session one")+` .refusal')`)
	sees(one, "docs") // it goes on
	for _, session := range r.Status().Sessions {
		want := map[string]string{"one": main + " set", "two": r.Home + " cwd"}[session.ID]
		if at := session.Cwd.Path + " " + session.Cwd.Origin; at != want {
			t.Errorf("session %s stands at %s, want %s", session.ID, at, want)
		}
	}
	p.do(chromedp.Click(`//article[@aria-label="session one"]//button[.="Back to the host's"]`))
	p.until("the way back", text(card("session one")+" .path")+`.startsWith("~ ")`)
}

// TestADyingServerTurnsRed, says why, and shows what it wrote last.
func TestADyingServerTurnsRed(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"frail": `"command": "sh", "args": ["-c", "if [ -e \"$HOME/broken\" ]; then echo out of paper >&2; exit 3; fi; exec FAKE"]`}))
	h := r.Connect(r.Home, "frail", "--session", "s")
	h.Open()
	h.Call("echo", map[string]string{"text": "x"})
	pid := r.Listed("frail").PID
	p := open(t, r)
	p.until("a good server", text(card("server frail")+" .instance .state.good")+`.startsWith("connected (")`)
	r.Write(filepath.Join(r.Home, "broken"), "")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for { // the first may be on its way to the process that died
		m := h.Ask("tools/call", map[string]any{"name": "echo", "arguments": map[string]string{"text": "y"}})
		if strings.Contains(string(m.Line), "exit status 3") {
			break
		}
	}
	p.until("a bad one", text(card("server frail")+" .instance .state.bad")+`.includes("exit status 3")`)
	p.until("the same of the session", text(card("session s")+" .row .state.bad")+`.includes("exit status 3")`)
	red := eval[string](p, `getComputedStyle(document.querySelector(".instance .state.bad")).color`)
	if still := eval[string](p, `getComputedStyle(document.querySelector("h1")).color`); red == still {
		t.Errorf("a dead server has the colour of everything else, %s", red)
	}
	if got := eval[string](p, text(card("session s")+" .badge.warn")); got != "MCP all•" {
		t.Errorf("the badge is %q", got)
	}
	p.do(chromedp.Click(card("server frail") + " summary"))
	p.until("its last words", text(card("server frail")+" pre")+`.includes("out of paper")`)
	if err := os.Remove(filepath.Join(r.Home, "broken")); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Click(card("server frail") + " .instance button"))
	p.until("nothing that fails", `!document.querySelector("main .bad")`)
	h.Call("echo", map[string]string{"text": "z"})
	p.until("a good server again", text(card("server frail")+" .instance .state.good")+`.startsWith("connected (")`)
}

// TestHostileTextStaysText holds threat T27 in the page.
func TestHostileTextStaysText(t *testing.T) {
	poison := `<img src=x onerror="document.title='owned'">`
	r := rig.New(t, mcpx, config(map[string]string{"evil": `"command": "sh", "args": ["-c", "printf '<b>bold</b> \\342\\200\\256gnp.exe <script>document.title=1</script>\\n' >&2; exit 3"]`}))
	h := r.Connect(r.Home, "evil", "--session", "s")
	h.Name = poison + "\u202emoc"
	h.Open()
	h.Ask("tools/call", map[string]any{"name": "x"})
	p := open(t, r)
	p.until("the server's words", text(card("server evil")+" .instance")+`.includes("<b>bold</b>")`)
	p.do(chromedp.Click(card("server evil") + " summary"))
	p.until("its stderr", text(card("server evil")+" pre")+`.includes("<script>")`)
	p.until("the host's name", text(card("session s")+" h3")+`.includes("<img src=x onerror=")`)
	if got := eval[string](p, `document.body.innerText`); strings.Contains(got, "\u202e") || !strings.Contains(got, `\u202e`) {
		t.Errorf("a mark that turns text around is not written out: %q", got)
	}
	if got := eval[int](p, `document.querySelectorAll("main img, main script, main b, main iframe").length`); got != 0 {
		t.Errorf("%d elements are made of text", got)
	}
	if got := eval[string](p, `document.title`); got != "mcpx" {
		t.Errorf("the title is %q", got)
	}
}

// TestAPageIsOpenedOnce holds threat T32: a link is good once, and a page without
// a token holds nothing.
func TestAPageIsOpenedOnce(t *testing.T) {
	r, _, _ := twoHosts(t)
	address := strings.TrimSpace(r.Mcpx("ui", "--print"))
	p := visit(t, address)
	p.until("the sessions", text(card("session one"))+`.includes("MCP all")`)
	if got := eval[string](p, `location.href`); strings.Contains(got, "#") {
		t.Errorf("the address still has the code: %s", got)
	}
	again := visit(t, address)
	again.until("that the link was used", text("main")+`.includes("was used")`)
	bare, code, _ := strings.Cut(address, "#")
	none := visit(t, bare)
	none.until("what to do", text("main")+`.includes("mcpx ui")`)
	for _, q := range []*tab{again, none} {
		if got := eval[string](q, `document.body.innerText`); strings.Contains(got, "docs") {
			t.Errorf("a page without a token says %q", got)
		}
	}
	if kept := eval[int](p, `document.cookie.length + localStorage.length + sessionStorage.length`); kept != 0 {
		t.Errorf("the page keeps %d things", kept)
	}
	if strings.Contains(r.Log(), code) {
		t.Error("the log has the code")
	}
	answer, err := http.Get(bare)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if csp := answer.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("policy %q", csp)
	}
	r.Mcpx("stop")
	p.until("the end of the daemon", text(".top .refusal")+`.includes("mcpx ui")`)
}

// TestAnAgentsPageOnlyNarrows holds threat T8: a page that was opened from inside
// an agent's session can do what the agent can.
func TestAnAgentsPageOnlyNarrows(t *testing.T) {
	r, one, _ := twoHosts(t)
	p := visit(t, strings.TrimSpace(r.Mcpx("ui", "--print"))) // the test is the host
	p.do(chromedp.Click(row("one", "jira")))
	changed(one)
	p.until("the switch", text(card("session one"))+`.includes("hidden by switch")`)
	p.do(chromedp.Click(row("one", "jira")))
	p.until("the refusal", text(card("session one")+" .refusal")+`.includes("for a person to say")`)
	if sees(one, "jira") || eval[bool](p, `document.querySelectorAll('`+card("session one")+` input:checked').length !== 1`) {
		t.Errorf("one has %v", tools(one))
	}
}

// TestTheKeyboardReachesEverything: Tab goes to every control in turn, and where it
// is can be seen.
func TestTheKeyboardReachesEverything(t *testing.T) {
	r, _, _ := twoHosts(t)
	p := open(t, r)
	p.until("the rules", `document.getElementById("add-rule")`)
	controls := eval[int](p, `document.querySelectorAll("a[href], button:not(:disabled), input:not(:disabled), summary").length
		- document.querySelectorAll("details:not([open]) :is(button, input)").length`)
	seen := map[string]bool{}
	for range controls {
		p.do(chromedp.KeyEvent(kb.Tab))
		at := eval[string](p, `(() => {
			const e = document.activeElement, all = [...document.querySelectorAll("*")];
			return all.indexOf(e) + " " + e.tagName + " " + getComputedStyle(e).outlineStyle;
		})()`)
		if strings.HasSuffix(at, " none") {
			t.Errorf("it cannot be seen that the focus is at %s", at)
		}
		seen[at] = true
	}
	if len(seen) != controls {
		t.Errorf("the Tab key reaches %d of %d controls", len(seen), controls)
	}
}
