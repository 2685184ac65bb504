package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/place"
)

// host is a host's side of a shim that runs in this process.
type host struct {
	stdin, stdout *os.File // the shim's
	toShim        *os.File
	fromShim      *os.File
}

// pipes are how Go and Python hosts do it.
func pipes(t *testing.T) host {
	t.Helper()
	var h host
	var err1, err2 error
	h.stdin, h.toShim, err1 = os.Pipe()
	h.fromShim, h.stdout, err2 = os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return h.closing(t)
}

// sockets are how Node hosts do it (hosts §4).
func sockets(t *testing.T) host {
	t.Helper()
	var ends [4]*os.File
	for i := 0; i < 4; i += 2 {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
		ends[i], ends[i+1] = os.NewFile(uintptr(fds[0]), "host"), os.NewFile(uintptr(fds[1]), "shim")
	}
	return host{toShim: ends[0], stdin: ends[1], fromShim: ends[2], stdout: ends[3]}.closing(t)
}

func (h host) closing(t *testing.T) host {
	t.Cleanup(func() { closeAll([]*os.File{h.stdin, h.stdout, h.toShim, h.fromShim}) })
	return h
}

// result is what Run returned, and what it printed.
type result struct {
	Code   int
	Err    string
	Hint   string
	Stderr string
}

// run runs a shim to its end.
func (h host) run(t *testing.T, d place.Dirs, o Options) result {
	var stderr bytes.Buffer
	o.Dirs, o.Stdin, o.Stdout, o.Stderr = d, h.stdin, h.stdout, &stderr
	if o.Getenv == nil {
		o.Getenv = environment(noAutostart + "=1")
	}
	code, err := Run(t.Context(), o)
	r := result{Code: code, Stderr: stderr.String()}
	if err != nil {
		r.Err = err.Error()
	}
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		r.Hint = h.Hint()
	}
	return r
}

func TestHelloSaysWhatTheKernelCannot(t *testing.T) {
	d := dirsAt(t.TempDir())
	got := make(chan *served, 1)
	go serve(listening(t, d), func(s *served) {
		s.say(`{"adopted":true}`, `{"end":0}`)
		got <- s
	})
	o := Options{
		Server: "gopls", Build: "v1.2.3", Flags: api.Flags{Cwd: "/x", Session: "s", Parent: "p"},
		Getenv: environment("MCPX_CWD=/y", "CLAUDE_CODE_SESSION_ID=7f3a", "MCPX_CONFIG=/evil", "SECRET=1"),
	}
	if diff := cmp.Diff(result{}, pipes(t).run(t, d, o)); diff != "" {
		t.Fatalf("Run (-want +got):\n%s", diff)
	}
	s := <-got
	if up, kind := s.request.Header.Get("Upgrade"), s.request.Header.Get("Content-Type"); up != "mcpx/1" || kind != "application/json" {
		t.Errorf("Upgrade %q, Content-Type %q", up, kind)
	}
	var hello api.Hello
	if err := json.Unmarshal(s.hello, &hello); err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if wd, err = filepath.EvalSymlinks(wd); err != nil {
		t.Fatal(err)
	}
	want := api.Hello{API: api.Version, Build: "v1.2.3", Server: "gopls", Cwd: wd, Flags: o.Flags,
		Env: map[string]string{"MCPX_CWD": "/y", "CLAUDE_CODE_SESSION_ID": "7f3a"}}
	if diff := cmp.Diff(want, hello); diff != "" {
		t.Errorf("hello (-want +got):\n%s", diff)
	}
}

func TestCwdIsThePhysicalOne(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(link) // sets PWD to the link, too
	if got := cwd(); got != real {
		t.Errorf("cwd() = %s, want %s", got, real)
	}
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	if got := cwd(); got != "" {
		t.Errorf("in a removed directory: cwd() = %q, want none", got)
	}
}

// The host's own pipes and socket pairs reach the daemon themselves.
func TestDaemonSpeaksToTheHostDirectly(t *testing.T) {
	for name, hosted := range map[string]func(*testing.T) host{"pipes": pipes, "socket pairs": sockets} {
		t.Run(name, func(t *testing.T) {
			d, h := dirsAt(t.TempDir()), hosted(t)
			before := [2]int{flagsOf(t, h.stdin), flagsOf(t, h.stdout)}
			same := make(chan bool, 1)
			go serve(listening(t, d), func(s *served) {
				same <- sameFile(t, s.in, h.stdin) && sameFile(t, s.out, h.stdout)
				fcntl(s.in, unix.F_SETFL, before[0]^unix.O_NONBLOCK) // what a daemon does to sockets
				fcntl(s.out, unix.F_SETFL, before[1]^unix.O_NONBLOCK)
				s.say(`{"adopted":true}`, `{"stderr":"one\n"}`, `{"stderr":"two"}`, `{"end":7}`)
			})
			if diff := cmp.Diff(result{Code: 7, Stderr: "one\ntwo\n"}, h.run(t, d, Options{})); diff != "" {
				t.Errorf("Run (-want +got):\n%s", diff)
			}
			if !<-same {
				t.Error("the daemon was given other files")
			}
			if after := [2]int{flagsOf(t, h.stdin), flagsOf(t, h.stdout)}; after != before {
				t.Errorf("flags were %#x and are %#x", before, after)
			}
		})
	}
}

func flagsOf(t *testing.T, f *os.File) int {
	t.Helper()
	flags, err := fcntl(f, unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	return flags
}

func sameFile(t *testing.T, a, b *os.File) bool {
	x, err1 := a.Stat()
	y, err2 := b.Stat()
	if err := errors.Join(err1, err2); err != nil {
		t.Error(err)
		return false
	}
	return os.SameFile(x, y)
}

// What cannot be handed over is copied; the daemon does not notice.
func TestOtherDescriptorsAreCopied(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	file := func(t *testing.T, text string) *os.File {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(text)
		f.Seek(0, io.SeekStart)
		t.Cleanup(func() { f.Close() })
		return f
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p := pipes(t)
	tests := []struct {
		name          string
		stdin, stdout *os.File
		want          string // in stdout, if that is a file
	}{
		{"two files", file(t, "a\nb\n"), file(t, ""), "a!\nb!\n"},
		{"much more than a pipe holds", file(t, long[:60<<10]+"\n"+long[:60<<10]+"\n"), file(t, ""),
			long[:60<<10] + "!\n" + long[:60<<10] + "!\n"},
		{"/dev/null for both", null, null, ""},
		{"a file in, a pipe out", file(t, "a\n"), p.stdout, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := dirsAt(t.TempDir())
			go serve(listening(t, d), func(s *served) {
				s.say(`{"adopted":true}`)
				echo(s)
				s.say(`{"end":0}`)
			})
			h := host{stdin: tt.stdin, stdout: tt.stdout}
			if diff := cmp.Diff(result{}, h.run(t, d, Options{})); diff != "" {
				t.Errorf("Run (-want +got):\n%s", diff)
			}
			if tt.stdout == null || tt.stdout == p.stdout {
				return
			}
			got, err := os.ReadFile(tt.stdout.Name())
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
				t.Errorf("stdout, %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestRunSaysWhyItEnds(t *testing.T) {
	tests := []struct {
		name   string
		daemon http.HandlerFunc
		taken  func(*served) // else
		want   result        // LOG in a hint is the log's path
	}{
		{"a refusal is shown with its hint", func(w http.ResponseWriter, _ *http.Request) {
			api.WriteError(w, 409, api.Error{Server: "gopls", Field: "api", Msg: "too old", Hint: "upgrade"})
		}, nil, result{Code: 1, Err: `server "gopls": api: too old`, Hint: "upgrade"}},
		{"a strange answer is shown", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no such route", 404)
		}, nil, result{Code: 1, Err: "the daemon answered 404: no such route", Hint: "it may be of another version; see: mcpx status"}},
		{"a refused hand-over has the daemon's words and code", nil, func(s *served) {
			s.say(`{"stderr":"mcpx: no"}`, `{"end":1}`)
		}, result{Code: 1, Stderr: "mcpx: no\n"}},
		{"a daemon that hangs up each time is given up", nil, func(s *served) {},
			result{Code: 1, Err: "the daemon ended before it took the connection", Hint: "see LOG"}},
		{"a daemon that never adopts is named", nil, func(s *served) { io.Copy(io.Discard, s.conn) },
			result{Code: 1, Err: "the daemon did not take the connection within 50ms",
				Hint: "look at it with: mcpx status   (its log: LOG)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := dirsAt(t.TempDir())
			l := listening(t, d)
			if tt.daemon != nil {
				go serveHTTP(l, tt.daemon)
			} else {
				go serve(l, tt.taken)
			}
			got := pipes(t).run(t, d, Options{Patience: 50 * time.Millisecond})
			got.Hint = strings.ReplaceAll(got.Hint, filepath.Join(d.State, logName), "LOG")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Run (-want +got):\n%s", diff)
			}
		})
	}
}

// A daemon on its way out says so, in one of three ways, and the next is dialled.
func TestRunDialsAgainBeforeAdoption(t *testing.T) {
	for name, first := range map[string]func(*served){
		"closed":  func(*served) {},
		"drained": func(s *served) { s.say(`{"drain":true}`) },
	} {
		t.Run(name, func(t *testing.T) {
			d := dirsAt(t.TempDir())
			var n atomic.Int32
			go serve(listening(t, d), func(s *served) {
				if n.Add(1) == 1 {
					first(s)
					return
				}
				s.say(`{"adopted":true}`, `{"end":0}`)
			})
			if diff := cmp.Diff(result{}, pipes(t).run(t, d, Options{})); diff != "" || n.Load() != 2 {
				t.Errorf("after %d dials, Run (-want +got):\n%s", n.Load(), diff)
			}
		})
	}
	t.Run("503", func(t *testing.T) {
		d := dirsAt(t.TempDir())
		var n atomic.Int32
		go serveHTTP(listening(t, d), func(w http.ResponseWriter, _ *http.Request) {
			n.Add(1)
			api.WriteError(w, 503, api.Error{Msg: "the daemon is stopping"})
		})
		began := time.Now()
		got := pipes(t).run(t, d, Options{Patience: 300 * time.Millisecond})
		if took := time.Since(began); got.Err != errGone.Error() || n.Load() < 4 || took < 300*time.Millisecond {
			t.Errorf("after %d dials, got %+v", n.Load(), got)
		}
	})
}

// Threat T16: nothing is handed to a daemon that is not ours; socket tests how
// that is seen.
func TestRunRefusesAnOpenRuntimeDirectory(t *testing.T) {
	d := dirsAt(t.TempDir())
	if err := os.Mkdir(d.Runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	os.Chmod(d.Runtime, 0o777)
	got := pipes(t).run(t, d, Options{})
	if got.Code != 1 || !strings.Contains(got.Err, "mode 0777") || got.Hint == "" {
		t.Errorf("got %+v", got)
	}
}

func TestRunLeavesNoDescriptorBehind(t *testing.T) {
	d := dirsAt(t.TempDir())
	done := make(chan struct{}, 1)
	go serve(listening(t, d), func(s *served) {
		s.say(`{"adopted":true}`, `{"end":0}`)
		io.Copy(io.Discard, s.conn)
		done <- struct{}{}
	})
	h := pipes(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	once := func(h host) {
		if diff := cmp.Diff(result{}, h.run(t, d, Options{})); diff != "" {
			t.Fatalf("Run (-want +got):\n%s", diff)
		}
		<-done
	}
	once(h)
	before := countDescriptors(t)
	for range 30 {
		once(h)
		once(host{stdin: null, stdout: null})
	}
	if after := countDescriptors(t); after > before+3 { // the daemon's side may still be closing one session
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func countDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("descriptors cannot be listed here")
	}
	return len(entries)
}
