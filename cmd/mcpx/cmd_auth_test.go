package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
)

func TestAddressesForABrowser(t *testing.T) { // threat T30
	for address, want := range map[string]bool{
		"https://as.test/authorize?x=y": true, "http://127.0.0.1:8080/a": true, "http://localhost/a": true, "http://[::1]/a": true,
		"http://as.test/a": false, "file:///etc/passwd": false, "javascript:alert(1)": false, "--x": false, "-x": false, "a$(x)": false, "": false,
		"https://": false, "https://u:p@as.test/": false, "https://as.test/a b": false, "https://as.test/\n--x": false, "https://as.test/\x1b[2J": false, "https://as.test/ü": false,
	} {
		if got := isWebAddress(address); got != want {
			t.Errorf("%q: got %v, want %v", address, got, want)
		}
	}
}

func TestAuthTable(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	printer{w: &out, utf8: true}.authTable([]api.AuthStatus{
		{Server: "jira", Origin: "https://mcp.jira.test", State: "signed-in", Issuer: "https://as.jira.test", Expires: now.Add(50 * time.Minute), Renews: true},
		{Server: "docs", Origin: "https://docs.test", State: "signed-out"},
		{Server: "new", Origin: "https://new.test", State: "pending", Issuer: "https://as.test"},
		{Server: "old", Origin: "https://old.test", State: "signed-in", Issuer: "https://as.test", Expires: now.Add(-time.Minute)},
		{Server: "ever", Origin: "https://ever.test", State: "signed-in", Issuer: "https://as.test"},
	}, now)
	golden(t, "auth.txt", out.Bytes())
}
