package demo

//lint:file-ignore SA1019 a server of the legacy era is told its root by roots/list (design D5), deprecated or not

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// dial is a client on the demo's server, in memory.
func dial(t *testing.T, c *mcp.Client, version string) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	server, err := newServer("1").Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Wait() })
	session, err := c.Connect(t.Context(), ours, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func ask[T any](t *testing.T, s *mcp.ClientSession, params *mcp.CallToolParams) T {
	t.Helper()
	res, err := (&host{session: s}).session.CallTool(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := structured(res, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestServerSaysWhatItWasTold(t *testing.T) {
	shop, err := WriteShop(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(shop.Feature)
	impl := &mcp.Implementation{Name: "host", Version: "1"}

	t.Run("a legacy server asks for roots", func(t *testing.T) {
		c := mcp.NewClient(impl, nil)
		c.AddRoots(&mcp.Root{URI: "file:///src/shop"})
		me := ask[WhoAmI](t, dial(t, c, legacy), &mcp.CallToolParams{Name: "whoami"})
		want := []string{"file:///src/shop"}
		if diff := cmp.Diff(want, me.Roots); diff != "" || me.ProtocolVersion != legacy || !me.DeclaredRoots || me.Client != "host" {
			t.Errorf("whoami = %+v; roots (-want +got):\n%s", me, diff)
		}
	})
	t.Run("a modern server is told with the request", func(t *testing.T) {
		c := mcp.NewClient(impl, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
		me := ask[WhoAmI](t, dial(t, c, ""), &mcp.CallToolParams{Name: "whoami", Meta: mcp.Meta{
			"dev.mcpx/workspace": map[string]any{"rootUri": "file:///src/shop"}}})
		if diff := cmp.Diff([]string{"file:///src/shop"}, me.Roots); diff != "" {
			t.Errorf("whoami = %+v; roots (-want +got):\n%s", me, diff)
		}
	})
	t.Run("it sees the files of its own directory", func(t *testing.T) {
		c := mcp.NewClient(impl, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
		got := ask[Exported](t, dial(t, c, legacy), &mcp.CallToolParams{Name: "exported"})
		if diff := cmp.Diff([]string{"OnlyOnFeature"}, got.Functions); diff != "" {
			t.Errorf("exported (-want +got):\n%s", diff)
		}
	})
}

func TestExportedLeavesOutMethodsAndTheUnexported(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.go"), "package a\n\ntype T int\n\nfunc (T) M() {}\nfunc f() {}\nfunc B() {}\nfunc A() {}\n")
	got, err := exportedIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A", "B"}, got); diff != "" {
		t.Errorf("exportedIn (-want +got):\n%s", diff)
	}
}
