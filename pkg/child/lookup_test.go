package child

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
)

// install writes a program that nobody runs, and returns its path.
func install(t *testing.T, dir, name string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLookup(t *testing.T) {
	top := t.TempDir()
	good, second := install(t, top+"/good", "srv", 0o755), install(t, top+"/second", "srv", 0o755)
	install(t, top+"/open", "srv", 0o755)
	install(t, top+"/sticky", "srv", 0o755)
	install(t, top+"/plain", "srv", 0o644)
	if err := os.MkdirAll(top+"/folder/srv", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"open": 0o777, "sticky": 0o777 | os.ModeSticky} {
		if err := os.Chmod(filepath.Join(top, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(top + "/good") // where a relative entry would find it
	tests := []struct {
		name, command string
		path          []string
		want          string
	}{
		{"the first directory that has it", "srv", []string{top + "/none", top + "/good", top + "/second"}, good},
		{"not one that is relative", "srv", []string{".", "../good", top + "/second"}, second},
		{"nor an empty entry, which means the working directory", "srv", []string{"", top + "/second"}, second},
		{"nor one that everybody may write to", "srv", []string{top + "/open", top + "/second"}, second},
		{"nor one that everybody may add to", "srv", []string{top + "/sticky", top + "/second"}, second},
		{"nor a file that is not executable", "srv", []string{top + "/plain", top + "/second"}, second},
		{"nor a directory of that name", "srv", []string{top + "/folder", top + "/second"}, second},
		{"an absolute path is taken as it is", good, nil, good},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := lookup(tt.command, strings.Join(tt.path, ":"))
			if got != tt.want || err != nil {
				t.Errorf("lookup: got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestLookupSkipsDirectoriesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := filepath.Join(t.TempDir(), "bin")
	install(t, dir, "srv", 0o755)
	if err := os.Chown(dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got, err := lookup("srv", dir); err == nil {
		t.Errorf("lookup: got %q, want an error", got)
	}
}

func TestMissingPrograms(t *testing.T) {
	top := t.TempDir()
	open := filepath.Join(top, "open")
	plain := install(t, top+"/bin", "plain", 0o644)
	orphan := install(t, top+"/bin", "orphan", 0o755)
	crlf := install(t, top+"/bin", "crlf", 0o755)
	odd := install(t, top+"/bin", "odd", 0o755)
	write(t, orphan, "#!/no/such/interpreter -x\n")
	write(t, crlf, "#!/bin/sh\r\nexit\r\n")
	write(t, odd, "neither\n")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	const hint = `set daemon.path, or PATH in the server's "env", or write the program's absolute path`
	tests := []struct {
		name, command, path string
		msg, hint           string
	}{
		{"on no directory", "npx", top + "/bin:" + top + "/bin:.:" + open,
			`"npx" is not in any directory of the child's PATH: searched ` + top + `/bin: skipped "." (not absolute), "` + open + `" (others may write to it)`, hint},
		{"without a PATH", "npx", "",
			`"npx" is not in any directory of the child's PATH`, hint},
		{"at its path", top + "/none", "", top + "/none does not exist", ""},
		{"executable", plain, "", plain + " is not executable", ""},
		{"a directory", top, "", top + " is a directory", ""},
		{"its interpreter", orphan, "", orphan + " needs the interpreter /no/such/interpreter, which does not exist", ""},
		{"its interpreter, for a carriage return", crlf, "", crlf + ` needs the interpreter "/bin/sh\r", which does not exist: its first line ends with a carriage return`,
			`save it with Unix line ends: sed -i 's/\r$//' ` + crlf},
		{"of this machine", odd, "", odd + " is neither a program of this machine nor a script with a #! line", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plan("")
			p.Command = tt.command
			p.Env["PATH"] = tt.path
			_, err := Start(t.Context(), p, options(t))
			want := config.Problem{Server: "srv", Field: "command", Msg: tt.msg, Hint: tt.hint}
			if diff := cmp.Diff(error(want), err); diff != "" {
				t.Errorf("Start (-want +got):\n%s", diff)
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStartUsesThePATHOfTheChild(t *testing.T) {
	bin := t.TempDir()
	if err := os.Symlink(self(), bin+"/tool"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/nowhere")
	p := plan("report")
	p.Command = "tool"
	p.Env["PATH"] = bin
	c := mustStart(t, p, options(t))
	if want := bin + "/tool"; c.Command() != want {
		t.Errorf("Command: got %q, want %q", c.Command(), want)
	}
}
