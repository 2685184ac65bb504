package demo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/gitwhere"
	"github.com/dezren39/mcpx/pkg/scope"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newShop(t *testing.T) Shop {
	t.Helper()
	dir, err := canon.Path(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shop, err := WriteShop(dir)
	if err != nil {
		t.Fatal(err)
	}
	return shop
}

func TestShopIsARepositoryWithALinkedWorktree(t *testing.T) {
	shop := newShop(t)
	common := filepath.Join(shop.Main, ".git")
	tests := []struct {
		name, dir string
		want      scope.Git
	}{
		{"the main checkout", shop.Main, scope.Git{CommonDir: common, Worktree: shop.Main, MainWorktree: shop.Main}},
		{"a directory in it", filepath.Join(shop.Main, "api"), scope.Git{CommonDir: common, Worktree: shop.Main, MainWorktree: shop.Main}},
		{"the linked worktree", shop.Feature, scope.Git{CommonDir: common, Worktree: shop.Feature, MainWorktree: shop.Main}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, gitwhere.Locate(t.Context(), tt.dir, gitwhere.Options{})); diff != "" {
				t.Errorf("Locate(%s) (-want +got):\n%s", tt.dir, diff)
			}
		})
	}
}

func TestGitAgreesAboutTheShop(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on PATH")
	}
	shop := newShop(t)
	for dir, branch := range map[string]string{shop.Main: "main", shop.Feature: "feature"} {
		cmd := exec.Command("git", "rev-parse", "--show-toplevel", "--path-format=absolute", "--git-common-dir")
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		out, err := cmd.CombinedOutput()
		if want := dir + "\n" + filepath.Join(shop.Main, ".git") + "\n"; err != nil || string(out) != want {
			t.Errorf("git rev-parse in %s: %q, %v; want %q", dir, out, err, want)
		}
		cmd = exec.Command("git", "symbolic-ref", "--short", "HEAD")
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != branch {
			t.Errorf("branch of %s: %q, %v; want %s", dir, out, err, branch)
		}
	}
}
