package registry

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/state"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/google/go-cmp/cmp"
)

func TestErasAreRememberedAcrossDaemons(t *testing.T) {
	cache, record := t.TempDir(), filepath.Join(t.TempDir(), "record")
	s := fakeServer(t, "fake", scope.Global, "-record", record)
	for range 2 {
		r := newRig(t, cache, nil)
		r.acquire(t, s, scope.CallContext{}).Release()
		r.stop(t)
	}
	if probes, opens := occurrences(t, record, "server/discover"), occurrences(t, record, `"initialize"`); probes != 1 || opens != 2 {
		t.Errorf("two daemons: got %d probes and %d handshakes, want 1 and 2", probes, opens)
	}
}

func TestErasTwoRootsNeverShareAnEntry(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	r := newRig(t, t.TempDir(), nil)
	s := fakeServer(t, "fake", scope.Cwd, "-record", record)
	for _, cwd := range []string{dir(t, "a"), dir(t, "b")} {
		r.acquire(t, s, scope.CallContext{Cwd: cwd}).Release()
	}
	if probes := occurrences(t, record, "server/discover"); probes != 2 {
		t.Errorf("two roots: got %d probes, want 2", probes)
	}
	if n := len(r.eras.all); n != 2 {
		t.Errorf("two roots: got %d entries, want 2", n)
	}
}

func TestErasOnDisk(t *testing.T) {
	cache, err := state.Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(newRecorder())
	e := openEras(cache, log)
	mine, other := e.of("gopls@1"), e.of("other@1")
	day := time.Unix(0, 0).UTC()
	legacy := upstream.Verdict{Era: upstream.Legacy, Plain: true, Checked: day}
	mine.SetEra("a", legacy)
	mine.SetEra("forgotten", legacy)
	mine.SetEra("forgotten", upstream.Verdict{})
	other.SetEra("b", upstream.Verdict{Era: upstream.Modern, Checked: day})

	again := openEras(cache, log)
	want := map[spawn.Identity]eraRecord{
		"a": {"gopls@1", legacy},
		"b": {"other@1", upstream.Verdict{Era: upstream.Modern, Checked: day}},
	}
	if diff := cmp.Diff(want, again.all); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	if !again.of("gopls@1").knowsLegacy() || again.of("other@1").knowsLegacy() {
		t.Error("knowsLegacy: want it of the definition that has a legacy instance, only")
	}
}

func TestErasKeepTheNewest(t *testing.T) {
	all := map[spawn.Identity]eraRecord{}
	for i := range maxEras + 2 {
		all[spawn.Identity(fmt.Sprint(i))] = eraRecord{Verdict: upstream.Verdict{Checked: time.Unix(int64(i), 0)}}
	}
	forgetOldest(all)
	_, oldest := all["1"]
	_, newest := all["2"]
	if len(all) != maxEras || oldest || !newest {
		t.Errorf("got %d entries, want the newest %d", len(all), maxEras)
	}
}

func TestErasOfAnotherFormatAreLeftAlone(t *testing.T) {
	cache, err := state.Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Save(erasFile, erasFormat+1, "from the future"); err != nil {
		t.Fatal(err)
	}
	log := newRecorder()
	e := openEras(cache, slog.New(log))
	e.of("d").SetEra("a", upstream.Verdict{Era: upstream.Legacy})
	if _, ok := e.of("d").Era("a"); !ok || len(log.warned) != 2 {
		t.Errorf("got %v with %d warnings, want memory and one of reading, one of writing", ok, len(log.warned))
	}
	var kept string
	if _, err := cache.Load(erasFile, erasFormat+1, &kept); err != nil || kept != "from the future" {
		t.Errorf("the file: got %q, %v", kept, err)
	}
}

// script is a program that is this test binary, in a file of its own.
func script(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\nexec %q \"$@\"\n", exe), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCatalogueIsKeptAcrossDaemonsUntilTheProgramChanges(t *testing.T) {
	cache := t.TempDir()
	s := fakeServer(t, "fake", scope.Global, "-page-size", "5")
	s.Command = script(t)

	r := newRig(t, cache, nil)
	if _, kept := r.Catalogue(s); kept {
		t.Error("before any start: something is kept")
	}
	r.acquire(t, s, scope.CallContext{}).Release()
	if diff := cmp.Diff([]string{"tools"}, <-r.changed); diff != "" {
		t.Errorf("changed at the first start (-want +got):\n%s", diff)
	}
	live, kept := r.Catalogue(s)
	if !kept || live.Tools() < 10 {
		t.Fatalf("after a start: got %v, %v, want all pages of tools", live, kept)
	}
	if got := r.Snapshot()[0]; got.State != "connected" || got.Tools != live.Tools() {
		t.Errorf("status: got %s with %d tools, want connected with %d", got.State, got.Tools, live.Tools())
	}
	r.stop(t)

	r = newRig(t, cache, nil)
	again, kept := r.Catalogue(s)
	if diff := cmp.Diff(live, again); diff != "" || !kept {
		t.Errorf("in the next daemon (-want +got):\n%s", diff)
	}
	if n := len(r.log.said("spawned")); n != 0 {
		t.Errorf("asking for what is kept started %d processes", n)
	}
	other := *s
	other.Env = map[string]string{asFake: "1", "OTHER": "1"}
	if _, kept := r.Catalogue(&other); kept {
		t.Error("another definition of the same name: something is kept")
	}
	r.stop(t)

	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(s.Command, later, later); err != nil {
		t.Fatal(err)
	}
	r = newRig(t, cache, nil)
	if _, kept := r.Catalogue(s); kept {
		t.Error("after the program changed: something is kept")
	}
}

func TestCatalogueChangeIsToldOnce(t *testing.T) {
	r := newRig(t, t.TempDir(), nil)
	sv, err := r.server(fakeServer(t, "fake", scope.Global))
	if err != nil {
		t.Fatal(err)
	}
	with := func(tools, prompts string) *Catalogue {
		return &Catalogue{Handshake: []byte("{}"), Lists: map[string][]byte{
			"tools/list":   []byte(`{"tools":[` + tools + `]}`),
			"prompts/list": []byte(`{"prompts":[` + prompts + `]}`),
		}}
	}
	p := stamp(sv.conf.Command)
	steps := []struct {
		name string
		c    *Catalogue
		want []string
	}{
		{"nothing was kept", with(`{"name":"a"}`, ``), []string{"tools", "prompts"}},
		{"the same again", with(`{"name":"a"}`, ``), nil},
		{"one list differs", with(`{"name":"a"}`, `{"name":"p"}`), []string{"prompts"}},
		{"one list is gone", &Catalogue{Lists: map[string][]byte{"tools/list": []byte(`{"tools":[{"name":"a"}]}`)}}, []string{"prompts"}},
	}
	for _, step := range steps {
		if diff := cmp.Diff(step.want, sv.keep(step.c, p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestAListThatFailsShowsAndErasesNothing(t *testing.T) {
	r := newRig(t, t.TempDir(), nil)
	s := fakeServer(t, "fake", scope.Global, "-tools", filepath.Join(t.TempDir(), "none"))
	sv, err := r.server(s)
	if err != nil {
		t.Fatal(err)
	}
	before := &Catalogue{Handshake: []byte("{}"), Lists: map[string][]byte{"tools/list": []byte(`{"tools":[{"name":"a"}]}`)}}
	sv.keep(before, stamp(s.Command))
	r.acquire(t, s, scope.CallContext{}).Release()
	<-r.log.warned
	got := r.Snapshot()[0]
	if got.State != "list-failed" || got.Reason == "" {
		t.Errorf("status: got %s, %q, want list-failed and why", got.State, got.Reason)
	}
	if c, kept := r.Catalogue(s); !kept || c.Tools() != 1 {
		t.Errorf("kept: got %v, want what was kept before", c)
	}
}

func TestCatalogueFollowsListChanged(t *testing.T) {
	tools := filepath.Join(t.TempDir(), "tools.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(tools, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const a = `{"name":"a","inputSchema":{"type":"object"}}`
	write("[" + a + "]")
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Global, "-tools", tools)
	l := r.acquire(t, s, scope.CallContext{})
	defer l.Release()
	<-r.changed
	in := r.all()[0].pool.Snapshot()[0].Upstream.(*instance)
	write("[" + a + `,{"name":"b","inputSchema":{"type":"object"}}]`)
	in.news <- struct{}{}
	if diff := cmp.Diff([]string{"tools"}, <-r.changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if c, _ := r.Catalogue(s); c.Tools() != 2 {
		t.Errorf("kept: got %d tools, want 2", c.Tools())
	}
}

func TestCatalogueIsFiledWithTheProgramThatWasFound(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(first, "prog"), 0o755); err != nil { // a directory is no program
		t.Fatal(err)
	}
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Global)
	if err := os.Symlink(s.Command, filepath.Join(second, "prog")); err != nil {
		t.Fatal(err)
	}
	want := stamp(s.Command)
	want.Path = filepath.Join(second, "prog")
	s.Command = "prog"
	s.Env["PATH"] = first + string(os.PathListSeparator) + second
	r.acquire(t, s, scope.CallContext{}).Release()
	<-r.changed
	sv, err := r.server(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sv.kept.entry.Load().Program); diff != "" {
		t.Errorf("program (-want +got):\n%s", diff)
	}
}
