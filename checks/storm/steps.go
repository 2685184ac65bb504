package storm

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
)

// Step is one thing that goes wrong, or only happens.
type Step struct {
	Name string
	Ends bool // a daemon
	Do   func()
}

// Weather is a crowd and what befalls it, drawn from a seed.
type Weather struct {
	*Crowd
	Bin, Fake string
	Newer     string // mcpx of a newer API; "" for none
	Seed      uint64
	Pause     time.Duration // of hosts, between requests

	rnd        *rand.Rand
	hosts      uint64 // so far
	generation int    // of the config
}

// NewWeather makes one over a machine whose config is Servers(fake, 0).
func NewWeather(r *rig.Rig, bin, fake string, seed uint64) *Weather {
	return &Weather{Crowd: &Crowd{R: r}, Bin: bin, Fake: fake, Seed: seed, rnd: rand.New(rand.NewPCG(seed, 5))}
}

// names are the servers of Servers.
var names = []string{"plain", "plain", "each", "stubborn", "wrapped", "changing", "noisy", "slow", "dying", "hanging"}

// Servers is a config of good and of bad servers, one of which is another in
// each generation.
func Servers(fake string, generation int) string {
	servers := map[string]any{}
	for name, s := range map[string]struct {
		args string
		mcpx map[string]any
	}{
		"plain":    {},
		"each":     {mcpx: map[string]any{"scope": "cwd", "max": 64}},
		"stubborn": {args: "-ignore-eof -child-setsid"},
		"wrapped":  {args: "-wrap -ignore-eof -ignore-term -child"},
		"changing": {args: fmt.Sprint("-name g", generation)},
		"noisy":    {args: "-garbage -blank -stderr-flood 1 -stderr-each 1 -list-storm 3"},
		"slow":     {args: "-slow-read -init-delay 50ms"},
		"dying":    {args: "-die-after 50 -half-line"},
		"hanging":  {args: "-hang-call", mcpx: map[string]any{"callTimeout": "300ms"}},
	} {
		servers[name] = map[string]any{"command": fake, "args": strings.Fields(s.args), "mcpx": s.mcpx}
		if s.mcpx == nil {
			delete(servers[name].(map[string]any), "mcpx")
		}
	}
	b, err := json.Marshal(map[string]any{"mcpServers": servers, "daemon": map[string]any{"stopGrace": "100ms"}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// expected are words of the errors that these servers and steps explain.
var expected = []string{
	"exited", "stopped", "left the config", "retry in", "timed out", "is stopping", "takes no more requests", // ends of servers
	"no such file", "does not exist", "is gone", "was removed", "has no directory", // directories that were removed
}

func explained(e *rig.RPCError) bool {
	return slices.ContainsFunc(expected, func(words string) bool { return strings.Contains(e.Message, words) })
}

// Come lets one more host come.
func (w *Weather) Come() *Host {
	w.R.T.Helper()
	n := w.hosts
	w.hosts++
	dir := filepath.Join(w.R.Home, "src", fmt.Sprint("d", n))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.R.T.Fatal(err)
	}
	server := names[n%uint64(len(names))]
	o := Options{Label: fmt.Sprint("h", n), Seed: w.Seed + n, Habit: []Habit{Quick, Slow, Quick, Stuck, Quick}[n%5], Pause: w.Pause, Allow: explained,
		Short: server == "slow", Deaf: server == "hanging"}
	h := Connect(w.R, w.Bin, dir, server, o)
	w.Add(h)
	return h
}

// Draw is the next step of those.
func (w *Weather) Draw(steps []Step) Step { return steps[w.rnd.IntN(len(steps))] }

// Steps are all that one machine can meet.
func (w *Weather) Steps() []Step {
	steps := []Step{
		{"kill the daemon", true, func() { w.Signal(Kill) }},
		{"end it by SIGTERM", true, func() { w.Signal(syscall.SIGTERM) }},
		{"mcpx stop", true, func() { w.Death(func() { w.R.Mcpx("stop") }) }},
		{"remove its sockets", true, w.unlink},
		{"remove its runtime directory", true, w.unlinkAll},
		{"connect thirty times without a daemon", true, w.burst},
		{"mcpx restart", false, func() { w.R.Mcpx("restart") }},
		{"kill a server", false, func() { w.signalChild(syscall.SIGKILL) }},
		{"stop a server in its tracks", false, w.freeze},
		{"kill a connect", false, w.killConnect},
		{"a host goes and another comes", false, w.replace},
		{"another config", false, w.swap},
		{"remove a session's directory", false, w.removeDir},
	}
	if w.Newer != "" {
		steps = append(steps, Step{"connect with a newer build", true, w.newer})
	}
	return steps
}

// unlink takes the sockets away: the daemon sees it and leaves.
func (w *Weather) unlink() {
	d := w.Daemon()
	w.Death(func() {
		for _, name := range []string{"attach.sock", "control.sock"} {
			_ = os.Remove(filepath.Join(w.R.Run, name))
		}
		w.gone(d)
	})
}

func (w *Weather) unlinkAll() {
	d := w.Daemon()
	w.Death(func() {
		if err := os.RemoveAll(w.R.Run); err != nil {
			w.R.T.Error(err)
		}
		w.gone(d)
	})
}

// burst has thirty hosts come at once where no daemon runs: one is started. The
// hosts that were there before start none, being in the middle of something.
func (w *Weather) burst() {
	before := w.Daemon()
	var came []*Host
	w.Death(func() {
		w.R.Mcpx("stop")
		for range 30 {
			came = append(came, w.Come())
		}
	})
	w.Recovered()
	if all := w.R.Daemons(); len(all) != 1 || all[0].PID == before.PID {
		w.R.T.Errorf("thirty connects at once: the daemons are %+v, before it was %d", all, before.PID)
	}
	w.Go(came...)
}

// Go lets hosts go in good order.
func (w *Weather) Go(hosts ...*Host) {
	w.Hosts = slices.DeleteFunc(w.Hosts, func(h *Host) bool { return slices.Contains(hosts, h) })
	w.Past.Add(end(hosts))
}

func (w *Weather) any() *Host { return w.Hosts[w.rnd.IntN(len(w.Hosts))] }

func (w *Weather) signalChild(sig syscall.Signal) {
	if all := w.R.Children(); len(all) > 0 {
		_ = syscall.Kill(all[w.rnd.IntN(len(all))].PID, sig)
	}
}

func (w *Weather) freeze() {
	w.signalChild(syscall.SIGSTOP)
	w.R.Mcpx("restart")
}

func (w *Weather) killConnect() {
	h := w.any()
	w.Hosts = slices.DeleteFunc(w.Hosts, func(o *Host) bool { return o == h })
	w.Past.Add(h.Kill())
	w.Come()
}

func (w *Weather) replace() {
	w.Go(w.any())
	w.Come()
}

func (w *Weather) swap() {
	w.generation++
	file := filepath.Join(w.R.Home, ".config/mcpx/config.json")
	w.R.Write(file+".new", Servers(w.Fake, w.generation))
	if err := os.Rename(file+".new", file); err != nil {
		w.R.T.Error(err)
	}
}

func (w *Weather) removeDir() {
	if err := os.RemoveAll(w.any().cmd.Dir); err != nil {
		w.R.T.Error(err)
	}
}

// newer has a host of a newer build come and go: an older daemon leaves for it.
func (w *Weather) newer() {
	w.Death(func() {
		usual := w.Bin
		w.Bin = w.Newer
		h := w.Come()
		w.Bin = usual
		select {
		case <-h.Recovered():
		case <-time.After(rig.Wait):
			w.R.T.Errorf("a newer build was not answered: %s", h.stderr.String())
		}
		w.Go(h)
	})
}
