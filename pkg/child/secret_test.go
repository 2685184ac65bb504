package child

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
)

const canary = "canary-5ecret"

// with is a plan of a reporter with one secret.
func withSecret(t *testing.T, s config.Secret) (facts, error) {
	t.Helper()
	p := plan("report")
	p.Secrets = map[string]config.Secret{"TOKEN": s}
	c, err := Start(t.Context(), p, options(t))
	if err != nil {
		return facts{}, err
	}
	_ = c.Stop(t.Context())
	return factsOf(t, p, options(t)), nil
}

func TestSecretsReachTheChild(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/token"
	link := dir + "/link"
	write(t, file, canary+"\n")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		secret config.Secret
		want   string
	}{
		{"of a file, without its newline", config.Secret{File: file}, canary},
		{"of a link to a file", config.Secret{File: link}, canary},
		{"of a command, without its newline", config.Secret{Command: []string{"sh", "-c", "echo " + canary}}, canary},
		{"one newline is taken off, not two", config.Secret{Command: []string{"printf", `a\n\n`}}, "a\n"},
		{"a command's arguments are not shelled", config.Secret{Command: []string{"printf", "%s", "$HOME; id"}}, "$HOME; id"},
		{"a command that leaves a process with its pipe", config.Secret{Command: []string{"sh", "-c", "sleep 60 & echo " + canary}}, canary},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := withSecret(t, tt.secret)
			if err != nil {
				t.Fatal(err)
			}
			if value := Value(got.Env, "TOKEN"); value != tt.want {
				t.Errorf("TOKEN: got %q, want %q", value, tt.want)
			}
			if words := strings.Join(got.Argv, " "); strings.Contains(words, canary) {
				t.Errorf("argv holds the secret: %s", words)
			}
		})
	}
}

func TestASecretFileMayBeBelowHome(t *testing.T) {
	o := options(t)
	write(t, o.Home+"/token", canary)
	p := plan("report")
	p.Secrets = map[string]config.Secret{"TOKEN": {File: "~/token"}}
	if value := Value(factsOf(t, p, o).Env, "TOKEN"); value != canary {
		t.Errorf("TOKEN: got %q, want the file's content", value)
	}
}

func TestSecretsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		write(t, path, text)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	exposed, group := file("exposed", canary, 0o644), file("group", canary, 0o640)
	empty, long, nul := file("empty", "\n", 0o600), file("long", strings.Repeat("x", secretBytes+1), 0o600), file("nul", canary+"\x00", 0o600)
	fifo := dir + "/fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	chmod := "chown it to yourself, and: chmod 600 "
	tests := []struct {
		name      string
		secret    config.Secret
		msg, hint string
	}{
		{"no such file", config.Secret{File: dir + "/none"}, "file " + dir + "/none: no such file or directory", ""},
		{"a relative file", config.Secret{File: "token"}, "file token is not an absolute path", ""},
		{"a file that others may read", config.Secret{File: exposed}, "file " + exposed + " is open to other users (mode 0644)", chmod + exposed},
		{"a file that the group may read", config.Secret{File: group}, "file " + group + " is open to other users (mode 0640)", chmod + group},
		{"a directory", config.Secret{File: dir}, dir + " is not a regular file", ""},
		{"a fifo that nobody writes to", config.Secret{File: fifo}, fifo + " is not a regular file", ""},
		{"an empty file", config.Secret{File: empty}, "empty", ""},
		{"a file that is too long", config.Secret{File: long}, "longer than 64 KiB", ""},
		{"a file with a NUL", config.Secret{File: nul}, "holds a NUL byte", ""},
		{"a command that fails, having written it", config.Secret{Command: []string{"sh", "-c", "echo " + canary + "; echo " + canary + " >&2; exit 3"}}, `command "sh": exit status 3`, ""},
		{"a command that is killed", config.Secret{Command: []string{"sh", "-c", "kill -9 $$"}}, `command "sh": signal: killed`, ""},
		{"a command that says nothing", config.Secret{Command: []string{"true"}}, "empty", ""},
		{"a command that says too much", config.Secret{Command: []string{"sh", "-c", "while echo xxxxxxxxxxxxxxxxxxxxxxxx; do :; done"}}, "longer than 64 KiB", ""},
		{"neither", config.Secret{}, "neither file nor command is set", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := withSecret(t, tt.secret)
			want := config.Problem{Server: "srv", Field: "mcpx.secrets.TOKEN", Msg: tt.msg, Hint: tt.hint}
			if diff := cmp.Diff(error(want), err); diff != "" {
				t.Errorf("Start (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecretFileOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	file := t.TempDir() + "/token"
	write(t, file, canary)
	if err := os.Chown(file, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	_, err := withSecret(t, config.Secret{File: file})
	if err == nil || !strings.Contains(err.Error(), "is owned by another user") {
		t.Errorf("Start: got %v", err)
	}
}

func TestSecretCommandThatIsNotFound(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	_, err := withSecret(t, config.Secret{Command: []string{"pass", "show"}})
	want := config.Problem{
		Server: "srv", Field: "mcpx.secrets.TOKEN",
		Msg:  `command: "pass" is not in any directory of the child's PATH: searched /nowhere`,
		Hint: `set daemon.path, or PATH in the server's "env", or write the program's absolute path`,
	}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("Start (-want +got):\n%s", diff)
	}
}

// A command that never answers is ended, with what it started.
func TestSecretCommandThatHangs(t *testing.T) {
	witness, allGone := newWitness(t)
	p := plan("report")
	p.Secrets = map[string]config.Secret{"TOKEN": {Command: []string{"sh", "-c", "exec 9>" + witness + "; sleep 60; echo done"}}}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, p, options(t))
	want := config.Problem{Server: "srv", Field: "mcpx.secrets.TOKEN", Msg: `command "sh" did not answer in time`}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("Start (-want +got):\n%s", diff)
	}
	allGone()
}

// newWitness is a fifo for processes to hold open: allGone fails unless they end.
func newWitness(t *testing.T) (file string, allGone func()) {
	t.Helper()
	file = t.TempDir() + "/witness"
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return file, func() {
		t.Helper()
		_ = r.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.ReadAll(r); err != nil {
			t.Errorf("waiting for the processes to end: %v", err)
		}
	}
}
