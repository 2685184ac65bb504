package mux

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// FuzzMux puts one line of a host and one of a server through a Mux: nothing
// panics, and all that either side gets is one whole message a line.
func FuzzMux(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}`), []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), false)
	f.Add([]byte(`{"id":"a","method":"x","params":null}`), []byte(`{"method":"notifications/progress","params":{"progressToken":1}}`), true)
	f.Add([]byte(`{"id":-0,"method":"logging/setLevel","params":{"level":"info"}}`), []byte(`{"method":"notifications/message","params":{"level":"error"}}`), true)
	f.Add([]byte(`{"id":0,"method":"resources/subscribe","params":{"uri":"a"}}`), []byte(`{"method":"notifications/resources/updated","params":{"uri":"a/b"}}`), false)
	f.Add([]byte(`{"method":"notifications/cancelled","params":{"requestId":1}}`), []byte(`{"method":"x","id":1}`), false)
	f.Fuzz(func(t *testing.T, fromHost, fromServer []byte, modern bool) {
		if bytes.ContainsRune(fromHost, '\n') || bytes.ContainsRune(fromServer, '\n') {
			return // a line has none
		}
		conn := newMemConn()
		if modern {
			conn.hs = upstream.Handshake{Era: upstream.Modern, Meta: era.Meta{Workspace: []byte(`{"rootUri":"file:///"}`)}}
		}
		m := New(conn, Options{Server: "srv"})
		h := &host{}
		h.port = m.Attach(h, "")
		if env, err := wire.Scan(fromHost); err == nil {
			switch env.Kind {
			case wire.Request:
				_ = h.port.Request(&env, CallOptions{}) // a refusal is a fine answer
			case wire.Notification:
				_ = h.port.Notify(&env)
			}
		}
		if _, err := wire.Scan(fromServer); err == nil {
			conn.out <- string(fromServer)
			conn.out <- `{"jsonrpc":"2.0","id":1,"result":{}}`
		}
		h.port.Detach()
		conn.die(nil)
		<-m.Done()
		for _, line := range append(conn.got, h.got...) {
			if !json.Valid([]byte(line)) {
				t.Errorf("not a message: %q", line)
			}
		}
	})
}
