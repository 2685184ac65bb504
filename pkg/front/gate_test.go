package front

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheGateLetsNothingElseIn holds threats T9, T32 and T33: what does not pass
// reaches no session, and no answer lets a page of another origin read it.
func TestTheGateLetsNothingElseIn(t *testing.T) {
	h := open(t, true, nil)
	ping := `{"jsonrpc":"2.0","id":1,"method":"initialize"}`
	post := func(edit string, more ...string) string { // edit replaces the header of that name, or removes it
		headers := []string{
			"Host: 127.0.0.1:" + h.port, "Content-Type: application/json", "Accept: application/json, text/event-stream",
			"Authorization: Bearer " + token, fmt.Sprintf("Content-Length: %d", len(ping)),
		}
		name, _, _ := strings.Cut(edit, ":")
		for i, header := range headers {
			if strings.HasPrefix(header, name+":") && name != "" {
				headers[i], edit = edit, ""
			}
		}
		all := append(append(headers, edit), more...)
		text := "POST /mcp/srv HTTP/1.1\r\n"
		for _, header := range all {
			if header != "" && !strings.HasSuffix(header, ": -") {
				text += header + "\r\n"
			}
		}
		return text + "Connection: close\r\n\r\n" + ping
	}
	for _, tt := range []struct {
		name    string
		request string
		status  int
	}{
		{"a name that leads here", post("Host: evil.test"), 403},
		{"a name that leads here, with our port", post("Host: evil.test:" + h.port), 403},
		{"all addresses", post("Host: 0.0.0.0:" + h.port), 403},
		{"our address as a part of a name", post("Host: 127.0.0.1.evil.test:" + h.port), 403},
		{"our address with another port", post("Host: 127.0.0.1:1"), 403},
		{"our address without a port", post("Host: 127.0.0.1"), 403},
		{"no host", post("Host: "), 403},
		{"a request line that names another host", strings.Replace(post(""), "POST /mcp", "POST http://evil.test/mcp", 1), 403},
		{"no origin that can be told", post("Origin: null"), 403},
		{"an origin of another port", post("Origin: http://localhost:9"), 403},
		{"an origin of another scheme", post("Origin: https://127.0.0.1:" + h.port), 403},
		{"an origin that begins like ours", post("Origin: http://127.0.0.1:" + h.port + ".evil.test"), 403},
		{"two origins", post("Origin: http://127.0.0.1:"+h.port, "Origin: http://evil.test"), 403},
		{"a page of another site", post("Sec-Fetch-Site: cross-site"), 403},
		{"a page of the same site", post("Sec-Fetch-Site: same-site"), 403},
		{"a form", post("Content-Type: text/plain"), 415},
		{"a form of another kind", post("Content-Type: application/x-www-form-urlencoded"), 415},
		{"two kinds", post("Content-Type: application/json", "Content-Type: text/plain"), 415},
		{"no kind", post("Content-Type: -"), 415},
		{"no token", post("Authorization: -"), 401},
		{"an empty token", post("Authorization: Bearer "), 401},
		{"a wrong token", post("Authorization: Bearer " + strings.Repeat("0", 64)), 401},
		{"a token of another kind", post("Authorization: Basic " + token), 401},
		{"half a token", post("Authorization: Bearer " + token[:32]), 401},
		{"two tokens", post("Authorization: Bearer "+token, "Authorization: Bearer "+token), 401},
		{"a token in the address", strings.Replace(post("Authorization: -"), "/mcp/srv", "/mcp/srv?token="+token, 1), 401},
		{"a token in a cookie", post("Authorization: -", "Cookie: token="+token), 401},
		{"what a page asks before it asks", strings.Replace(post("", "Origin: http://127.0.0.1:"+h.port, "Access-Control-Request-Method: POST"), "POST", "OPTIONS", 1), 405},
		{"another method", strings.Replace(post(""), "POST", "PUT", 1), 405},
		{"a head", strings.Replace(post(""), "POST", "HEAD", 1), 405},
		{"another path", strings.Replace(post(""), "/mcp/srv", "/", 1), 404},
		{"a server that no config can name", strings.Replace(post(""), "/mcp/srv", "/mcp/a%2Fb", 1), 404},
		{"a path that leads out", strings.Replace(post(""), "/mcp/srv", "/mcp/../mcp/srv", 1), 404},
		{"a length said in two ways", post("", "Transfer-Encoding: chunked"), 411},
		{"two lengths", post("", "Content-Length: 3"), 400},
		{"no length", post("Content-Length: -"), 400},
		{"too long", post("Content-Length: 67108865"), 413},
		{"a folded header, which is one value", post("", "X-Mcpx-Cwd: /a\r\n /b: c"), 200},
		{"a header without end", post("", "X-Long: "+strings.Repeat("x", 32<<10)), 431},
		{"an upgrade to a socket", strings.Replace(post("", "Upgrade: websocket"), "POST", "GET", 1), 405},
		{"no cwd that can be", post("X-Mcpx-Cwd: here"), 400},
		{"a cwd that the host should have filled in", post("X-Mcpx-Cwd: ${workspaceFolder}"), 400},
		{"two sessions", post("X-Mcpx-Session: a", "X-Mcpx-Session: b"), 400},
		{"an empty session", post("X-Mcpx-Session: "), 400},
		{"a session that is no text", post("X-Mcpx-Session: =?base64?/w==?="), 400},
		{"a host that takes no stream", post("Accept: application/json"), 406},
		{"a revision of nobody's", post("MCP-Protocol-Version: 1999-01-01"), 400},
		{"a session that is not there", post("Mcp-Session-Id: x"), 200}, // initialize opens one
		{"a good request", post(""), 200},
		{"a good request by name", post("Host: localhost:"+h.port, "Sec-Fetch-Site: none", "Origin: http://localhost:"+h.port), 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := h.entered()
			status, header, _ := h.raw(tt.request)
			want := 0
			if tt.status == 200 {
				want = 1
			}
			if status != tt.status || h.entered()-before != want {
				t.Errorf("got %d and %d sessions, want %d and %d", status, h.entered()-before, tt.status, want)
			}
			for name := range header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("it lets pages of others read: %s", name)
				}
			}
			if allow := header.Get("Allow"); status == 405 && allow == "" || status == 401 && header.Get("Www-Authenticate") == "" {
				t.Errorf("%d does not say what would do: %v", status, header)
			}
		})
	}
}

func TestTheTokenStaysAndIsNobodyElses(t *testing.T) {
	dir := t.TempDir()
	first, file, err := Token(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	text, _ := os.ReadFile(file)
	if secret := strings.TrimSpace(string(text)); len(secret) != 64 || sha256.Sum256([]byte(secret)) != first {
		t.Errorf("the file holds %d characters, and not what the digest is of", len(secret))
	}
	again, _, err := Token(dir)
	if err != nil || again != first {
		t.Errorf("the next daemon has another: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	for name, spoil := range map[string]func() error{
		"readable by others": func() error { return os.Chmod(file, 0o644) },
		"no token":           func() error { return os.WriteFile(file, []byte("hunter2\n"), 0o600) },
		"a link": func() error {
			return os.Symlink("elsewhere", file)
		},
	} {
		_ = os.Remove(file)
		if name != "a link" {
			_, _, _ = Token(dir)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Token(dir); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_ = os.Remove(file)
	if fresh, _, err := Token(dir); err != nil || fresh == first {
		t.Errorf("a token that was removed is still good: %v", err)
	}
}
