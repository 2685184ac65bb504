// Command count reads the output of `go test -json` and prints what failed,
// what was skipped and why, and how many tests there were. It exits 1 when one
// failed, so that a pipe does not hide it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

func main() {
	count := map[string]int{}
	output := map[string]*strings.Builder{}
	running := map[string]bool{}
	var failed, skipped []string
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text()) // a build error is not JSON
			continue
		}
		name := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			if output[name] == nil {
				output[name] = &strings.Builder{}
			}
			output[name].WriteString(e.Output)
		case "run":
			running[name] = true
		case "pass", "fail", "skip":
			delete(running, name)
			if e.Test != "" {
				count[e.Action]++
			}
			if e.Action == "fail" {
				failed = append(failed, name)
			}
			if e.Action == "skip" && e.Test != "" {
				skipped = append(skipped, name)
			}
		}
	}
	for name := range running { // a test that hung, or a process that died under it
		failed = append(failed, name)
	}
	sort.Strings(failed)
	for _, name := range failed {
		if b := output[name]; b != nil {
			fmt.Printf("--- %s\n%s", name, b)
		}
	}
	for _, name := range skipped {
		fmt.Printf("skipped %s\n", name)
	}
	fmt.Printf("tests: %d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"])
	if len(failed) > 0 {
		os.Exit(1)
	}
}
