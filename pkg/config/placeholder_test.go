package config

import (
	"errors"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	v := Vars{Root: "/r", Cwd: "/c d"}
	tests := []struct {
		name, in string
		vars     Vars
		want     string
		wantErr  string
	}{
		{"text without placeholders is as it was", "plain", v, "plain", ""},
		{"both placeholders, many times", "${mcpx.root}:${mcpx.cwd}:${mcpx.root}", v, "/r:/c d:/r", ""},
		{"somebody else's passes verbatim", "${HOME}/$x/${mcpx}/${MCPX.root}", v, "${HOME}/$x/${mcpx}/${MCPX.root}", ""},
		{"a dollar sign before one stays", "$${mcpx.root}", v, "$/r", ""},
		{"values are not looked at again", "${mcpx.root}", Vars{Root: "/${mcpx.cwd}", Cwd: "/c"}, "/${mcpx.cwd}", ""},
		{"values do not join with text into a placeholder", "${mcpx.root}mcpx.cwd}", Vars{Root: "${", Cwd: "/c"}, "${mcpx.cwd}", ""},
		{"an empty value that is needed is an error", "a${mcpx.root}", Vars{Cwd: "/c"}, "", "needs ${mcpx.root}, and there is none"},
		{"an empty value that is not needed is none", "a${mcpx.cwd}", Vars{Cwd: "/c"}, "a/c", ""},
		{"an unknown name is an error", "${mcpx.rot}", v, "", "unknown placeholder ${mcpx.rot}"},
		{"a nested one is malformed", "${mcpx.${mcpx.root}}", v, "", "malformed placeholder ${mcpx.…"},
		{"an open one is malformed", "x ${mcpx.root", v, "", "malformed placeholder ${mcpx.root…"},
		{"an empty name is unknown", "${mcpx.}", v, "", "unknown placeholder ${mcpx.}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Expand(tt.in, tt.vars)
			if got != tt.want || errorText(err) != tt.wantErr {
				t.Errorf("Expand(%q) = %q, %q; want %q, %q", tt.in, got, errorText(err), tt.want, tt.wantErr)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCheckPlaceholdersHintsAtWhatWasMeant(t *testing.T) {
	for in, want := range map[string]string{
		"${mcpx.rot}":     "did you mean ${mcpx.root}?",
		"${mcpx.cdw}":     "did you mean ${mcpx.cwd}?",
		"${mcpx.session}": "there are ${mcpx.root} and ${mcpx.cwd}",
		"${mcpx.root":     "write ${mcpx.root} or ${mcpx.cwd}",
	} {
		bad, ok := errors.AsType[*PlaceholderError](CheckPlaceholders("a ${mcpx.root} " + in))
		if !ok || bad.Hint() != want {
			t.Errorf("CheckPlaceholders(%q): got %v, want the hint %q", in, bad, want)
		}
	}
}

// Expand is checked against a naive model: cut at placeholders, put values in
// between, look at nothing twice (threats §5 item 6).
func FuzzExpand(f *testing.F) {
	for _, s := range []string{"", "plain", "${mcpx.root}/${mcpx.cwd}", "${mcpx.rot}", "${mcpx.", "$${HOME}", "${mcpx.${mcpx.root}}"} {
		f.Add(s, "/root dir", "/c")
	}
	f.Fuzz(func(t *testing.T, s, root, cwd string) {
		got, err := Expand(s, Vars{Root: root, Cwd: cwd})
		if cerr := CheckPlaceholders(s); cerr != nil && err == nil {
			t.Fatalf("Expand(%q) took what CheckPlaceholders refuses: %v", s, cerr)
		}
		if err != nil {
			if got != "" {
				t.Fatalf("Expand(%q) = %q beside error %v", s, got, err)
			}
			return
		}
		want := make([]string, 0)
		for _, part := range strings.Split(s, "${mcpx.root}") {
			want = append(want, strings.ReplaceAll(part, "${mcpx.cwd}", cwd))
		}
		if model := strings.Join(want, root); got != model {
			t.Fatalf("Expand(%q) = %q, want %q", s, got, model)
		}
		if !strings.Contains(s, opener) && got != s {
			t.Fatalf("Expand(%q) = %q changed text without placeholders", s, got)
		}
	})
}

func TestPlaceholderInCode(t *testing.T) {
	const r = "${mcpx.root}"
	tests := []struct {
		name string
		argv string // split at spaces; "R" is the placeholder
		want int
	}{
		{"the code of a shell", "sh -c R", 1},
		{"a login shell", "/bin/bash -lc R", 1},
		{"an argument after the code is safe", "bash -c code R", -1},
		{"an option of the shell with a value", "bash -o pipefail -c R", 3},
		{"options between", "bash -c -x R", 2},
		{"a script's own -c is not the shell's", "bash script -c R", -1},
		{"behind env", "env A=b sh -c R", 3},
		{"behind timeout", "timeout 5 bash -ec R", 3},
		{"a versioned interpreter", "python3.11 -c R", 1},
		{"code in the same element", "python -cR", 0},
		{"a module's -c is not python's", "python -m srv -c R", -1},
		{"node", "node --import x -e R", 3},
		{"node with an equals sign", "node --eval=R", 0},
		{"deno", "deno eval R", 1},
		{"perl in a bundle", "perl -ne R", 1},
		{"a perl module is no code", "perl -MTemplate R", -1},
		{"all that follows cmd's /c", "cmd.exe /c a R", 2},
		{"a program that is no interpreter", "srv -c R", -1},
		{"an interpreter without code", "python R/srv.py", -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			argv := strings.Fields(strings.ReplaceAll(tt.argv, "R", r))
			if got := placeholderInCode(argv[0], argv[1:]); got != tt.want {
				t.Errorf("%s: got args[%d], want args[%d]", tt.argv, got, tt.want)
			}
		})
	}
}
