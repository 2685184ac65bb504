package child

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeShell is a shell called name whose start-up files are the script. $4 is
// the command it is given.
func fakeShell(t *testing.T, name, script string) string {
	t.Helper()
	if _, err := os.Stat("/usr/bin/env"); err != nil {
		t.Skip("no /usr/bin/env, by which a login shell is asked: as in a Nix build")
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoginShells(t *testing.T) {
	const start = ":/usr/local/bin:/usr/bin:/bin" // the PATH it is started with
	tests := []struct{ name, shell, script, want string }{
		{"a plain one", "bash", `PATH=/opt/t:/opt/u:$PATH; eval "$4"`, "/opt/t:/opt/u" + start},
		{"with a directory that has a space", "bash", `PATH="/opt/my tools:$PATH"; eval "$4"`, "/opt/my tools" + start},
		{"one that shows its PATH with spaces", "fish", `PATH=/opt/t:$PATH; echo "/opt/t /usr/bin"; eval "$4"`, "/opt/t" + start},
		{"with noise before and after", "zsh", `echo "Welcome! <mcpx>/evil"; printf '</mcpx>'; echo oops >&2; PATH=/opt/t:$PATH; eval "$4"; echo bye`, "/opt/t" + start},
		{"with noise that has no newline", "zsh", `printf '\033]0;title\007'; PATH=/opt/t:$PATH; eval "$4"`, "/opt/t" + start},
		{"that fails after it has answered", "zsh", `PATH=/opt/t:$PATH; eval "$4"; exit 9`, "/opt/t" + start},
		{"with a process that holds its pipe", "bash", `sleep 600 & PATH=/opt/t:$PATH; eval "$4"`, "/opt/t" + start},
		{"that never runs the command", "bash", `exit 0`, "shell SHELL: ended without an answer"},
		{"that fails before", "bash", `exit 4`, "shell SHELL: exit status 4"},
		{"that never ceases to talk", "bash", `while echo noise; do :; done`, "shell SHELL: ended without an answer"},
		{"that is no shell", "nologin", `PATH=/opt/t; eval "$4"`, `shell "SHELL" cannot be asked`},
		{"of another language", "tcsh", `PATH=/opt/t; eval "$4"`, `shell "SHELL" cannot be asked`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shell := fakeShell(t, tt.shell, tt.script)
			got, err := shellPath(t.Context(), shell, []string{"HOME=" + t.TempDir()})
			if err != nil {
				got = []string{strings.ReplaceAll(err.Error(), shell, "SHELL")}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ":")); diff != "" {
				t.Errorf("shellPath (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoginShellThatHangs(t *testing.T) {
	witness, allGone := newWitness(t)
	shell := fakeShell(t, "bash", "exec 9>"+witness+"\nsleep 60\n"+`eval "$4"`)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	var log strings.Builder
	o := LoginOptions{Account: Account{Name: "me", Home: t.TempDir(), Shell: shell}, Log: slog.New(slog.NewTextHandler(&log, nil))}
	path := Value(LoginBase(ctx, o), "PATH")
	if want := strings.Join(withExisting(nil, o.Account.Home), ":"); path != want {
		t.Errorf("PATH: got %q, want %q", path, want)
	}
	if want := `msg="login shell told no PATH" err="shell ` + shell + `: context deadline exceeded"`; !strings.Contains(log.String(), want) {
		t.Errorf("log: got %q, want %s in it", log.String(), want)
	}
	allGone()
}

func TestLoginShellIsAskedAsALogin(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	shell := fakeShell(t, "bash", `{ pwd; echo "$1 $2 $3"; echo "guard $MCPX_NO_AUTOSTART"; read -r x || echo "no stdin"
cut -d' ' -f6 /proc/$$/stat | sed "s/^$$\$/own session/"; env; } >`+dir+`/seen; eval "$4"`)
	LoginBase(t.Context(), LoginOptions{
		Account: Account{Name: "me", Home: "/other", Shell: shell},
		Home:    home,
		Env:     []string{"TERM=xterm", "LANG=C.UTF-8", "LC_ALL=C", "TMPDIR=/tmp/me", "SECRET=" + canary, "LD_PRELOAD="},
	})
	data, err := os.ReadFile(dir + "/seen")
	if err != nil {
		t.Fatal(err)
	}
	seen := string(data)
	if want := home + "\n-i -l -c\nguard 1\nno stdin\nown session\n"; !strings.HasPrefix(seen, want) {
		t.Errorf("the shell saw:\n%swant it to begin with:\n%s", seen, want)
	}
	if strings.Contains(seen, canary) {
		t.Errorf("the shell saw the starter's secret:\n%s", seen)
	}
}

func TestLoginBase(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"go/bin", ".cargo/bin"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, home+"/.bun", "a file where a directory would be")
	got := LoginBase(t.Context(), LoginOptions{
		Account: Account{Name: "me", Home: "/other", Shell: fakeShell(t, "bash", "exit 1")},
		Home:    home,
		Env:     []string{"LANG=C.UTF-8", "LC_TIME=de_DE", "TERM=xterm", "TMPDIR=/tmp/me", "PATH=/evil", "HOME=/evil", "USER=evil", "X=a", "LD_PRELOAD=x"},
		Path:    []string{"/opt/t", "/opt/t", "rel", "/usr/bin"},
	})
	shell := Value(got, "SHELL")
	path := filepath.SplitList(Value(got, "PATH"))
	want := []string{"HOME=" + home, "USER=me", "LOGNAME=me", "SHELL=" + shell, "LANG=C.UTF-8", "LC_TIME=de_DE", "TERM=xterm", "TMPDIR=/tmp/me"}
	if diff := cmp.Diff(want, got[:len(got)-1]); diff != "" {
		t.Errorf("base (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/opt/t", "/usr/bin"}, path[:2]); diff != "" {
		t.Errorf("PATH begins (-want +got):\n%s", diff)
	}
	var homely []string
	for _, dir := range path {
		if strings.HasPrefix(dir, home) {
			homely = append(homely, dir)
		}
		if _, err := os.Stat(dir); err != nil && dir != "/opt/t" {
			t.Errorf("PATH holds %s, which does not exist", dir)
		}
	}
	if diff := cmp.Diff([]string{home + "/go/bin", home + "/.cargo/bin"}, homely); diff != "" {
		t.Errorf("PATH below home (-want +got):\n%s", diff)
	}
}

func TestLoginIsWaitedForOnlyByWhoAsks(t *testing.T) {
	fifo := t.TempDir() + "/go"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// The shell waits until the test opens the fifo.
	shell := fakeShell(t, "bash", "cat "+fifo+` >/dev/null; PATH=/opt/t:$PATH; eval "$4"`)
	l := StartLogin(t.Context(), LoginOptions{Account: Account{Name: "me", Home: t.TempDir(), Shell: shell}})
	hasty, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Environ(hasty); err == nil {
		t.Error("Environ: no error before the shell has answered")
	}
	if err := os.WriteFile(fifo, nil, 0); err != nil {
		t.Fatal(err)
	}
	env, err := l.Environ(t.Context())
	if err != nil || !strings.HasPrefix(Value(env, "PATH"), "/opt/t:") {
		t.Errorf("Environ: got %q, %v", env, err)
	}
	l.Wait()
}

func TestShellOf(t *testing.T) {
	const passwd = "root:x:0:0:root:/root:/bin/bash\n\n# comment\nme:x:1000:1000:Me, Myself:/home/me:/usr/bin/fish\nother:x:10001:1::/:/bin/false\nplain:x:1001:1::/home/p:\nshort:x:1002\n"
	tests := []struct{ name, uid, want string }{
		{"the field after the home", "1000", "/usr/bin/fish"},
		{"an empty one is the standard shell", "1001", "/bin/sh"},
		{"a line that is too short", "1002", ""},
		{"nobody of that number", "1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := shellOf(strings.NewReader(passwd), tt.uid); got != tt.want {
				t.Errorf("shellOf: got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBetweenMarks(t *testing.T) {
	tests := []struct {
		name, out, want string
		ok              bool
	}{
		{"the answer", "\n<mcpx>/a:/b\n</mcpx>", "/a:/b", true},
		{"an empty answer", "\n<mcpx></mcpx>", "", true},
		{"not yet whole", "\n<mcpx>/a:/b\n</mcp", "", false},
		{"an end without a beginning is noise", "</mcpx>\n<mcpx>/a\n</mcpx>", "/a", true},
		{"the beginning stands at the start of a line", "x<mcpx>/evil\n<mcpx>/a\n</mcpx>", "/a", true},
		{"nothing", "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := betweenMarks(tt.out); got != tt.want || ok != tt.ok {
				t.Errorf("betweenMarks: got %q, %v, want %q, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func FuzzBetweenMarks(f *testing.F) {
	f.Add("noise", "/a:/b c")
	f.Add("</mcpx>\n<mcpx>", "")
	f.Add("<mcpx>", "/usr/bin")
	f.Fuzz(func(t *testing.T, noise, path string) {
		if strings.Contains(noise+path, "mcpx>") {
			betweenMarks(noise + path) // must not panic
			return
		}
		got, ok := betweenMarks(noise + "\n<mcpx>" + path + "\n</mcpx>" + noise)
		if want := strings.TrimSpace(path); !ok || got != want {
			t.Errorf("betweenMarks: got %q, %v, want %q", got, ok, want)
		}
	})
}
