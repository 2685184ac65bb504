// Command count reads the output of `go test -json` and prints what failed,
// what was skipped and why, and how many tests there were. It exits 1 when one
// failed, so that a pipe does not hide it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
)

// The most of a verdict that is repeated.
const (
	maxVerdicts = 12
	maxVerdict  = 400
)

var verdict = regexp.MustCompile(`^\s+\w+\.go:\d+: `)

// verdicts are the lines in which a test said what is wrong, without the logs that
// it printed to explain that.
func verdicts(output string) (lines []string) {
	for line := range strings.Lines(output) {
		if verdict.MatchString(line) && !strings.HasSuffix(line, "daemon.log:\n") && len(lines) < maxVerdicts {
			line = strings.TrimRight(line, "\n")
			lines = append(lines, line[:min(len(line), maxVerdict)])
		}
	}
	return lines
}

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
	for _, name := range failed { // once more and in short, where whoever sees only the end will look
		fmt.Printf("failed %s\n", name)
		if b := output[name]; b != nil {
			for _, line := range verdicts(b.String()) {
				fmt.Println(line)
			}
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
