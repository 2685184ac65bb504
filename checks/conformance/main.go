// Command conformance is the client that the MCP conformance suite drives: a host
// with a real `mcpx connect` between it and the suite's server. It does what the
// scenario in MCP_CONFORMANCE_SCENARIO needs a client to do, and signs in with
// `mcpx auth login` when it has to. checks/conformance.sh runs it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: conformance MCPX URL")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// user is one who has nothing but the suite's server.
type user struct {
	mcpx string
	env  []string
}

func run(mcpx, url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	home, err := os.MkdirTemp("", "cf")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	config := fmt.Sprintf(`{"mcpServers": {"suite": {"url": %q, "mcpx": {"scope": "session"}}}}`, url)
	file := filepath.Join(home, ".config/mcpx/config.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	u := &user{mcpx: mcpx, env: []string{"HOME=" + home, "MCPX_RUNTIME_DIR=" + filepath.Join(home, "run"), "PATH=" + os.Getenv("PATH")}}
	defer u.command("stop").Run()
	return u.play(ctx, os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Getenv("MCP_CONFORMANCE_CONTEXT"))
}

func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.Command(u.mcpx, args...)
	cmd.Env, cmd.Stderr = u.env, os.Stderr
	return cmd
}

// login goes where `mcpx auth login` says, as a browser does.
func (u *user) login() error {
	cmd := u.command("auth", "login", "suite", "--print")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		var resp *http.Response
		if resp, err = http.Get(strings.TrimSpace(address)); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}
	if err != nil {
		_ = cmd.Process.Kill() // it waits for an answer that will not come
	}
	return cmd.Wait()
}

// signed does what may need a sign-in, or a wider one, a few times.
func (u *user) signed(do func() error) error {
	for tries := 0; ; tries++ {
		err := do()
		if err == nil || tries == 2 || !strings.Contains(err.Error(), "needs sign-in") && !strings.Contains(err.Error(), "needs the scope") {
			return err
		}
		if err := u.login(); err != nil {
			return fmt.Errorf("login: %w", err)
		}
	}
}

func (u *user) play(ctx context.Context, scenario, given string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "conformance", Version: "1"}, &mcp.ClientOptions{
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := map[string]any{}
			if strings.HasPrefix(scenario, "sep-2322") {
				content["confirmed"] = true
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	})
	host, err := client.Connect(ctx, &mcp.CommandTransport{Command: u.command("connect", "suite")}, nil)
	if err != nil {
		return err
	}
	defer host.Close()
	var list *mcp.ListToolsResult
	if err := u.signed(func() (err error) { list, err = host.ListTools(ctx, nil); return err }); err != nil {
		return err
	}
	calls := callsOf(scenario, given, list)
	for _, c := range calls {
		err := u.signed(func() error { _, err := host.CallTool(ctx, c); return err })
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err) // some are to be refused
		}
	}
	if scenario == "http-standard-headers" {
		return everyName(ctx, host)
	}
	return nil
}

// everyName asks once for each thing that has a name in a header.
func everyName(ctx context.Context, host *mcp.ClientSession) error {
	resources, err := host.ListResources(ctx, nil)
	if err == nil && len(resources.Resources) > 0 {
		_, err = host.ReadResource(ctx, &mcp.ReadResourceParams{URI: resources.Resources[0].URI})
	}
	if err != nil {
		return err
	}
	prompts, err := host.ListPrompts(ctx, nil)
	if err == nil && len(prompts.Prompts) > 0 {
		_, err = host.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompts.Prompts[0].Name})
	}
	return err
}

// callsOf are the calls that the scenario wants: those it names, or each tool once.
func callsOf(scenario, given string, list *mcp.ListToolsResult) (calls []*mcp.CallToolParams) {
	var named struct {
		ToolCalls []struct {
			Name      string         `json:"name"`
			Arguments map[string]any `json:"arguments"`
		} `json:"toolCalls"`
	}
	if json.Unmarshal([]byte(given), &named) == nil && len(named.ToolCalls) > 0 {
		for _, c := range named.ToolCalls {
			calls = append(calls, &mcp.CallToolParams{Name: c.Name, Arguments: c.Arguments})
		}
		return calls
	}
	for _, t := range list.Tools {
		arguments := map[string]any{}
		switch {
		case t.Name == "add_numbers":
			arguments = map[string]any{"a": 5, "b": 3}
		case scenario == "http-invalid-tool-headers":
			arguments["region"] = "us-west1"
		case t.Name == "json_schema_echo":
			for _, other := range list.Tools {
				if other.Name == "json_schema_2020_12_tool" {
					arguments["schema"] = other.InputSchema
				}
			}
		}
		calls = append(calls, &mcp.CallToolParams{Name: t.Name, Arguments: arguments})
	}
	return calls
}
