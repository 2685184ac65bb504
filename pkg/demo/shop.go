package demo

import (
	"os"
	"path/filepath"
)

// Shop is a repository with a linked worktree.
type Shop struct {
	Main    string // the main checkout; it exports OnlyOnMain
	Feature string // the linked worktree; it exports OnlyOnFeature
}

// WriteShop writes the shop below dir as git would lay it out. It runs no git:
// the few files that make a repository and a linked worktree are enough.
func WriteShop(dir string) (Shop, error) {
	s := Shop{Main: filepath.Join(dir, "shop"), Feature: filepath.Join(dir, "shop-feature")}
	git := filepath.Join(s.Main, ".git")
	link := filepath.Join(git, "worktrees", "shop-feature")
	for _, d := range []string{filepath.Join(git, "refs", "heads"), filepath.Join(git, "objects")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return s, err
		}
	}
	for _, f := range []struct{ path, text string }{
		{filepath.Join(git, "HEAD"), "ref: refs/heads/main\n"},
		{filepath.Join(git, "config"), "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"},
		{filepath.Join(link, "HEAD"), "ref: refs/heads/feature\n"},
		{filepath.Join(link, "commondir"), "../..\n"},
		{filepath.Join(link, "gitdir"), filepath.Join(s.Feature, ".git") + "\n"},
		{filepath.Join(s.Feature, ".git"), "gitdir: " + link + "\n"},
		{filepath.Join(s.Main, "go.mod"), goMod},
		{filepath.Join(s.Main, "shop.go"), goFile("OnlyOnMain")},
		{filepath.Join(s.Main, "api", "api.go"), "// Package api is a subdirectory to stand in.\npackage api\n"},
		{filepath.Join(s.Feature, "go.mod"), goMod},
		{filepath.Join(s.Feature, "shop.go"), goFile("OnlyOnFeature")},
	} {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
			return s, err
		}
		if err := os.WriteFile(f.path, []byte(f.text), 0o600); err != nil {
			return s, err
		}
	}
	return s, nil
}

const goMod = "module example.com/shop\n\ngo 1.21\n"

func goFile(name string) string {
	return "// Package shop differs between two checkouts.\npackage shop\n\n// " + name +
		" is exported on this branch only.\nfunc " + name + "() {}\n"
}
