package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/socket"
)

// caller is a user of attach.sock that is no shim.
type caller struct {
	conn *net.UnixConn
	in   *bufio.Reader
	pipe [4]*os.File // a host's stdin and stdout: read end, write end of each
	odd  []*os.File
	caps *os.File
}

func call(r *rig.Rig) (*caller, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(r.Run, "attach.sock"), Net: "unix"})
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(rig.Wait))
	return &caller{conn: conn, in: bufio.NewReader(conn)}, nil
}

// close ends the caller and all that it had.
func (c *caller) close() {
	_ = c.conn.Close()
	for _, f := range append(append(c.odd, c.caps), c.pipe[:]...) {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (c *caller) write(text string) error {
	_, err := io.WriteString(c.conn, text)
	return err
}

// hello is a request for a session, whole.
func hello(body string) string {
	return fmt.Sprintf("POST /v1/session HTTP/1.1\r\nHost: mcpx\r\nConnection: Upgrade\r\nUpgrade: mcpx/1\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func helloOf(h api.Hello) string {
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return hello(string(b))
}

// good is what a shim says.
var goodHello = api.Hello{API: api.Version, Server: "good", Cwd: "/", Flags: api.Flags{Session: "raw"}}

// shakes says hello and takes the 101.
func (c *caller) shakes() error {
	if err := c.write(helloOf(goodHello)); err != nil {
		return err
	}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil || line == "\r\n" {
			return err
		}
	}
}

// files makes what a shim hands over.
func (c *caller) files() (err error) {
	if c.pipe[0], c.pipe[1], err = os.Pipe(); err != nil {
		return err
	}
	if c.pipe[2], c.pipe[3], err = os.Pipe(); err != nil {
		return err
	}
	c.caps, err = socket.NewCapsule()
	return err
}

// hand says hello and hands over what pick picks of good files and a file of the
// given path.
func (c *caller) hand(path string, pick func(in, out, caps, odd *os.File) []*os.File) error {
	if err := c.files(); err != nil {
		return err
	}
	odd, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	c.odd = append(c.odd, odd)
	if err := c.shakes(); err != nil {
		return err
	}
	return socket.SendFiles(c.conn, pick(c.pipe[0], c.pipe[3], c.caps, odd)...)
}

// ending reads until the daemon has hung up and returns what it said.
func (c *caller) ending() (string, error) {
	all, err := io.ReadAll(c.in)
	return string(all), err
}

// TestNobodyOnTheAttachSocketHindersAnother lets users of the socket begin badly
// or not at all, many of each at once, while hosts come and go (threat T17).
func TestNobodyOnTheAttachSocketHindersAnother(t *testing.T) {
	few, many := 8, 64 // more than there are slots for hellos
	if testing.Short() {
		few, many = 2, 8
	}
	r := rig.New(t, mcpx, config(map[string]string{"good": `"args": []`}))
	witness := open(r, r.Home, "good", "--session", "witness")
	witness.Call("echo", map[string]string{"text": "x"})
	r.Listed("good")
	base := descriptors(r)
	refused := func(words string) func(string) bool {
		return func(s string) bool { return strings.Contains(s, words) }
	}
	nothing := func(s string) bool { return s == "" }
	anything := func(string) bool { return true }
	odd := func(path string, pick func(in, out, caps, odd *os.File) []*os.File) func(*caller) error {
		return func(c *caller) error { return c.hand(path, pick) }
	}
	terminal := "/dev/ptmx"
	tests := []struct {
		name string
		says func(*caller) error
		ends func(heard string) bool // what it is told before the daemon hangs up; nil: it hangs up itself
	}{
		{"nothing, and leaves", func(*caller) error { return nil }, nil},
		{"nothing, and stays", func(*caller) error { return nil }, nothing},
		{"half a line", func(c *caller) error { return c.write("POST /v1/ses") }, anything},
		{"half a head", func(c *caller) error { return c.write("POST /v1/session HTTP/1.1\r\nHost: mc") }, anything},
		{"a head without its body, and stays", func(c *caller) error { return c.write(hello(strings.Repeat("x", 100))[:200]) }, refused("400 ")},
		{"a head of a long hello, and stays", func(c *caller) error { return c.write(hello(strings.Repeat("x", 32<<10))[:200]) }, refused("400 ")},
		{"a body that is too long", func(c *caller) error { _ = c.write(hello(strings.Repeat("x", 100<<10))); return nil }, nil},
		{"another protocol", func(c *caller) error { return c.write("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n") }, refused("400 ")},
		{"another route", func(c *caller) error { return c.write("GET /v1/status HTTP/1.1\r\nHost: mcpx\r\n\r\n") }, refused("404 ")},
		{"a hello that is no JSON", func(c *caller) error { return c.write(hello("{")) }, refused("400 ")},
		{"a hello of an older API", func(c *caller) error { return c.write(helloOf(api.Hello{Server: "good"})) }, refused("409 ")},
		{"a hello, and leaves", func(c *caller) error { return c.shakes() }, nil},
		{"a hello, and stays", func(c *caller) error { return c.shakes() }, refused("refused")},
		{"a hello, and a byte without descriptors", func(c *caller) error {
			if err := c.shakes(); err != nil {
				return err
			}
			return c.write("\x00")
		}, refused("0 descriptors came")},
		{"too few", odd(os.DevNull, func(in, out, _, _ *os.File) []*os.File { return []*os.File{in, out} }), refused("2 descriptors came")},
		{"too many", odd(os.DevNull, func(in, out, caps, odd *os.File) []*os.File { return []*os.File{in, out, caps, odd} }), refused("4 descriptors came")},
		{"253 of them", odd(os.DevNull, func(_, _, _, odd *os.File) []*os.File {
			all := make([]*os.File, 253)
			for i := range all {
				all[i] = odd
			}
			return all
		}), refused("more than 3 descriptors came")},
		{"a device", odd(os.DevNull, func(_, out, caps, odd *os.File) []*os.File { return []*os.File{odd, out, caps} }), refused("a device")},
		{"a terminal", odd(terminal, func(in, _, caps, odd *os.File) []*os.File { return []*os.File{in, odd, caps} }), refused("a device")},
		{"a file", odd(filepath.Join(r.Home, ".config/mcpx/config.json"), func(in, _, caps, odd *os.File) []*os.File { return []*os.File{in, odd, caps} }), refused("a regular file")},
		{"a file as the capsule", odd(filepath.Join(r.Home, ".config/mcpx/config.json"), func(in, out, _, odd *os.File) []*os.File { return []*os.File{in, out, odd} }), refused("capsule")},
		{"pipes the wrong way round", odd(os.DevNull, func(in, out, caps, _ *os.File) []*os.File { return []*os.File{out, in, caps} }), refused("wrong direction")},
		{"descriptors with the request", func(c *caller) error {
			if err := c.files(); err != nil {
				return err
			}
			if err := socket.SendFiles(c.conn, c.pipe[0], c.pipe[3], c.caps); err != nil { // and a byte that is no HTTP
				return err
			}
			return c.write(helloOf(goodHello))
		}, refused("400 ")},
		{"all that is right, and leaves", odd(os.DevNull, func(in, out, caps, _ *os.File) []*os.File { return []*os.File{in, out, caps} }), nil},
	}
	var wg, begun sync.WaitGroup
	for _, tt := range tests {
		n := few
		if strings.HasSuffix(tt.name, "stays") {
			n = many
		}
		for range n {
			begun.Add(1)
			wg.Go(func() {
				c, err := call(r)
				if err == nil {
					defer c.close()
					err = tt.says(c)
				}
				begun.Done()
				if err != nil {
					t.Errorf("%s: %v", tt.name, err)
				} else if tt.ends != nil {
					if heard, err := c.ending(); err != nil || !tt.ends(heard) {
						t.Errorf("%s: the daemon said %q, and then %v", tt.name, heard, err)
					}
				}
			})
		}
	}
	for i := range 5 { // those who are in go on, others still get in
		if got := witness.Call("echo", map[string]string{"text": "x"}); got != "x" {
			t.Errorf("echo answered %q", got)
		}
		h := open(r, r.Home, "good", "--session", fmt.Sprint("late", i))
		h.Call("echo", map[string]string{"text": "x"})
		h.Close()
	}
	begun.Wait()
	wg.Wait()
	r.Until("all is as before", func(s api.Status) bool {
		return len(s.Sessions) == 1 && s.Instances[0].Leases == 0 && fewer(s.Daemon.PID, base)
	})
	h := open(r, r.Home, "good", "--session", "after")
	h.Call("echo", map[string]string{"text": "x"})
}
