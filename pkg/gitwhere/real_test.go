package gitwhere

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/scope"
)

// row is one layout, what we say of it, and what git rev-parse says.
type row struct {
	name, dir string
	want      scope.Git
	top       string // git rev-parse --show-toplevel; "" when it has none
	common    string // git rev-parse --git-common-dir
}

// agreed is a row in which git and we say the same.
func agreed(name, dir string, want scope.Git) row {
	return row{name, dir, want, want.Worktree, want.CommonDir}
}

// realWorld makes every layout of field reports D1 to D6 and threats T1 and T11
// that git itself can make or be led into.
func realWorld(w *world) []row {
	w.repo("plain")
	w.mkdir("plain/a/b")
	plain := scope.Git{CommonDir: "plain/.git", Worktree: "plain", MainWorktree: "plain"}
	of := func(top string) scope.Git {
		return scope.Git{CommonDir: "plain/.git", Worktree: top, MainWorktree: "plain"}
	}
	w.linked("plain", "linked")
	w.mkdir("linked/deep")
	w.linked("plain", "plain/.wt/nested")
	w.symlink("linked", "link")
	w.linked("plain", "sp ace/ünï #?%x")
	w.linked("plain", "old")
	w.rename("old", "moved")
	w.linked("plain", "relative")
	w.write("relative/.git", "gitdir: ../plain/.git/worktrees/relative\r\n")
	w.write("plain/.git/worktrees/relative/gitdir", "../../../../relative/.git\n")

	w.repo("super")
	w.run("super", "submodule", "--quiet", "add", w.in("plain"), "lib")
	w.run("super", "commit", "-q", "-m", "lib")
	w.run("super/lib", "worktree", "add", "-q", "--detach", w.in("lib-linked"))
	lib := scope.Git{CommonDir: "super/.git/modules/lib", Worktree: "super/lib", MainWorktree: "super/lib"}

	w.run("plain", "clone", "-q", "--bare", ".", w.in("bare.git"))
	w.run("plain", "clone", "-q", "--bare", ".", w.in("c/.bare"))
	w.write("c/.git", "gitdir: ./.bare\n")
	w.mkdir("c/docs")
	w.linked("c", "c/main")
	w.run("plain", "clone", "-q", "--bare", ".", w.in("root"))
	w.linked("root", "root/feature")
	w.run("plain", "clone", "-q", "--bare", ".", w.in("dot/.git"))
	w.linked("dot", "dot/feature")

	w.repo("wc")
	w.linked("wc", "wc-linked")
	w.run("wc", "config", "extensions.worktreeConfig", "true")
	w.run("wc-linked", "sparse-checkout", "init")
	w.run("wc", "config", "--worktree", "core.worktree", w.in("wc"))

	w.repo("sep", "--separate-git-dir", w.in("sepdir"))
	w.repo("etc")
	w.run("etc", "config", "core.worktree", "/etc")
	w.repo("elsewhere")
	w.mkdir("elsewhere-tree")
	w.write("elsewhere-tree/.git", "gitdir: ../elsewhere/.git\n")
	w.run("elsewhere", "config", "core.worktree", "../../elsewhere-tree")
	w.mkdir("plain/empty/.git")
	w.mkdir("plain/broken")
	w.write("plain/broken/.git", "gitdir: ../nowhere\n")

	return append(forgeries(w), []row{
		agreed("a plain repository", "plain", plain),
		agreed("a subdirectory", "plain/a/b", plain),
		agreed("a linked worktree", "linked", of("linked")),
		agreed("a subdirectory of a linked worktree", "linked/deep", of("linked")),
		agreed("a link to a linked worktree", "link/deep", of("linked")),
		agreed("a worktree nested in the main one", "plain/.wt/nested", of("plain/.wt/nested")),
		agreed("spaces, unicode and what a URI would escape", "sp ace/ünï #?%x", of("sp ace/ünï #?%x")),
		agreed("a worktree with relative links and a CRLF", "relative", of("relative")),
		agreed("a submodule is its own", "super/lib", lib),
		agreed("a superproject", "super",
			scope.Git{CommonDir: "super/.git", Worktree: "super", MainWorktree: "super"}),
		agreed("a linked worktree of a submodule", "lib-linked",
			scope.Git{CommonDir: "super/.git/modules/lib", Worktree: "lib-linked", MainWorktree: "super/lib"}),
		agreed("a bare repository", "bare.git", scope.Git{CommonDir: "bare.git", Problem: bareHere}),
		agreed("inside a bare repository", "bare.git/refs", scope.Git{CommonDir: "bare.git", Problem: bareHere}),
		agreed("a container of a bare repository", "c", scope.Git{CommonDir: "c/.bare", Problem: bareHere}),
		agreed("a directory of the container", "c/docs", scope.Git{CommonDir: "c/.bare", Problem: bareHere}),
		agreed("a worktree of the container", "c/main", scope.Git{CommonDir: "c/.bare", Worktree: "c/main"}),
		agreed("a bare repository at the root of its worktrees", "root", scope.Git{CommonDir: "root", Problem: bareHere}),
		agreed("a worktree below a bare repository", "root/feature",
			scope.Git{CommonDir: "root", Worktree: "root/feature"}),
		agreed("a bare .git", "dot", scope.Git{CommonDir: "dot/.git", Problem: bareHere}),
		agreed("a worktree beside a bare .git", "dot/feature",
			scope.Git{CommonDir: "dot/.git", Worktree: "dot/feature"}),
		agreed("worktreeConfig in the main worktree", "wc",
			scope.Git{CommonDir: "wc/.git", Worktree: "wc", MainWorktree: "wc"}),
		agreed("worktreeConfig in a linked worktree", "wc-linked",
			scope.Git{CommonDir: "wc/.git", Worktree: "wc-linked", MainWorktree: "wc"}),
		agreed("inside .git", "plain/.git/hooks",
			scope.Git{CommonDir: "plain/.git", MainWorktree: "plain", Problem: insideGitDir}),
		agreed("inside the entry of a linked worktree", "plain/.git/worktrees/linked",
			scope.Git{CommonDir: "plain/.git", MainWorktree: "plain", Problem: insideGitDir}),
		agreed("an empty .git directory is passed over", "plain/empty", plain),
		agreed("outside git", "home", scope.Git{}),
		agreed("a broken .git file is not passed over", "plain/broken",
			scope.Git{Problem: "plain/broken/.git names ../nowhere, which is not there"}),

		{"a moved worktree says how to mend it", "moved",
			scope.Git{CommonDir: "moved/.git", Worktree: "moved", Unconfirmed: true, Problem: repair},
			"moved", "plain/.git"},
		{"nothing points back to a separate git directory", "sep",
			scope.Git{CommonDir: "sep/.git", Worktree: "sep", Unconfirmed: true}, "sep", "sepdir"},
		{"core.worktree does not move a worktree", "etc",
			scope.Git{CommonDir: "etc/.git", Worktree: "etc", MainWorktree: "etc"}, "/etc", "etc/.git"},
		{"core.worktree moves the main one when it leads back", "elsewhere",
			scope.Git{CommonDir: "elsewhere/.git", Worktree: "elsewhere", MainWorktree: "elsewhere-tree"},
			"elsewhere-tree", "elsewhere/.git"},
		agreed("the place that core.worktree names", "elsewhere-tree",
			scope.Git{CommonDir: "elsewhere/.git", Worktree: "elsewhere-tree", MainWorktree: "elsewhere-tree"}),
	}...)
}

// forgeries are what a downloaded tree could hold (threats T1, T11).
func forgeries(w *world) []row {
	w.write("evil/copy/.git", "gitdir: %TOP%/plain/.git/worktrees/linked\n")
	w.write("evil/direct/.git", "gitdir: %TOP%/plain/.git\n")
	w.write("evil/module/.git", "gitdir: %TOP%/super/.git/modules/lib\n")
	w.write("evil/bare/.git", "gitdir: %TOP%/bare.git\n")
	w.mkdir("evil/link")
	w.symlink("../../plain/.git", "evil/link/.git")
	w.write("evil/common/.git/HEAD", "ref: refs/heads/main\n")
	w.write("evil/common/.git/commondir", "%TOP%/plain/.git\n")
	w.write("evil/entry/.git", "gitdir: entry\n")
	w.write("evil/entry/entry/HEAD", "ref: refs/heads/main\n")
	w.write("evil/entry/entry/commondir", "%TOP%/plain/.git\n")
	w.write("evil/entry/entry/gitdir", "%TOP%/evil/entry/.git\n")
	w.write("evil/inner/HEAD", "ref: refs/heads/main\n")
	w.write("evil/inner/commondir", "%TOP%/plain/.git\n")

	own := func(top string) scope.Git {
		return scope.Git{CommonDir: top + "/.git", Worktree: top, Unconfirmed: true}
	}
	rows := []row{
		{"a .git file copied from a worktree", "evil/copy", own("evil/copy"), "evil/copy", "plain/.git"},
		{"a .git file that names a repository", "evil/direct", own("evil/direct"), "evil/direct", "plain/.git"},
		{"a .git file that names a submodule", "evil/module", own("evil/module"), "super/lib", "super/.git/modules/lib"},
		{"a .git file that names a bare repository", "evil/bare", own("evil/bare"), "", "bare.git"},
		{"a .git link that names a repository", "evil/link", own("evil/link"), "evil/link", "plain/.git"},
		{"a .git directory with a commondir", "evil/common", own("evil/common"), "evil/common", "plain/.git"},
		{"an entry that only says it is one", "evil/entry", own("evil/entry"), "evil/entry", "plain/.git"},
		{"a git directory that borrows another", "evil/inner", scope.Git{Problem: "link not confirmed"}, "", "plain/.git"},
	}
	for _, claim := range []struct{ name, worktree, believed string }{
		{"etc", "/etc", "/etc"}, {"home", w.in("home"), "home"}, {"up", "..", "evil"},
	} {
		dir := "evil/embedded-" + claim.name
		w.run("home", "init", "-q", "--bare", w.in(dir))
		w.run(dir, "config", "--unset", "core.bare")
		w.run(dir, "config", "core.worktree", claim.worktree)
		rows = append(rows, row{"an embedded git directory that claims " + claim.name, dir,
			scope.Git{CommonDir: dir, Problem: insideGitDir}, claim.believed, dir})
	}
	return rows
}

func TestLocateRealRepositories(t *testing.T) {
	w := newWorld(t)
	rows := realWorld(w)
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			w.t = t
			if diff := cmp.Diff(r.want, w.locate(r.dir, Options{})); diff != "" {
				t.Errorf("Locate(%q) (-want +got):\n%s", r.dir, diff)
			}
			if top := w.rev(r.dir, "--show-toplevel"); top != r.top {
				t.Errorf("git --show-toplevel in %q: got %q, want %q", r.dir, top, r.top)
			}
			if common := w.rev(r.dir, "--git-common-dir"); common != r.common {
				t.Errorf("git --git-common-dir in %q: got %q, want %q", r.dir, common, r.common)
			}
		})
	}
	w.t = t
	for name, set := range map[string]func(){
		"without git on PATH": func() { t.Setenv("PATH", "") },
		"with the variables of another repository": func() {
			t.Setenv("GIT_DIR", w.in("bare.git"))
			t.Setenv("GIT_WORK_TREE", w.in("home"))
			t.Setenv("GIT_COMMON_DIR", w.in("bare.git"))
			t.Setenv("GIT_CEILING_DIRECTORIES", w.in("plain"))
		},
	} {
		set()
		for _, r := range rows {
			if diff := cmp.Diff(r.want, w.locate(r.dir, Options{})); diff != "" {
				t.Errorf("%s %s: Locate(%q) (-want +got):\n%s", r.name, name, r.dir, diff)
			}
		}
	}
}

func TestLocateHonoursCeilings(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	w.mkdir("r/a/b")
	found := scope.Git{CommonDir: "r/.git", Worktree: "r", MainWorktree: "r"}
	tests := []struct {
		name, dir, ceiling string
		want               scope.Git
	}{
		{"a ceiling at the repository hides it from below", "r/a/b", "r", scope.Git{}},
		{"a ceiling on the way hides it", "r/a/b", "r/a", scope.Git{}},
		{"a ceiling does not hide where one stands", "r", "r", found},
		{"a ceiling is none for who stands on it", "r/a", "r/a", found},
		{"a ceiling further up hides nothing", "r/a/b", "", found},
		{"a ceiling elsewhere hides nothing", "r/a/b", "r/a/b/c", found},
	}
	env := w.env
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.t = t
			ceiling := w.in(tt.ceiling)
			if tt.ceiling == "" {
				ceiling = w.top
			}
			if diff := cmp.Diff(tt.want, w.locate(tt.dir, Options{Ceilings: []string{ceiling}})); diff != "" {
				t.Errorf("Locate (-want +got):\n%s", diff)
			}
			w.env = append(env[:len(env):len(env)], "GIT_CEILING_DIRECTORIES="+ceiling)
			if top := w.rev(tt.dir, "--show-toplevel"); top != tt.want.Worktree {
				t.Errorf("git: got %q, want %q", top, tt.want.Worktree)
			}
		})
	}
}
