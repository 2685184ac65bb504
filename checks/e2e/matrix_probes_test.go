//lint:file-ignore SA1019 what is deprecated is passed on for as long as it is asked for

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/pkg/api"
)

// probe is one thing that a proxy may lose.
type probe struct {
	name string
	try  func(c *cell) error
}

// calls is how many servers have had.
func calls(s api.Status) (n int64) {
	for _, in := range s.Instances {
		n += in.Calls
	}
	return n
}

// underWay waits until a server has a call more than before.
func (c *cell) underWay(before int64) {
	c.r.Until("the call is under way", func(s api.Status) bool { return calls(s) > before })
}

func wants(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

var probes = []probe{
	{"2 tools", func(c *cell) error { _, err := c.tool("whose"); return err }},
	{"3 title and annotations", func(c *cell) error {
		tool, err := c.tool("weather")
		if err != nil {
			return err
		}
		return wants(tool.Title == "The weather" && tool.Annotations != nil && tool.Annotations.ReadOnlyHint, "got %+v", tool)
	}},
	{"4 a call", func(c *cell) error { return c.holds("whose", "rich") }},
	{"1 instructions", func(c *cell) error { // of servers that have run: this one has, and will be known to have
		got := ""
		for began := time.Now(); time.Since(began) < 10*time.Second; {
			if got = c.open(c.dir, "again").InitializeResult().Instructions; strings.Contains(got, "how to use rich") {
				return nil
			}
		}
		return fmt.Errorf("got %q", got)
	}},
	{"5 structured content", func(c *cell) error {
		res, err := c.call("weather")
		if err != nil {
			return err
		}
		b, _ := json.Marshal(res.StructuredContent)
		return wants(strings.Contains(string(b), "degrees"), "got %s", b)
	}},
	{"6 output schema", func(c *cell) error {
		tool, err := c.tool("weather")
		if err != nil {
			return err
		}
		return wants(tool.OutputSchema != nil, "no schema")
	}},
	{"7 an image", func(c *cell) error {
		res, err := c.call("image")
		if err != nil {
			return err
		}
		img, ok := res.Content[0].(*mcp.ImageContent)
		return wants(ok && string(img.Data) == "pixels", "got %+v", res.Content[0])
	}},
	{"8 isError", func(c *cell) error {
		res, err := c.call("fail")
		if err != nil {
			return err
		}
		return wants(res.IsError, "got %+v", res)
	}},
	{"9 2 MiB", func(c *cell) error {
		got, err := c.text("big")
		if err != nil {
			return err
		}
		return wants(len(got) == 2<<20, "got %d bytes", len(got))
	}},
	{"10 progress", func(c *cell) error {
		if err := c.holds("steps", "done"); err != nil {
			return err
		}
		return c.saw("progress own 2")
	}},
	{"11 logs", func(c *cell) error {
		p := &mcp.CallToolParams{Name: c.name("say"), Arguments: named{"error"}}
		if c.host == "modern" { // which says so with each request
			p.Meta = mcp.Meta{"io.modelcontextprotocol/logLevel": "info"}
		} else if err := c.SetLoggingLevel(c.t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
			return err
		}
		if _, err := c.CallTool(c.t.Context(), p); err != nil {
			return err
		}
		return c.saw("log rich")
	}},
	{"12 sampling", func(c *cell) error { return c.holds("samples", "sampled") }},
	{"13 elicitation", func(c *cell) error {
		if err := c.holds("elicits", "accept"); err != nil {
			return err
		}
		if c.roof {
			return c.saw("asked [server rich] who?")
		}
		return c.saw("asked who?")
	}},
	{"14 roots", func(c *cell) error { return c.holds("roots", c.dir) }},
	{"15 18 tools changed", func(c *cell) error {
		if _, err := c.tool("whose"); err != nil { // a list is told to be old by who has it
			return err
		}
		if _, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: c.name("grow"), Arguments: named{"leaf"}}); err != nil {
			return err
		}
		if err := c.saw("tools changed"); err != nil {
			return err
		}
		return c.holds("leaf", "rich leaf")
	}},
	{"16 17 prompts and resources changed", func(c *cell) error {
		if _, err := c.ListPrompts(c.t.Context(), nil); err != nil {
			return err
		}
		if _, err := c.ListResources(c.t.Context(), nil); err != nil {
			return err
		}
		if err := c.holds("more", "more"); err != nil {
			return err
		}
		return c.saw("prompts changed", "resources changed") // the server has a timer for each
	}},
	{"19 prompts", func(c *cell) error {
		p, err := c.GetPrompt(c.t.Context(), &mcp.GetPromptParams{Name: c.name("greet")})
		if err != nil {
			return err
		}
		return wants(p.Description == "by rich", "got %+v", p)
	}},
	{"20 resources", func(c *cell) error {
		res, err := c.ReadResource(c.t.Context(), &mcp.ReadResourceParams{URI: "res://rich/page"})
		if err != nil {
			return err
		}
		return wants(res.Contents[0].Text == "rich", "got %+v", res.Contents[0])
	}},
	{"21 templates", func(c *cell) error {
		list, err := c.ListResourceTemplates(c.t.Context(), nil)
		if err != nil {
			return err
		}
		if len(list.ResourceTemplates) != 1 {
			return fmt.Errorf("got %+v", list)
		}
		_, err = c.ReadResource(c.t.Context(), &mcp.ReadResourceParams{URI: "res://rich/any"})
		return err
	}},
	{"22 subscriptions", func(c *cell) error {
		if err := c.Subscribe(c.t.Context(), &mcp.SubscribeParams{URI: "res://rich/page"}); err != nil {
			return err
		}
		if err := c.holds("touch", "touched"); err != nil {
			return err
		}
		return c.saw("updated res://rich/page")
	}},
	{"23 completion", func(c *cell) error {
		got, err := c.Complete(c.t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: c.name("greet")}, Argument: mcp.CompleteParamsArgument{Name: "a", Value: "b"}})
		if err != nil {
			return err
		}
		return wants(slices.Equal(got.Completion.Values, []string{"rich:b"}), "got %+v", got)
	}},
	{"24 cancellation", func(c *cell) error {
		ctx, cancel := context.WithCancel(c.t.Context())
		defer cancel()
		p := &mcp.CallToolParams{Name: c.name("wait"), Arguments: map[string]any{}}
		p.SetProgressToken("own")
		done := make(chan error, 1)
		go func() { _, err := c.CallTool(ctx, p); done <- err }()
		if err := c.saw("progress own 42"); err != nil {
			return err
		}
		cancel()
		<-done
		for began := time.Now(); time.Since(began) < 10*time.Second; {
			if c.holds("cancelled", "1") == nil {
				return nil
			}
		}
		return fmt.Errorf("the server was not told")
	}},
	{"25 26 27 one process a directory", func(c *cell) error {
		other := c.open(c.r.Home, "other")
		beside := c.open(c.dir, "beside")
		mine, err := c.text("where")
		if err != nil {
			return err
		}
		theirs, err := other.text("where")
		if err != nil {
			return err
		}
		same, err := beside.text("where")
		if err != nil {
			return err
		}
		return wants(strings.HasPrefix(mine, c.dir+" ") && strings.HasPrefix(theirs, c.r.Home+" ") && same == mine, "in %s and %s; beside %s", mine, theirs, same)
	}},
	{"28 the client's name", func(c *cell) error { return c.holds("client", "host-own") }},
	{"29 a dead server comes back", func(c *cell) error {
		if _, err := c.call("die"); err == nil {
			return fmt.Errorf("a dead server answered")
		}
		return c.holds("whose", "rich")
	}},
	{"39 the daemon is killed between calls", func(c *cell) error {
		c.r.Kill(syscall.SIGKILL)
		return c.holds("whose", "rich")
	}},
	{"40 the daemon is killed in a call", func(c *cell) error {
		done, before := make(chan error, 1), calls(c.r.Status())
		go func() { _, err := c.call("wait"); done <- err }()
		c.underWay(before)
		c.r.Kill(syscall.SIGKILL)
		if err := <-done; err == nil {
			return fmt.Errorf("a lost call was answered")
		}
		return c.holds("whose", "rich")
	}},
}
