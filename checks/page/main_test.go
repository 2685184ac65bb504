// Package page drives the page of `mcpx ui` in a real browser: a daemon, hosts and
// servers as in package e2e, and Chromium without a window.
package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/dezren39/mcpx/checks/rig"
)

// The programs under test, built once, and a browser, started once.
var (
	mcpx, fakemcp string
	browser       context.Context
	noBrowser     string // why there is none
)

func TestMain(m *testing.M) {
	end := func() {}
	code := rig.Main(m, func(_ string, bins []string) error {
		mcpx, fakemcp = bins[0], bins[1]
		end = openBrowser()
		return nil
	}, "github.com/dezren39/mcpx/cmd/mcpx", "github.com/dezren39/mcpx/checks/fakemcp")
	end()
	os.Exit(code)
}

// openBrowser starts the Chromium that is there, unless MCPX_PAGE=0. With MCPX_PAGE=1
// it must be there.
func openBrowser() (end func()) {
	if os.Getenv("MCPX_PAGE") == "0" {
		noBrowser = "MCPX_PAGE=0; .ci/run runs this"
		return func() {}
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		noBrowser = "no Chromium on PATH; .ci/run installs one"
		return func() {}
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, // it runs as root where tests do, and sees this page alone
		chromedp.Flag("disable-dev-shm-usage", true))
	allocated, endAll := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, endOne := chromedp.NewContext(allocated)
	if err := chromedp.Do(ctx); err != nil {
		noBrowser = "Chromium does not start: " + err.Error()
	}
	browser = ctx
	return func() { _ = chromedp.Cancel(ctx); endOne(); endAll() }
}

// tab is a page in the browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// patience is for what the page hears of by itself and draws, on a busy machine.
const patience = 20 * time.Second

// open opens the page of a rig's daemon, as a person in a terminal does, in a tab
// of its own.
func open(t *testing.T, r *rig.Rig, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	return visit(t, strings.TrimSpace(r.Elsewhere("ui", "--print")), before...)
}

func visit(t *testing.T, address string, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	if noBrowser != "" {
		if os.Getenv("MCPX_PAGE") == "1" {
			t.Fatal(noBrowser)
		}
		t.Skip(noBrowser)
	}
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p := &tab{t, ctx}
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as the first context it is used with
		t.Fatal(err)
	}
	p.do(append(before, chromedp.Navigate(address))...)
	return p
}

// do does things within patience.
func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%v; the page says:\n%s", err, p.says())
	}
}

// says is all the text of the page.
func (p *tab) says() string {
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// until waits until an expression is true in the page. It asks from outside, since
// the page may not evaluate text.
func (p *tab) until(what, expression string) {
	p.t.Helper()
	for late := time.After(patience); ; {
		yes, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](`Boolean(`+expression+`)`))
		if err != nil {
			p.t.Fatalf("%s: %v", what, err)
		}
		if yes {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			p.t.Fatalf("%s did not come about; the page says:\n%s", what, p.says())
		}
	}
}

// eval is the value of an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// card is a CSS selector of a card by what it is labelled.
func card(label string) string { return fmt.Sprintf(`article[aria-label=%q]`, label) }

// text is an expression for the text of the first element that a selector finds.
func text(selector string) string {
	return fmt.Sprintf(`(document.querySelector(%q)?.innerText ?? "")`, selector)
}

// row is a selector of a server's switch in a session's card, named by XPath as
// a person finds it: by its text.
func row(session, server string) string {
	return fmt.Sprintf(`//article[@aria-label="session %s"]//label[contains(@class,"row")][span[@class="name"]=%q]`, session, server)
}

func config(servers map[string]string, more ...string) string {
	var list []string
	for name, s := range servers {
		list = append(list, fmt.Sprintf("%q: {%s}", name, strings.ReplaceAll(s, "FAKE", fakemcp)))
	}
	return fmt.Sprintf(`{"mcpServers": {%s}, "daemon": {"stopGrace": "200ms"}%s}`, strings.Join(list, ", "), strings.Join(more, ""))
}
