package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretLiteral(t *testing.T) {
	tests := []struct {
		name, key, value string
		want             bool
	}{
		{"a well-known token under any name", "NOTE", "ghp_0123456789abcdef", true},
		{"a word under a name that says so", "API_KEY", "hunter2", true},
		{"a header", "Authorization", "Bearer hunter2", true},
		{"a reference", "API_KEY", "${API_KEY}", false},
		{"a reference behind a scheme", "Authorization", "Bearer ${API_KEY}", false},
		{"a reference and more", "API_KEY", "x${API_KEY}", true},
		{"opencode's reference", "API_KEY", "{env:API_KEY}", false},
		{"nothing", "TOKEN", "", false},
		{"a number of tokens", "MAX_TOKENS", "4096", false},
		{"a switch", "USE_TOKEN", "true", false},
		{"a file that holds it", "TOKEN_FILE", "/run/secrets/token", false},
		{"credentials by path", "GOOGLE_APPLICATION_CREDENTIALS", "/etc/key.json", false},
		{"a password in an address", "url", "https://me:hunter2@h/mcp", true},
		{"a name in an address", "url", "https://me@h/mcp", false},
		{"a query in an address", "url", "https://h/mcp?api_key=hunter2", true},
		{"a query that is filled in", "url", "https://h/mcp?api_key=${KEY}", false},
		{"an ordinary value", "LOG_LEVEL", "debug", false},
	}
	for _, tt := range tests {
		if got := SecretLiteral(tt.key, tt.value); got != tt.want {
			t.Errorf("%s: SecretLiteral(%q, %q) = %v", tt.name, tt.key, tt.value, got)
		}
	}
}

func TestSecretArgs(t *testing.T) {
	args := []string{"--token", "hunter2", "--token=hunter2", "--verbose", "API_KEY=hunter2", "--header", "Authorization: Bearer hunter2",
		"--token", "--quiet", "--password", "${PASSWORD}", "--auth=none", "sk-0123456789", "https://a:b@h"}
	if diff := cmp.Diff([]int{1, 2, 4, 6, 12, 13}, SecretArgs(args)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
