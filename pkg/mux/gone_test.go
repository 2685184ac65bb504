package mux

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/upstream"
)

// refusingConn is an upstream that takes no line, for a reason.
type refusingConn struct {
	*memConn
	reason error
}

func (c refusingConn) Write([]byte) error { return c.reason }

// What was not sent to a server that is ending may be asked of its successor;
// what a living one has no room for may not.
func TestRequestTellsThatNothingWasSent(t *testing.T) {
	tests := []struct {
		name   string
		refuse error
		ended  bool
		gone   bool
	}{
		{"a server whose stdin has ended", syscall.EPIPE, false, true},
		{"a server that has ended", nil, true, true},
		{"a server that does not read", stdio.ErrFull, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := refusingConn{newMemConn(), tt.refuse}
				m := New(conn, Options{Server: "srv"})
				h := &host{}
				h.port = m.Attach(h, "")
				if tt.ended {
					conn.die(&upstream.Failure{Server: "srv", Msg: "exited"})
					<-m.Done()
				}
				env := mustScan(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
				err := h.port.Request(&env, CallOptions{Done: func() { t.Error("Done was called") }})
				if e, ok := errors.AsType[*Error](err); !ok || e.Gone != tt.gone {
					t.Errorf("got %#v, want an *Error with Gone %v", err, tt.gone)
				}
				conn.die(nil)
				<-m.Done()
				if len(h.got) > 0 {
					t.Errorf("it was answered as well: %q", h.got)
				}
			})
		})
	}
}
