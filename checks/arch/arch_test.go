// Package arch holds the shape of the code: which package may import which,
// how long a file may be, and what pure means. It reads the sources itself, so
// that the test cache sees every file it depends on.
package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/dezren39/mcpx/"

// maxLines is the longest a Go file may be.
const maxLines = 400

// layers is the order of packages, lowest first: a package may import only what
// stands in a lower row, or, within "pure", what stands to its left.
var layers = [][]string{
	{"scope", "roots", "wire", "era", "config", "visibility", "spawn", "roof", "hostfile", "render", "adopt"}, // pure
	{"canon", "place", "proc", "socket", "state", "stdio", "capsule", "api"},                                  // leaf
	{"gitwhere"}, {"source"}, {"fleet"}, {"child"}, {"upstream"}, {"remote"}, {"auth"}, {"mux"}, {"pool"}, {"registry"}, {"session"},
	{"gate"}, {"front", "page"}, {"daemon"}, {"shim"}, {"client"}, {"demo", "manage"},
}

// pure is what a pure package may not import, and what it may not call.
var (
	impureImports = []string{"os", "os/exec", "net", "net/http", "syscall", "log/slog", "golang.org/x/sys/unix"}
	impureCalls   = []string{"time.Now", "time.Since", "filepath.Abs", "filepath.EvalSymlinks"}
)

// shimMayImport keeps the shim small: it sleeps beside every host.
var shimMayImport = []string{"api", "place", "proc", "socket"}

var badNames = []string{"util", "utils", "common", "types", "helpers", "base", "misc"}

// left is what builds leave at the top level, a Nix build its modules.
var left = []string{"mcpx", "result", "vendor"}

type file struct {
	path  string
	test  bool
	lines int
	ast   *ast.File
}

func sources(t *testing.T) []file {
	t.Helper()
	root := os.DirFS("../..")
	var files []file
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || slices.Contains(left, p)) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		src, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), p, src, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, file{path: p, test: strings.HasSuffix(p, "_test.go"), lines: bytes.Count(src, []byte("\n")), ast: parsed})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("found only %d Go files: is this the whole tree?", len(files))
	}
	return files
}

func TestFilesStayShort(t *testing.T) {
	for _, f := range sources(t) {
		if f.lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by what it holds", f.path, f.lines, maxLines)
		}
	}
}

func TestNoPackageIsADrawer(t *testing.T) {
	for _, f := range sources(t) {
		if slices.Contains(badNames, path.Base(path.Dir(f.path))) {
			t.Errorf("%s: a package is named for what it holds", f.path)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	said := map[string]bool{}
	for _, f := range sources(t) {
		dir := path.Dir(f.path)
		said[dir] = said[dir] || f.ast.Doc != nil
	}
	for dir, ok := range said {
		if !ok {
			t.Errorf("%s: no file has a package comment", dir)
		}
	}
}

func TestImportsPointDown(t *testing.T) {
	for _, f := range sources(t) {
		name, ok := pkgName(f.path)
		if !ok || f.test {
			continue
		}
		at, col := level(name)
		if at < 0 {
			t.Errorf("%s: package %s has no place in the layers", f.path, name)
			continue
		}
		for _, imp := range imports(f) {
			below, ok := strings.CutPrefix(imp, module+"pkg/")
			if !ok {
				continue
			}
			below, _, _ = strings.Cut(below, "/")
			to, toCol := level(below)
			if to > at || to == at && !(at <= 1 && toCol < col) && below != name {
				t.Errorf("%s: %s may not import %s: imports point down", f.path, name, below)
			}
			if name == "shim" && !slices.Contains(shimMayImport, below) {
				t.Errorf("%s: the shim may import %v only, not %s", f.path, shimMayImport, below)
			}
		}
	}
}

func TestPurePackagesDoNoIO(t *testing.T) {
	for _, f := range sources(t) {
		name, ok := pkgName(f.path)
		if at, _ := level(name); !ok || f.test || at != 0 {
			continue
		}
		for _, imp := range imports(f) {
			if slices.Contains(impureImports, imp) {
				t.Errorf("%s: %s is pure and may not import %s", f.path, name, imp)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); ok && slices.Contains(impureCalls, id.Name+"."+sel.Sel.Name) {
				t.Errorf("%s: %s is pure and may not call %s.%s", f.path, name, id.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

// TestOneFunctionStartsProcesses holds design D16: the reaper can tell our
// children from adopted ones only if every start goes through package proc.
func TestOneFunctionStartsProcesses(t *testing.T) {
	for _, f := range sources(t) {
		name, ok := pkgName(f.path)
		if !ok || f.test || name == "proc" || !slices.Contains(imports(f), "os/exec") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || len(call.Args) != 0 || !slices.Contains([]string{"Run", "Output", "CombinedOutput"}, sel.Sel.Name) {
				return true
			}
			t.Errorf("%s: .%s() starts a process: use proc.Start", f.path, sel.Sel.Name)
			return true
		})
	}
}

// TestTopLevel holds the layout that the module's users were promised.
func TestTopLevel(t *testing.T) {
	want := []string{"LICENSE", "README.md", "checks", "cmd", "fleet", "flake.lock", "flake.nix", "go.mod", "go.sum", "nix", "pkg"}
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(left, e.Name()) && !slices.Contains(want, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}

// pkgName is the first path element below pkg.
func pkgName(p string) (string, bool) {
	rest, ok := strings.CutPrefix(p, "pkg/")
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, "/")
	return name, true
}

func level(name string) (row, col int) {
	for i, l := range layers {
		if j := slices.Index(l, name); j >= 0 {
			return i, j
		}
	}
	return -1, -1
}

func imports(f file) []string {
	var out []string
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", f.path, err))
		}
		out = append(out, p)
	}
	return out
}
