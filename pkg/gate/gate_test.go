package gate

import (
	"crypto/sha256"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"testing"
)

// TestTheGateGoesInOrder: what is told first is what gives least away.
func TestTheGateGoesInOrder(t *testing.T) {
	policy := Policy{Methods: []string{"POST"}, Opens: One(sha256.Sum256([]byte("secret")))}
	good := Asked{
		Peer: netip.MustParseAddr("::ffff:127.0.0.1"), Port: 7, Method: "POST", Host: []string{"[::1]:7"},
		ContentType: []string{"application/json; charset=utf-8"}, Authorization: []string{"bearer secret"},
	}
	steps := []struct {
		status int
		spoil  func(a *Asked)
	}{
		{403, func(a *Asked) { a.Peer = netip.MustParseAddr("192.0.2.1") }},
		{403, func(a *Asked) { a.Stranger = true }},
		{403, func(a *Asked) { a.Host = []string{"x"} }},
		{403, func(a *Asked) { a.Origin = []string{"null"} }},
		{403, func(a *Asked) { a.FetchSite = []string{"cross-site"} }},
		{405, func(a *Asked) { a.Method = "OPTIONS" }},
		{415, func(a *Asked) { a.ContentType = nil }},
		{401, func(a *Asked) { a.Authorization = nil }},
	}
	if got := policy.Admit(good); got != nil {
		t.Fatalf("a good request: %+v", got)
	}
	var said []string
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i].spoil(&good)
		got := policy.Admit(good)
		if got == nil || got.Status != steps[i].status {
			t.Fatalf("step %d: %+v, want %d", i, got, steps[i].status)
		}
		said = append(said, got.Msg)
	}
	for i := 1; i < len(said); i++ {
		if said[i] == said[i-1] {
			t.Errorf("two faults are told alike: %q", said[i])
		}
	}
	if got := (Policy{}).Admit(Asked{}); got == nil || got.Status != http.StatusForbidden {
		t.Errorf("a peer that is not known: %+v", got)
	}
}

// TestTheDoorIsForLinks: a browser may follow a link to what tells nothing, and
// no page may have it otherwise.
func TestTheDoorIsForLinks(t *testing.T) {
	a := Asked{
		Peer: netip.MustParseAddr("127.0.0.1"), Port: 7, Method: "GET", Host: []string{"127.0.0.1:7"},
		FetchSite: []string{"cross-site"}, FetchMode: []string{"navigate"},
	}
	door := Policy{Methods: []string{"GET", "POST"}, Door: true}
	if no := door.Admit(a); no != nil {
		t.Errorf("a link: %+v", no)
	}
	embedded, form := a, a
	embedded.FetchMode = []string{"no-cors"}
	form.Method, form.ContentType = "POST", []string{"application/json"}
	for what, no := range map[string]*No{
		"what is embedded": door.Admit(embedded), "a form": door.Admit(form),
		"a link to what is no door": Policy{Methods: door.Methods}.Admit(a),
	} {
		if no == nil || no.Status != http.StatusForbidden {
			t.Errorf("%s: %+v", what, no)
		}
	}
}

func TestTheKernelKnowsWhoseAPeerIs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, end := range []net.Conn{c, other} {
		if uid, ok := peerUID(end); ok && uid != os.Geteuid() || !ok && runtime.GOOS == "linux" {
			t.Errorf("uid %d, %v; want %d", uid, ok, os.Geteuid())
		}
	}
}
