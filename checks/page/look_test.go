package page

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/dezren39/mcpx/checks/rig"
)

var update = flag.Bool("update", false, "write the screenshots that README shows")

// TestThePageFitsAndIsReadable at two widths, by day and by night: nothing is cut
// off, and text has the contrast that WCAG 2.2 asks for (1.4.3: 4.5 to 1). With
// -update it writes screenshots/.
func TestThePageFitsAndIsReadable(t *testing.T) {
	r := aWorkingDay(t)
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d-%s", width, scheme), func(t *testing.T) {
				p := open(t, r, chromedp.EmulateViewport(width, 900), prefers(scheme))
				p.until("all of it", `document.querySelectorAll("article").length === 7 && document.querySelector(".state.bad")`)
				if wide := eval[int64](p, `document.documentElement.scrollWidth`); wide > width {
					t.Errorf("the page is %d wide where there is room for %d, for %q", wide, width, eval[[]string](p, `[...document.querySelectorAll("body *")]
						.filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.tagName + " " + e.className)`))
				}
				if faint := eval[[]string](p, contrast); len(faint) > 0 {
					t.Errorf("too faint: %q", faint)
				}
				if small := eval[[]string](p, `[...document.querySelectorAll("button, .row")].filter((e) => { const h = e.getBoundingClientRect().height; return h > 0 && h < 24; }).map((e) => e.innerText)`); len(small) > 0 {
					t.Errorf("too small to hit (WCAG 2.5.8): %q", small)
				}
				if !*update {
					return
				}
				png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join("screenshots", fmt.Sprintf("%d-%s.png", width, scheme)), png, 0o644); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func prefers(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

// contrast are the texts whose colour is too near to that of what is behind them.
const contrast = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgb = (color) => {
		canvas.clearRect(0, 0, 1, 1);
		canvas.fillStyle = color;
		canvas.fillRect(0, 0, 1, 1);
		return [...canvas.getImageData(0, 0, 1, 1).data];
	};
	const light = (c) => {
		const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = (e) => {
		for (; e; e = e.parentElement) {
			const c = rgb(getComputedStyle(e).backgroundColor);
			if (c[3] === 255) return c;
		}
		return [255, 255, 255];
	};
	const faint = [];
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.closest(":disabled, noscript, datalist")) continue;
		const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
		if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) faint.push(e.innerText);
	}
	return faint;
})()`

// aWorkingDay is four servers and three hosts, as a person may have them.
func aWorkingDay(t *testing.T) *rig.Rig {
	r := rig.New(t, mcpx, config(map[string]string{
		"gopls":   `"command": "FAKE", "mcpx": {"scope": "worktree"}`,
		"docs":    `"command": "FAKE"`,
		"browser": `"command": "FAKE", "mcpx": {"scope": "session"}`,
		"jira":    `"command": "sh", "args": ["-c", "echo no route to host >&2; exit 1"]`,
	}))
	shop, feature := r.Checkouts()
	r.Write(filepath.Join(r.Home, ".config/mcpx/rules.json"), fmt.Sprintf(`{"default": "*", "rules": [{"path": %q, "servers": ["gopls", "docs"]},
		{"path": %q, "servers": []}]}`, shop, "~/notes-of-the-"+strings.Repeat("very", 15)+"-long-year")) // a word that no line has room for
	for _, h := range []struct{ name, dir, session string }{
		{"claude-code", shop, "7f3a"}, {"codex", feature, "b201"}, {"opencode", r.Home, "c9d4"},
	} {
		host := r.Connect(h.dir, "--session", h.session)
		host.Name = h.name
		host.Open()
		tools(host)
		if h.session == "c9d4" {
			host.Ask("tools/call", map[string]any{"name": "jira__echo"})
		} else {
			host.Call("gopls__echo", map[string]string{"text": "x"})
		}
	}
	r.Elsewhere("sessions", "deny", "jira", "--session", "b201")
	return r
}
