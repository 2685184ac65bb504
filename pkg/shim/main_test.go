package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/socket"
)

// The test binary is the shim and the daemon too: `connect` and `daemon` as its
// first argument, as the real program has them.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "connect":
			os.Exit(connectMain())
		case "daemon":
			if os.Args[2] == "--detach" {
				os.Exit(detachMain(os.Args[len(os.Args)-1]))
			}
			os.Exit(daemonMain(os.Args[len(os.Args)-1]))
		}
	}
	os.Exit(m.Run())
}

// connectMain is what cmd does: `connect RUNTIMEDIR`.
func connectMain() int {
	code, err := Run(context.Background(), Options{
		Dirs:   dirsAt(filepath.Dir(os.Args[2])),
		Getenv: os.Getenv, Argv0: os.Args[0],
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpx:", err)
	}
	return code
}

// detachMain is what cmd does: `daemon --detach --runtime-dir RUNTIMEDIR`.
func detachMain(runtimeDir string) int {
	code, err := Detach(context.Background(), Options{
		Dirs:   dirsAt(filepath.Dir(runtimeDir)),
		Getenv: os.Getenv, Argv0: os.Args[0], Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpx:", err)
	}
	return code
}

// dirsAt are directories for a test, all below base.
func dirsAt(base string) place.Dirs {
	return place.Dirs{
		Home:    base,
		State:   filepath.Join(base, "state"),
		Runtime: filepath.Join(base, "run"),
	}
}

// born are the facts that a daemon process notes about itself.
type born struct {
	PID, Session     int
	Args, Env, Files []string
	Cwd              string
}

// daemonMain is a daemon that answers every session with the end, 0. It must not
// be told anything by its environment: a message in the file `die` beside it
// ends it at once.
func daemonMain(runtimeDir string) int {
	if words, err := os.ReadFile(filepath.Join(runtimeDir, "die")); err == nil {
		fmt.Fprint(os.Stderr, string(words))
		return 3
	}
	rt, err := socket.OpenRuntime(runtimeDir, true)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	unlock, held, err := rt.LockDaemon()
	if !held {
		fmt.Fprintln(os.Stderr, "another daemon runs", err)
		return 1
	}
	defer unlock()
	note(runtimeDir)
	l, err := rt.Listen(socket.Attach)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	time.AfterFunc(30*time.Second, func() { os.Exit(4) }) // whatever becomes of the test
	serve(l, func(s *served) { s.say(`{"adopted":true}`, `{"end":0}`) })
	return 0
}

func note(runtimeDir string) {
	sid, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	b := born{PID: os.Getpid(), Session: int(sid), Args: os.Args, Env: os.Environ()}
	b.Cwd, _ = os.Getwd()
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/sys/fs/cgroup/") || strings.HasPrefix(to, runtimeDir) {
			continue // those of Go's runtime, our own lock and directory, and the listing itself
		}
		b.Files = append(b.Files, e.Name()+" "+to)
	}
	line, _ := json.Marshal(b)
	f, err := os.OpenFile(filepath.Join(runtimeDir, "born"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	f.Write(append(line, '\n'))
	f.Close()
}

// births reads what note wrote.
func births(t *testing.T, d place.Dirs) []born {
	t.Helper()
	f, err := os.Open(filepath.Join(d.Runtime, "born"))
	if err != nil {
		return nil
	}
	defer f.Close()
	var all []born
	for dec := json.NewDecoder(f); ; {
		var b born
		if err := dec.Decode(&b); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
}

// kill ends every daemon that was born there, and waits until the last one has
// let go of its lock.
func kill(t *testing.T, d place.Dirs) {
	for _, b := range births(t, d) {
		syscall.Kill(b.PID, syscall.SIGKILL)
	}
	lock, err := os.Open(filepath.Join(d.Runtime, "daemon.lock"))
	if err != nil {
		return // none was born
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Error(err)
	}
}

// served is one session as a daemon sees it.
type served struct {
	conn    *net.UnixConn
	request *http.Request
	hello   []byte
	in, out *os.File
	capsule *os.File
}

func (s *served) say(lines ...string) {
	io.WriteString(s.conn, strings.Join(lines, "\n")+"\n")
}

// serve answers every hello with 101, takes the descriptors and calls f.
func serve(l net.Listener, f func(*served)) {
	serveHTTP(l, func(w http.ResponseWriter, r *http.Request) {
		s := &served{request: r}
		s.hello, _ = io.ReadAll(r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		s.conn = c.(*net.UnixConn)
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcpx/1\r\n\r\n")
		files, err := socket.ReceiveFiles(s.conn, 3)
		if err != nil {
			return
		}
		defer closeAll(files)
		if err := socket.CheckStdio(files); err != nil {
			s.say(fmt.Sprintf(`{"stderr":%q}`, err.Error()), `{"end":9}`)
			return
		}
		s.in, s.out, s.capsule = files[0], files[1], files[2]
		f(s)
	})
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func serveHTTP(l net.Listener, f http.HandlerFunc) {
	m := http.NewServeMux()
	m.HandleFunc("POST /v1/session", f)
	(&http.Server{Handler: m}).Serve(l)
}

// echo answers each line until the end of input.
func echo(s *served) {
	for lines := bufio.NewScanner(s.in); lines.Scan(); {
		fmt.Fprintf(s.out, "%s!\n", lines.Text())
	}
}

// listening is a daemon in this process; it ends with the test.
func listening(t *testing.T, d place.Dirs) net.Listener {
	t.Helper()
	l, leave := resident(t, d)
	t.Cleanup(leave)
	return l
}

// resident is a daemon in this process, and how it leaves.
func resident(t *testing.T, d place.Dirs) (l net.Listener, leave func()) {
	t.Helper()
	rt, err := socket.OpenRuntime(d.Runtime, true)
	if err != nil {
		t.Fatal(err)
	}
	unlock, held, err := rt.LockDaemon()
	if !held {
		t.Fatalf("daemon lock: held %v, %v", held, err)
	}
	l, err = rt.Listen(socket.Attach)
	if err != nil {
		t.Fatal(err)
	}
	return l, func() {
		l.Close()
		unlock()
		rt.Close()
	}
}

// environment is a Getenv of pairs.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		if i := slices.IndexFunc(pairs, func(p string) bool { return strings.HasPrefix(p, name+"=") }); i >= 0 {
			return strings.TrimPrefix(pairs[i], name+"=")
		}
		return ""
	}
}
