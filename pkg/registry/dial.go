package registry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/remote"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/upstream"
)

// conn is a server that was greeted, a process or a remote.
type conn interface {
	mux.Conn
	Plan() spawn.Plan
	Program() string // "" for a remote
	PID() int        // 0 for a remote
	Noise() int64
	RootsChanged()
	Done() <-chan struct{}
	Stop(ctx context.Context) error
}

// instance is one running server: what a pool leases.
type instance struct {
	sv   *server
	key  string
	conn conn
	mux  *mux.Mux

	life context.Context // ends when Stop begins
	end  context.CancelFunc
	wg   sync.WaitGroup // the listing
	news chan struct{}  // holds one: the lists have changed

	dir  canon.Mark   // where the process stands
	seen atomic.Int64 // when dir was last looked at, in Unix nanoseconds

	mu                 sync.Mutex // guards what follows
	listed             bool       // a whole listing has succeeded, or nothing needs listing
	fault              string     // why the last listing failed; "" when it did not
	tools              int
	prompts, resources int
}

// dial plans, starts and greets the instance of one key, and lists what it has
// in the background. A root that has vanished, a placeholder without a value or
// a program that is not there is the error of this start (record 0004 §9).
func (sv *server) dial(ctx context.Context, id string, rs scope.ResolvedScope, cc scope.CallContext) (pool.Upstream, error) {
	r, began := sv.r, time.Now()
	if r.o.Verify != nil {
		if err := r.o.Verify(&sv.conf); err != nil {
			return nil, err
		}
	}
	plan, err := spawn.NewPlan(sv.conf, rs, cc, r.o.Home)
	if err != nil {
		return nil, err
	}
	dir, _ := canon.Marked(r.dirOf(plan)) // if it is not there, the start itself says so
	asking := askingOf(&sv.conf, rs.Key)
	conn, err := sv.greet(ctx, id, plan, r.asks(asking, rs.Key, cc))
	if err != nil {
		return nil, err
	}
	took, hs := time.Since(began).Round(time.Millisecond), conn.Handshake()
	if plan.URL != "" {
		r.log.Info("connected", "server", plan.Server, "key", plan.Key, "root", plan.Root, "era", string(hs.Era), "took", took)
	} else {
		r.log.Info("spawned", "server", plan.Server, "key", plan.Key, "root", plan.Root,
			"dir", r.dirOf(plan), "dir_source", string(plan.DirSource), "pid", conn.PID(), "era", string(hs.Era), "took", took)
	}
	in := &instance{
		sv: sv, key: rs.Key, conn: conn, mux: mux.New(conn, mux.Options{Server: plan.Server, Asking: asking, Turns: &sv.r.turns}),
		news: make(chan struct{}, 1), dir: dir,
	}
	in.life, in.end = context.WithCancel(context.Background())
	in.mux.OnListChanged(func(string) {
		select {
		case in.news <- struct{}{}:
		default:
		}
	})
	if c, ok := conn.(*upstream.Conn); ok {
		sv.awaitRoots(ctx, c)
	}
	in.wg.Go(in.follow)
	return in, nil
}

// A server that was offered roots most often asks for them as soon as it is
// ready, and one that keeps to them refuses what is asked of it before: hosts
// take seconds from their start to their first call, mcpx starts a server for
// one. So the first start of a definition shows whether it asks.
const (
	rootsMayCome  = 300 * time.Millisecond // when that is not known
	rootsWillCome = 2 * time.Second
	rootsSettle   = 100 * time.Millisecond // for the server to take the answer in
)

// awaitRoots waits until the server has asked for its roots, if it does.
func (sv *server) awaitRoots(ctx context.Context, c *upstream.Conn) {
	asked := c.RootsAsked()
	if asked == nil || sv.rootless.Load() {
		return
	}
	patience := rootsMayCome
	if sv.rooted.Load() {
		patience = rootsWillCome
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-asked:
		sv.rooted.Store(true)
		t.Reset(rootsSettle)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	case <-t.C:
		sv.rootless.Store(true)
	case <-c.Done():
	case <-ctx.Done():
	}
}

// greet starts a server or reaches a remote, and shakes hands.
func (sv *server) greet(ctx context.Context, id string, plan spawn.Plan, asks []byte) (conn, error) {
	r, eras := sv.r, sv.r.eras.of(sv.def)
	if plan.URL != "" {
		o := remote.Options{
			Child: r.o.Child, Eras: eras, Roots: r.softRoots(plan.Key), Asks: asks,
			StartTimeout: sv.conf.StartTimeout, Version: r.o.Version, Log: r.log,
		}
		if r.o.Tokens != nil {
			o.Tokens = r.o.Tokens(&sv.conf)
		}
		c, err := remote.Dial(ctx, plan, o)
		if err != nil {
			return nil, err // not a nil *Conn
		}
		return c, nil
	}
	var pid atomic.Int64
	child := r.o.Child
	child.Marker = r.o.Marker + "." + id
	child.OnStderr = func(line string) {
		r.logs.add(LogLine{Time: time.Now(), Server: plan.Server, Key: plan.Key, PID: int(pid.Load()), Line: line})
	}
	c, err := upstream.Dial(ctx, plan, upstream.Options{
		Child: child, Eras: eras, SiblingLegacy: eras.knowsLegacy(),
		Roots: r.softRoots(plan.Key), Asks: asks, StartTimeout: sv.conf.StartTimeout,
		Version: r.o.Version, Log: r.log,
	})
	if err != nil {
		return nil, err
	}
	pid.Store(int64(c.PID()))
	return c, nil
}

// lookEvery bounds how often a busy instance's directory is looked at.
const lookEvery = 20 * time.Millisecond

// stands reports whether the name of the directory that the process stands in
// still means that directory. A checkout that was removed and made again, or
// moved, leaves a process that answers for the old one.
func (in *instance) stands() bool {
	now := time.Now().UnixNano()
	if now-in.seen.Load() < int64(lookEvery) || in.dir == (canon.Mark{}) { // a remote stands nowhere
		return true
	}
	if !in.dir.Holds() {
		return false
	}
	in.seen.Store(now)
	return true
}

// softRoots is how an instance of a session's own key asks for that session's
// roots (design D5); nil for all other keys.
func (r *Registry) softRoots(key string) func() []roots.Root {
	if r.o.Roots == nil || !scope.CallerOwned(key) || scope.PerCall(key) {
		return nil
	}
	return func() []roots.Root { return r.o.Roots(key) }
}

// askingOf says whose the questions of an instance's server are (protocol §3.6).
// They are passed on when it is certain who is meant: an instance of a session's
// own, or one that serves a call at a time; and where the config says so. Pure.
func askingOf(s *config.Resolved, key string) mux.Asking {
	switch {
	case s.ServerRequests == config.RequestsRefuse:
		return mux.AskNever
	case scope.CallerOwned(key):
		return mux.AskOwner
	case s.ServerRequests == config.RequestsAttribute, s.Sharing == config.Exclusive:
		return mux.AskCaller
	}
	return mux.AskNobody
}

// anyHost is what a server may ask when nobody can say beforehand which host it
// will ask; one that cannot answer says so then.
var anyHost = []byte(`"sampling":{},"elicitation":{"form":{},"url":{}}`)

// asks are the capabilities that go with that: a session's own server is told
// what that session's host declared.
func (r *Registry) asks(a mux.Asking, key string, cc scope.CallContext) []byte {
	switch {
	case a == mux.AskCaller:
		return anyHost
	case a == mux.AskOwner && r.o.Asks != nil:
		return r.o.Asks(key, cc)
	}
	return nil
}

// dirOf is the directory a plan runs in; the daemon's own is the user's home.
func (r *Registry) dirOf(p spawn.Plan) string {
	if p.Dir == "" && p.URL == "" {
		return r.o.Home
	}
	return p.Dir
}

// Mux shares the instance between sessions.
func (in *instance) Mux() *mux.Mux { return in.mux }

// Done is closed when the server has ended.
func (in *instance) Done() <-chan struct{} { return in.conn.Done() }

// Failure says why it ended, when all that it said has been read.
func (in *instance) Failure() error {
	<-in.mux.Done()
	return in.mux.Err()
}

// Stop ends the server, its calls and its listing.
func (in *instance) Stop(ctx context.Context) error {
	in.end()
	err := in.conn.Stop(ctx)
	<-in.mux.Done()
	in.wg.Wait()
	return err
}
