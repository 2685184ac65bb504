package shim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/dezren39/mcpx/pkg/api"
)

// maxBody is the most that is read of an error's body, in bytes.
const maxBody = 64 << 10

// hello asks for a session. The request is written by hand, as is the answer
// read: net/http would keep more memory than the rest of a sleeping shim.
func (l *link) hello() error {
	body, err := json.Marshal(l.o.hello())
	if err != nil {
		return err
	}
	request := fmt.Appendf(nil, "POST /v1/session HTTP/1.1\r\nHost: mcpx\r\n"+
		"Connection: Upgrade\r\nUpgrade: mcpx/1\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := l.conn.Write(request); err != nil {
		return err
	}
	status, length, err := head(l.lines)
	switch {
	case err != nil:
		return err
	case status == 101:
		return nil
	case status == 503: // on its way out
		return errLeaving
	}
	// Not being told the length, we take what there is to the end.
	answer, err := io.ReadAll(io.LimitReader(l.lines, min(length, maxBody)))
	if err != nil {
		return err
	}
	return api.ReadError(status, answer)
}

// head reads a response up to its body, and its length as far as it is told.
func head(r *bufio.Reader) (status int, length int64, err error) {
	length = maxBody
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, 0, notMcpx()
		case err != nil:
			return 0, 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch name, value, found := strings.Cut(string(line), ":"); {
		case first:
			if status, err = statusOf(string(line)); err != nil {
				return 0, 0, err
			}
		case len(line) == 0:
			return status, length, nil
		case found && strings.EqualFold(name, "Content-Length"):
			if length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil || length < 0 {
				return 0, 0, notMcpx()
			}
		}
	}
}

func statusOf(line string) (int, error) {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(version, "HTTP/1.") || err != nil {
		return 0, notMcpx()
	}
	return status, nil
}

func notMcpx() error {
	return &fault{
		msg:  "what answers on the attach socket is not an mcpx daemon",
		hint: "see who listens there: mcpx status",
	}
}

// hello is what we know of ourselves; the daemon asks the kernel for the rest.
func (o Options) hello() api.Hello {
	h := api.Hello{API: api.Version, Build: o.Build, Server: o.Server, Cwd: cwd(), Flags: o.Flags}
	for _, name := range api.HelloEnv {
		if v := o.Getenv(name); v != "" {
			if h.Env == nil {
				h.Env = map[string]string{}
			}
			h.Env[name] = v
		}
	}
	return h
}

// cwd is the kernel's, not PWD's, and "" for a directory that was removed.
func cwd() string {
	dir, err := syscall.Getwd()
	if err != nil || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// isHangUp is a peer that closed while we were writing or reading.
func isHangUp(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
