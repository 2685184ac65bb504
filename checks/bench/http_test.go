package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
)

// web is a host over HTTP that keeps one connection open.
type web struct {
	t      testing.TB
	url    string
	header http.Header
	call   []byte
}

const modernMeta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// newWeb opens one; more are headers.
func newWeb(t testing.TB, url string, modern bool, more ...string) *web {
	h := &web{t: t, url: url, header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}}
	for i := 0; i < len(more); i += 2 {
		h.header.Set(more[i], more[i+1])
	}
	meta := ""
	if modern {
		meta = modernMeta
		h.header["Mcp-Protocol-Version"] = []string{"2026-07-28"}
		h.header["Mcp-Method"] = []string{"tools/call"}
		h.header["Mcp-Name"] = []string{"echo"}
	} else {
		hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
		h.header["Mcp-Session-Id"] = []string{h.post([]byte(hello)).Get("Mcp-Session-Id")}
		h.post([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	h.call = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":%q}%s}}`, strings.Repeat("x", 64), meta)
	for range turns {
		h.roundTrip()
	}
	return h
}

func (h *web) post(body []byte) http.Header {
	r, err := http.NewRequest("POST", h.url, bytes.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header = h.header
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 || bytes.Contains(text, []byte(`"error"`)) {
		h.t.Fatalf("%s, %v: %s", answer.Status, err, text)
	}
	return answer.Header
}

func (h *web) roundTrip() time.Duration {
	began := time.Now()
	h.post(h.call)
	return time.Since(began)
}

// overHTTP starts the server itself over HTTP and returns where it is.
func overHTTP(t testing.TB, name string) string {
	cmd := exec.Command(echo, name)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		t.Fatal(err1, err2)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// BenchmarkHTTP is one caller over HTTP who waits for each answer: of the server's
// own HTTP, and of its process behind the front.
func BenchmarkHTTP(b *testing.B) {
	for _, name := range []string{"legacy", "modern"} {
		b.Run(name+"/direct", func(b *testing.B) {
			h := newWeb(b, overHTTP(b, name), name == "modern")
			var took []time.Duration
			for b.Loop() {
				took = append(took, h.roundTrip())
			}
			report(b, took)
		})
		b.Run(name+"/mcpx", func(b *testing.B) {
			beside := newWeb(b, overHTTP(b, name), name == "modern")
			r := rig.New(b, mcpx, fmt.Sprintf(`{"mcpServers": {"echo": {"command": %q, "mcpx": {"protocol": %q}}},
				"daemon": {"http": {"listen": "127.0.0.1:0"}}}`, echo, name))
			through(r, "echo", pipes).firstList() // it starts the daemon
			s := r.Status().Daemon
			token, err := os.ReadFile(s.HTTP.TokenFile)
			if err != nil {
				b.Fatal(err)
			}
			for _, session := range []string{"", "bench"} {
				more := []string{"Authorization", "Bearer " + strings.TrimSpace(string(token))}
				if session != "" {
					more = append(more, "X-Mcpx-Session", session)
				}
				b.Run("session="+session, func(b *testing.B) {
					h := newWeb(b, s.HTTP.URL+"/echo", name == "modern", more...)
					var took, theirs []time.Duration
					used := cpu(b, s.PID)
					for b.Loop() {
						took = append(took, h.roundTrip())
						if len(took)%turns == 0 {
							for range turns {
								theirs = append(theirs, beside.roundTrip())
							}
						}
					}
					theirs = append(theirs, beside.roundTrip())
					b.ReportMetric(perCall(cpu(b, s.PID)-used, len(took)), "cpu-µs/call")
					b.ReportMetric(quantile(took, .5)/quantile(theirs, .5), "x-direct")
					report(b, took)
				})
			}
		})
	}
}
