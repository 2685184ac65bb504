package adopt

import (
	"path"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/hostfile"
	"github.com/dezren39/mcpx/pkg/scope"
)

// knowledge is how a kind of server wants to be shared.
type knowledge struct {
	words     []string // any of these in the name of its program or package
	scope     scope.Scope
	exclusive bool
	reason    string
	note      func(hostfile.Entry) string
}

// known are the kinds of servers, the most particular first: codebase-memory is
// no language server, and chrome-devtools no documentation.
func known() []knowledge {
	return []knowledge{
		{
			words: []string{"sequential-thinking", "sequentialthinking"}, scope: scope.Session,
			reason: "its history of thoughts is one per process, and another session's would mix in",
		},
		{
			words: []string{"playwright", "puppeteer", "chrome-devtools", "browser-use", "browser-tools", "browsermcp", "selenium", "webdriver", "browserbase", "stagehand"},
			scope: scope.Session, exclusive: true,
			reason: "a browser's pages and logins belong to one session, and one call at a time drives it",
			note:   isolated,
		},
		{
			words: []string{"desktop-commander", "terminal", "shell", "tmux"}, scope: scope.Session,
			reason: "its terminals belong to one session",
		},
		{
			words: []string{"memory", "mem0", "codedb", "basic-memory", "openmemory"}, scope: scope.Global,
			reason: "what it keeps lies in one place, and two processes would write over each other",
		},
		{
			words:  []string{"gopls", "mcp-language-server", "cclsp", "serena", "typescript-mcp", "tsserver", "rust-analyzer", "pyright", "basedpyright", "clangd", "jdtls", "ruby-lsp", "nixd", "lsp"},
			scope:  scope.Worktree,
			reason: "a language server answers for the checkout it starts in",
		},
		{words: []string{"filesystem", "server-filesystem"}, scope: scope.Global, reason: "it serves the directories in its arguments to everybody alike"},
		{
			words: []string{"server-git", "git-mcp-server"}, scope: scope.Worktree,
			reason: "it works on the repository it starts in",
		},
		{
			words: []string{"context7", "deepwiki", "ref-tools", "fetch", "brave-search", "search", "exa", "tavily", "kagi", "duckduckgo", "perplexity", "firecrawl",
				"wikipedia", "documentation", "docs", "microsoft-learn", "arxiv", "time"},
			scope: scope.Global, reason: "it looks things up and keeps nothing between calls",
		},
		{
			words: []string{"github", "gitlab", "gitea", "forgejo", "linear", "jira", "atlassian", "confluence", "slack", "notion", "sentry", "figma", "stripe", "grafana",
				"datadog", "asana", "todoist", "postgres", "postgresql", "mysql", "sqlite", "redis", "mongodb", "bigquery", "supabase", "cloudflare", "kubernetes", "aws"},
			scope: scope.Global, reason: "what it works on lies elsewhere, and a call says all it needs",
		},
	}
}

// know finds out how an entry wants to be shared. Who is not known gets a
// process for each session: the way hosts start servers comes nearest to it.
func know(e hostfile.Entry) knowledge {
	names := identities(e)
	for _, k := range known() {
		if slices.ContainsFunc(names, k.fits) {
			return k.fitted(e)
		}
	}
	return knowledge{
		scope:  scope.Session,
		reason: `not known to mcpx: one for each session is what the host did; "global" shares it if it keeps nothing between calls`,
	}
}

// fitted looks at what only the entry tells: a file server without directories
// takes its root.
func (k knowledge) fitted(e hostfile.Entry) knowledge {
	if k.words[0] == "filesystem" && !slices.ContainsFunc(e.Args, isDirectory) {
		k.scope, k.reason = scope.Worktree, "it has no directories in its arguments, and takes the checkout it is offered"
	}
	return k
}

func isDirectory(arg string) bool {
	return strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, "~") || strings.HasPrefix(arg, ".") || strings.Contains(arg, "${")
}

func isolated(e hostfile.Entry) string {
	if !strings.Contains(strings.Join(e.Args, " "), "playwright") || slices.Contains(e.Args, "--isolated") {
		return ""
	}
	return `add "--isolated" to args: without it two sessions fight for one browser profile`
}

func (k knowledge) fits(name string) bool {
	for _, w := range k.words {
		if strings.Contains(name, "-"+w+"-") {
			return true
		}
	}
	return false
}

// identities are what an entry is known by: its program, the packages among its
// arguments, the host of its address, and its own name. Each is in lower case
// with "-" between and around its words.
func identities(e hostfile.Entry) []string {
	names := []string{e.Command, e.Name}
	for _, a := range e.Args {
		if !strings.HasPrefix(a, "-") && !isDirectory(a) {
			names = append(names, a)
		}
	}
	if _, rest, ok := strings.Cut(e.URL, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		names = append(names, host)
	}
	for i, n := range names {
		names[i] = normal(n)
	}
	return names
}

// normal drops directories, npm's scope and the version: "@playwright/mcp@0.1"
// is "-playwright-mcp-".
func normal(name string) string {
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		name = name[:i]
	}
	if !strings.HasPrefix(name, "@") {
		name = path.Base(name)
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
	return "-" + strings.Join(words, "-") + "-"
}
