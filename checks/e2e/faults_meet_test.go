package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

const greeting = "héllo 😀"

// meet calls into the fault, calls another server meanwhile, and calls again.
func (f fault) meet(r *rig.Rig, server, dir string) {
	at := r.Home // the handshake is answered without the server there
	if strings.Contains(f.block, "cwd") {
		at = dir
	}
	if strings.Contains(f.block, "session") { // the fault needs a process before this one
		open(r, at, server, "--session", server+" first").Call("echo", map[string]string{"text": greeting})
	}
	h, other := open(r, at, server, "--session", server), open(r, r.Home, "good", "--session", server)
	f.listen(r, h)
	tool, args := f.tool, f.args
	if tool == "" {
		tool = "echo"
	}
	if args == "" {
		args = fmt.Sprintf(`{"text": %q}`, greeting)
	}
	answer := h.Expect(`"faulty"`)
	h.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"faulty","method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":"mine"}}}`, tool, args))
	if got := other.Call("echo", map[string]string{"text": greeting}); got != greeting {
		r.T.Errorf("another server answered %q", got)
	}
	if f.hangs && len(answer) > 0 {
		r.T.Errorf("a call at another server came after %s", (<-answer).Line)
		return
	}
	f.judge(r, server, dir, h.Await(answer, tool))
	f.again(r, h, server)
	if f.status != nil {
		r.Until("what is true of "+server, func(s api.Status) bool {
			in := rig.Of(s, server)
			return len(in) == 1 && f.status(in[0])
		})
	}
	if h.Close() != 0 {
		r.T.Errorf("connect ended badly: %s", h.Stderr())
	}
}

// judge compares the answer with what the fault calls for.
func (f fault) judge(r *rig.Rig, server, dir string, m rig.Message) {
	r.T.Helper()
	if f.err == "" {
		want := in(dir, f.text)
		if want == "" && f.tool == "" {
			want = greeting
		}
		if m.Error != nil || !strings.Contains(string(m.Result), want) {
			r.T.Errorf("answered %.300s, want %q in it", m.Line, want)
		}
		return
	}
	if f.races && m.Error == nil {
		return
	}
	if m.Error == nil || !strings.Contains(m.Error.Message, f.err) {
		r.T.Errorf("answered %.300s, want the error %q", m.Line, f.err)
		return
	}
	var data struct {
		Mcpx struct {
			Server, Exit string
			Stderr       []string
		}
	}
	if m.Error.Code == -32601 { // the server's own
		return
	}
	words := in(dir, f.words)
	err := json.Unmarshal(m.Error.Data, &data)
	if err != nil || data.Mcpx.Server != server || data.Mcpx.Exit != f.exit || !strings.Contains(strings.Join(data.Mcpx.Stderr, "\n"), words) {
		r.T.Errorf("the error's data is %s, want server %q, exit %q, last words %q", m.Error.Data, server, f.exit, words)
	}
	if f.exit != "" && !(strings.Contains(m.Error.Message, server) && strings.Contains(m.Error.Message, f.exit) && strings.Contains(m.Error.Message, words)) {
		r.T.Errorf("the error says %q, want server %q, exit %q, last words %q", m.Error.Message, server, f.exit, words)
	}
}

// again makes the next good call.
func (f fault) again(r *rig.Rig, h *rig.Host, server string) {
	r.T.Helper()
	before := r.Instances(server)
	switch f.next {
	case never:
		return
	case late:
		in := before[len(before)-1]
		if len(before) != 1 || in.State != "backing-off" && in.State != "failed" || in.RetryAt.IsZero() || !strings.Contains(in.LastError, f.err) {
			r.T.Errorf("status shows %+v, want it backing off until a time, after %q", before, f.err)
		}
		r.Until("the wait of "+server+" is over", func(s api.Status) bool {
			in := rig.Of(s, server)
			return len(in) == 1 && in[0].State == "failed" && !in[0].RetryAt.After(time.Now())
		})
	case restart:
		r.Mcpx("restart", server)
	}
	if got := h.Call("echo", map[string]string{"text": greeting}); got != greeting {
		r.T.Errorf("the next call was answered %q", got)
	}
	after := r.Instances(server)
	if len(after) != 1 || after[0].PID == 0 {
		r.T.Errorf("after the next call status shows %+v", after)
		return
	}
	was := 0
	if len(before) == 1 {
		was = before[0].PID
	}
	if stays := was == after[0].PID; stays != (f.next == same) && !f.races {
		r.T.Errorf("the next call was answered by process %d, the faulty one by %d", after[0].PID, was)
	}
}

// listen looks at what the host gets beside its answers, until it has ended:
// nothing for which there is no reason, and not more of it than a host can bear.
func (f fault) listen(r *rig.Rig, h *rig.Host) {
	done := make(chan struct{})
	r.T.Cleanup(func() {
		h.Close()
		<-done
	})
	judge := func(n int, m rig.Message) {
		known := strings.HasSuffix(m.Method, "/list_changed") || m.Method != "" && strings.Contains(f.flags, "-storm "+m.Method)
		if bearable := n < 1000 || m.Method == "notifications/unknown"; known && bearable {
			return
		}
		r.T.Errorf("note %d that the host got is %.300s", n, m.Line)
	}
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case m := <-h.Notes:
				judge(n, m)
			case <-h.Ended():
				for ; len(h.Notes) > 0; n++ {
					judge(n, <-h.Notes)
				}
				return
			}
		}
	}()
}
