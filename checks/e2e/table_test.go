package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheTableOfRulesIsTrue finds each test that the table in this package's
// comment names, in the package whose name stands before it, else here.
func TestTheTableOfRulesIsTrue(t *testing.T) {
	doc, err := os.ReadFile("main_test.go")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for line := range strings.Lines(string(doc)) {
		if !strings.HasPrefix(line, "//\t§") {
			continue
		}
		for _, group := range strings.Split(line, "; ") {
			dir := "."
			if in := regexp.MustCompile(`(\w+) (?:Test|Fuzz)`).FindStringSubmatch(group); in != nil {
				dir = filepath.Join("../../pkg", in[1])
			}
			for _, test := range regexp.MustCompile(`(?:Test|Fuzz)\w+`).FindAllString(group, -1) {
				named++
				if !declared(t, dir, test) {
					t.Errorf("%s has no %s, which the table names", dir, test)
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("the table names %d tests; is it still there?", named)
	}
}

func declared(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no tests: %v", dir, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "func "+test+"(") {
			return true
		}
	}
	return false
}
