package config

import (
	"net/url"
	"slices"
	"strings"
)

// hidden stands in place of what is not shown.
const hidden = "•••"

// Redacted is the entry with everything that may be secret hidden: env and
// header values, userinfo and query of the url, and arguments that look like
// tokens (threat T28). Placeholders stay readable. s is not changed.
func (s RawServer) Redacted() RawServer {
	s.Env = redactValues(s.Env)
	s.Headers = redactValues(s.Headers)
	s.URL = redactURL(s.URL)
	s.Args = RedactArgs(s.Args)
	if s.Mcpx == nil || s.Mcpx.Secrets == nil {
		return s
	}
	m := *s.Mcpx
	m.Secrets = make(map[string]Secret, len(s.Mcpx.Secrets))
	for name, secret := range s.Mcpx.Secrets {
		m.Secrets[name] = Secret{File: secret.File, Command: RedactArgs(secret.Command)}
	}
	s.Mcpx = &m
	return s
}

// RedactArgs hides the arguments, or the parts of them, that look like secrets:
// well-known tokens, and the values of --token, API_KEY=, Authorization: and
// the like. args is not changed.
func RedactArgs(args []string) []string {
	out := slices.Clone(args)
	for i, a := range args {
		if i > 0 && takesSecret(args[i-1]) && !strings.HasPrefix(a, "-") {
			out[i] = redact(a)
			continue
		}
		out[i] = redactArg(a)
	}
	return out
}

// takesSecret reports whether an option's value, in the next argument, is
// secret.
func takesSecret(option string) bool {
	return strings.HasPrefix(option, "-") && !strings.Contains(option, "=") && SecretName(option)
}

func redactArg(a string) string {
	if LooksSecret(a) {
		return redact(a)
	}
	if name, value, ok := strings.Cut(a, "="); ok && SecretName(name) {
		return name + "=" + redact(value)
	}
	if name, value, ok := strings.Cut(a, ":"); ok && SecretName(name) {
		return name + ": " + redact(strings.TrimSpace(value))
	}
	if name, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(name, "-") {
		return name + "=" + redactURL(value)
	}
	return redactURL(a)
}

// SecretName reports whether values under this name, an option's, a variable's
// or a header's, are secret.
func SecretName(name string) bool {
	name = strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
	for _, part := range []string{"token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey",
		"privatekey", "authorization", "credential", "bearer", "cookie"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "auth" || name == "pat" || name == "pwd" || name == "key"
}

// LooksSecret reports whether s holds a token of a well-known make.
func LooksSecret(s string) bool {
	for _, prefix := range tokenPrefixes() {
		for rest := s; ; {
			i := strings.Index(rest, prefix)
			if i < 0 {
				break
			}
			// A token is long and stands at the start of a word.
			begins := i == 0 || !isAlnum(rest[i-1])
			rest = rest[i+len(prefix):]
			if tail, _ := word(rest[:min(len(rest), 8)]); begins && len(tail) == 8 {
				return true
			}
		}
	}
	return strings.Contains(s, "-----BEGIN ")
}

func tokenPrefixes() []string {
	return []string{
		"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "sk-", "sk_live_", "sk_test_",
		"rk_live_", "xoxb-", "xoxp-", "xoxa-", "xoxs-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "hf_", "npm_",
		"pypi-", "dckr_pat_", "eyJ", "lin_api_", "ntn_", "shpat_", "SG.", "tvly-", "ctx7sk-", "figd_", "dop_v1_",
		"sbp_", "pplx-", "gsk_", "xai-", "r8_", "ATATT",
	}
}

func redactValues(values map[string]string) map[string]string {
	if values == nil {
		return nil
	}
	out := make(map[string]string, len(values))
	for name, v := range values {
		out[name] = redact(v)
	}
	return out
}

// redact keeps the placeholders of s and hides the rest. An empty value is
// shown as one.
func redact(s string) string {
	var b strings.Builder
	for s != "" {
		before, name, rest, err := nextPlaceholder(s)
		if err != nil || before != "" {
			b.WriteString(hidden)
		}
		if err != nil || name == "" {
			break
		}
		b.WriteString(opener + name + "}")
		s = rest
	}
	return b.String()
}

// redactURL hides userinfo, query values and fragment of an address; other text
// is returned as it is.
func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil && strings.Contains(s, "://") {
		return hidden
	}
	if err != nil || u.Host == "" {
		return s
	}
	var b strings.Builder
	b.WriteString(u.Scheme + "://")
	if u.User != nil {
		b.WriteString(hidden + "@")
	}
	b.WriteString(u.Host + u.EscapedPath())
	for i, pair := range strings.Split(u.RawQuery, "&") {
		if u.RawQuery == "" {
			break
		}
		name, _, _ := strings.Cut(pair, "=")
		b.WriteString([]string{"?", "&"}[min(i, 1)] + name + "=" + hidden)
	}
	if u.Fragment != "" {
		b.WriteString("#" + hidden)
	}
	return b.String()
}
