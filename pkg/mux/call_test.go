package mux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// serverOf answers each request of mcpx's own with what reply makes of its params.
func serverOf(t *testing.T, conn *memConn, reply func(n int) string) {
	t.Helper()
	for n := 1; ; n++ {
		synctest.Wait()
		conn.mu.Lock()
		asked := len(conn.got) >= n
		conn.mu.Unlock()
		if !asked {
			return
		}
		conn.out <- strings.Replace(reply(n), "$ID", fmt.Sprint(n), 1)
	}
}

func TestCall(t *testing.T) {
	tests := []struct {
		name, answer, want string
		err                *Error
	}{
		{"a result is the caller's", `{"jsonrpc":"2.0","id":$ID,"result":{"a": 1}}`, `{"a": 1}`, nil},
		{"an error is the server's", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no","data":[1]}}`, "",
			&Error{Code: -32601, Msg: "no", Server: "srv", Data: []byte("[1]")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := newMemConn()
				m := New(conn, Options{Server: "srv"})
				defer func() { conn.die(nil); <-m.Done() }()
				type outcome struct {
					result []byte
					err    error
				}
				done := make(chan outcome)
				go func() {
					result, err := m.Call(t.Context(), "x/y", []byte(`{"p":1}`))
					done <- outcome{result, err}
				}()
				serverOf(t, conn, func(int) string { return tt.answer })
				got := <-done
				e, _ := errors.AsType[*Error](got.err)
				if diff := cmp.Diff(tt.want, string(got.result)); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.err, e); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"p":1}}`}, conn.got); diff != "" {
					t.Errorf("the server got (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestCallIsGivenUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := newMemConn()
		m := New(conn, Options{Server: "srv"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := m.Call(ctx, "tools/list", nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		want := []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"given up"}}`}
		if diff := cmp.Diff(want, conn.got); diff != "" {
			t.Errorf("the server got (-want +got):\n%s", diff)
		}
		conn.die(errors.New("gone"))
		<-m.Done()
		if _, err := m.Call(t.Context(), "tools/list", nil); err == nil || err.Error() != "gone" {
			t.Errorf("after the end: got %v", err)
		}
		if m.Err() == nil || m.Err().Error() != "gone" {
			t.Errorf("Err: got %v", m.Err())
		}
	})
}

func TestCallEndsWithTheUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := newMemConn()
		m := New(conn, Options{Server: "srv"})
		failed := make(chan error)
		go func() {
			_, err := m.Call(t.Context(), "tools/list", nil)
			failed <- err
		}()
		synctest.Wait()
		conn.die(errors.New("gone"))
		if e, ok := errors.AsType[*Error](<-failed); !ok || e.Reason != "child exited" {
			t.Errorf("got %v", e)
		}
		<-m.Done()
	})
}

func TestList(t *testing.T) {
	page := func(items, cursor string) string {
		if cursor != "" {
			cursor = `"nextCursor":` + cursor + `,`
		}
		return `{"jsonrpc":"2.0","id":$ID,"result":{` + cursor + `"tools":[` + items + `],"_meta":{"k":1}}}`
	}
	many := strings.TrimSuffix(strings.Repeat("1,", 3000), ",")
	tests := []struct {
		name     string
		reply    func(n int) string
		want     string
		asked    string // the last request
		complete bool
	}{
		{"one page is passed as it is", func(int) string { return page(`{"b":1, "a":2}`, "") },
			`{"tools":[{"b":1, "a":2}],"_meta":{"k":1}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, true},
		{"pages become one, in order", func(n int) string {
			return []string{page(`1, 2`, `"c\u0031"`), page(``, `"c2"`), page(`3`, "null")}[n-1]
		}, `{"tools":[1,2,3],"_meta":{"k":1}}`, `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c2"}}`, true},
		{"a cursor that comes back ends it", func(n int) string { return page(fmt.Sprint(n), `"again"`) },
			`{"tools":[1,2],"_meta":{"k":1}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"again"}}`, false},
		{"too many items end it", func(n int) string { return page(many, fmt.Sprintf(`"%d"`, n)) },
			`{"tools":[` + strings.TrimSuffix(strings.Repeat("1,", 10_000), ",") + `],"_meta":{"k":1}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"3"}}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := newMemConn()
				m := New(conn, Options{Server: "srv"})
				defer func() { conn.die(nil); <-m.Done() }()
				type outcome struct {
					result   []byte
					complete bool
					err      error
				}
				done := make(chan outcome, 1)
				go func() {
					result, complete, err := m.List(t.Context(), "tools/list", "tools")
					done <- outcome{result, complete, err}
				}()
				serverOf(t, conn, tt.reply)
				got := <-done
				if got.err != nil {
					t.Fatal(got.err)
				}
				if diff := cmp.Diff(tt.want, string(got.result)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if got.complete != tt.complete {
					t.Errorf("complete: got %v, want %v", got.complete, tt.complete)
				}
				if diff := cmp.Diff(tt.asked, conn.got[len(conn.got)-1]); diff != "" {
					t.Errorf("last request (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestListNeedsAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := newMemConn()
		m := New(conn, Options{Server: "srv"})
		defer func() { conn.die(nil); <-m.Done() }()
		failed := make(chan error, 1)
		go func() {
			_, _, err := m.List(t.Context(), "tools/list", "tools")
			failed <- err
		}()
		serverOf(t, conn, func(int) string { return `{"jsonrpc":"2.0","id":$ID,"result":{"tools":null}}` })
		const want = `server "srv": tools/list: answered without a list of tools`
		if err := <-failed; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}
