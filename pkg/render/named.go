package render

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
)

// home is a directory that another machine does not have. A bare /root counts
// where a path begins.
var home = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/home/[^/\s"',:;&?]*|/Users/[^/\s"',:;&?]*|/root/|(^|[^A-Za-z0-9_./-])/root$`)
})

// homePaths finds home directories in any string of a file all machines read, be
// it a key.
func homePaths(file string, data []byte) config.Problems {
	nodes, _ := config.Nodes(file, data)
	var out config.Problems
	var keyed config.Node // the last whose key is one; what lies below it follows
	for _, n := range nodes {
		found := ""
		if n.Kind == '"' {
			found = homePath(n.Value)
		}
		if key := homePath(n.Field); key != "" && !below(n, keyed) {
			keyed, found = n, key
		}
		if found != "" {
			out = append(out, problem(n.At, n.Server, n.Field, "home-path",
				fmt.Sprintf("holds %s…, which other machines do not have", found), homeHint(n)))
		}
	}
	return out
}

// below reports whether n is inside another value.
func below(n, outer config.Node) bool {
	rest, ok := strings.CutPrefix(n.Field, outer.Field)
	return ok && n.Server == outer.Server && outer.Field != "" && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}

func homePath(s string) string {
	found := home().FindString(s)
	if plain, err := url.PathUnescape(s); found == "" && err == nil {
		found = home().FindString(plain)
	}
	if i := strings.IndexByte(found, '/'); i > 0 {
		found = found[i:]
	}
	if config.LooksSecret(found) {
		return found[:strings.LastIndexByte(found, '/')+1]
	}
	return found
}

func homeHint(n config.Node) string {
	machines := path.Join(path.Dir(n.At.File), MachineDir, "*.json")
	switch {
	case n.Server == "":
		return "write ~/…, or what all machines have"
	case n.Field == "command":
		return fmt.Sprintf("name the program (%q) and put its directory on PATH, or set it in %s", path.Base(n.Value), machines)
	case n.Field == "url" || strings.HasPrefix(n.Field, "headers."):
		return "set it for each machine in " + machines
	}
	return "use ${mcpx.root}, or set it for each machine in " + machines + ", where a leading ~/ is that machine's home"
}

// secrets finds secrets written out in any file of the fleet (threat T37). They
// are never quoted.
func (f fleet) secrets() config.Problems {
	files := f.sharedFiles()
	for _, name := range f.machineNames() {
		files = append(files, machineFile(name))
	}
	var out config.Problems
	for _, file := range files {
		nodes, _ := config.Nodes(f.path(file), f.in.Files[file])
		out = append(out, secretNodes(nodes)...)
	}
	return out
}

func secretNodes(nodes []config.Node) config.Problems {
	var out config.Problems
	for i, n := range nodes {
		literal := n.Kind == '"' && n.Key() != "args" && n.Field != "daemon.http.auth" && config.SecretLiteral(n.Key(), n.Value)
		if n.Kind == '[' && n.Key() == "args" {
			args := elements(nodes[i+1:], n)
			for _, j := range config.SecretArgs(values(args)) {
				out = append(out, secretProblem(args[j]))
			}
		}
		if literal {
			out = append(out, secretProblem(n))
		}
	}
	return out
}

// elements are the strings of a list that come right after it.
func elements(nodes []config.Node, list config.Node) []config.Node {
	var out []config.Node
	for _, n := range nodes {
		if n.Server != list.Server || n.Field != fmt.Sprintf("%s[%d]", list.Field, len(out)) {
			break
		}
		out = append(out, n)
	}
	return out
}

func values(nodes []config.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Value)
	}
	return out
}

func secretProblem(n config.Node) config.Problem {
	hint := "take it out: whoever reads the repository has it"
	part, key, _ := strings.Cut(n.Field, ".")
	switch {
	case part == "env" || part == "headers":
		hint = fmt.Sprintf(`read it when the server starts: "mcpx": { "secrets": { %q: { "file": "~/.secrets/…" } } }`, key)
	case n.Key() == "args":
		hint = `pass it by a variable, and that by "secrets": arguments are seen by every user of the machine`
	case n.Field == "url":
		hint = `pass it by a header, and that by "secrets"`
	}
	return problem(n.At, n.Server, n.Field, "secret-literal", "is a secret, written out", hint)
}

// servers are the rules that look at what one server is in the end.
func (f fleet) servers(over *config.File) config.Problems {
	var out config.Problems
	for _, name := range over.Names() {
		raw := over.Raw(name)
		if s := scopeOf(over, raw); isGopls(raw) && s != scope.Worktree && s != scope.Cwd {
			out = append(out, problem(over.At(name, "mcpx.scope"), name, "mcpx.scope", "workspace-scope",
				fmt.Sprintf("gopls answers for the checkout it starts in, and scope %q shares it between checkouts", s),
				`set "mcpx": { "scope": "worktree" }, or "cwd" where go.mod is not at the top of the repository`))
		}
		if i := unpinned(raw.Command, raw.Args); i >= 0 {
			field := fmt.Sprintf("args[%d]", i)
			p := problem(over.At(name, field), name, field, "unpinned",
				"names no version: each start may run another program",
				"write one: name@1.2.3")
			p.Warning = true
			out = append(out, p)
		}
	}
	return out
}

func scopeOf(f *config.File, raw *config.RawServer) scope.Scope {
	for _, m := range []*config.RawMcpx{raw.Mcpx, f.RawFile().Defaults} {
		if m != nil && m.Scope != nil {
			return *m.Scope
		}
	}
	return scope.Global
}

// isGopls looks at the command and at every word of the arguments: gopls may
// come behind go run, nix or a shell.
func isGopls(raw *config.RawServer) bool {
	words := []string{raw.Command}
	for _, a := range raw.Args {
		words = append(words, strings.Fields(a)...)
	}
	return slices.ContainsFunc(words, gopls().MatchString)
}

// gopls is the name behind a directory or a flake, and before a version.
var gopls = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[/#])gopls(\.exe|\.out)?(@[^/]*|-v?[0-9][^/]*)?$`)
})
