package auth

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheAnswerIsJudged(t *testing.T) { // threat T30
	tests := []struct {
		name   string
		back   string // query, STATE is the flow's, ISS the issuer
		mustIs bool
		ends   bool
		want   string
	}{
		{"no state", "code=x", false, false, ""},
		{"another state", "code=x&state=STATE2", false, false, ""},
		{"an empty state", "code=x&state=", false, false, ""},
		{"two states", "code=x&state=STATE&state=STATE", false, false, ""},
		{"two codes", "code=x&code=y&state=STATE", false, false, ""},
		{"another issuer", "code=x&state=STATE&iss=https://evil.test", false, true, "the answer names another issuer"},
		{"nearly the issuer", "code=x&state=STATE&iss=ISS/", false, true, "the answer names another issuer"},
		{"an empty issuer", "code=x&state=STATE&iss=", false, true, "the answer names another issuer"},
		{"no issuer, though it names itself", "code=x&state=STATE", true, true, "the answer does not name its issuer, which this one always does"},
		{"an error of another issuer", "error=access_denied&error_description=canary&state=STATE&iss=https://evil.test", false, true, "the answer names another issuer"},
		{"an error", "error=access_denied&error_description=canary&state=STATE", false, true, "the issuer refused: access_denied"},
		{"an error with words", "error=<script>canary</script>&state=STATE&iss=ISS", false, true, "the issuer refused: scriptcanaryscript"},
		{"no code", "state=STATE", false, true, "the answer holds no code"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if tt.mustIs {
				w.meta["authorization_response_iss_parameter_supported"] = true
			}
			k := newKeeper(t, t.TempDir(), Net{})
			f, err := k.Login(t.Context(), w.target())
			if err != nil {
				t.Fatal(err)
			}
			u, _ := url.Parse(f.URL)
			redirect, state := u.Query().Get("redirect_uri"), u.Query().Get("state")
			query := strings.NewReplacer("STATE2", "x"+state, "STATE", state, "ISS", url.QueryEscape(w.URL)).Replace(tt.back)
			status, text := browse(t, redirect+"?"+query)
			if strings.Contains(text, "canary of") || strings.Contains(text, "<script") {
				t.Errorf("the page repeats it: %s", text)
			}
			if !tt.ends {
				if status != http.StatusBadRequest {
					t.Errorf("the page says %d %s", status, text)
				}
				browse(t, f.URL) // the right one still counts
				if err := over(t, f); err != nil {
					t.Errorf("the flow: %v", err)
				}
				return
			}
			if err := over(t, f); err == nil || err.Error() != "sign-in: "+tt.want {
				t.Errorf("the flow: got %v, want %s", err, tt.want)
			}
			if w.times("/token") > 0 || k.token(t, w.target()) != "" {
				t.Error("a token was asked for")
			}
		})
	}
}

func TestTheAnswerComesOnceToOneAddress(t *testing.T) {
	w := newWorld(t)
	k := newKeeper(t, t.TempDir(), Net{})
	held, release := make(chan struct{}), make(chan struct{})
	w.on("/token", func(rw http.ResponseWriter, r *http.Request) {
		close(held)
		<-release
		w.token(rw, r)
	})
	f, err := k.Login(t.Context(), w.target())
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(f.URL)
	redirect, state := u.Query().Get("redirect_uri"), u.Query().Get("state")
	at, _ := url.Parse(redirect)
	ask := func(method, address, host string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		return resp.StatusCode
	}
	answer := "?code=" + canaryCode + "&state=" + state
	got := map[string]int{
		"another path":     ask("GET", "http://"+at.Host+"/callback"+answer, at.Host),
		"a path below":     ask("GET", redirect+"/x"+answer, at.Host),
		"another host":     ask("GET", redirect+answer, "evil.test"),
		"the name of host": ask("GET", redirect+answer, "localhost:"+at.Port()),
		"a form":           ask("POST", redirect+answer, at.Host),
	}
	want := map[string]int{"another path": 404, "a path below": 404, "another host": 404, "the name of host": 404, "a form": 404}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	page := make(chan int, 1)
	go func() { status, _ := browse(t, f.URL); page <- status }()
	<-held
	if status := ask("GET", redirect+answer, at.Host); status != http.StatusBadRequest {
		t.Errorf("a second answer: %d", status)
	}
	close(release)
	if status := <-page; status != 200 {
		t.Errorf("the first: %d", status)
	}
	if err := over(t, f); err != nil {
		t.Error(err)
	}
	if resp, err := http.Get(redirect); err == nil {
		_ = resp.Body.Close()
		t.Error("somebody still listens there")
	}
}
