// Package auth signs a person in at remote servers, once for every session of the
// machine: it finds who may sign in where, leads one browser there, keeps the
// tokens and refreshes them. Putting a token on a request is remote's.
package auth

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/remote"
	"github.com/dezren39/mcpx/pkg/state"
)

// Options are a daemon's.
type Options struct {
	Dir     string              // where tokens are kept, a directory of their own; made when there is none
	Changed func(server string) // somebody has signed in or out
	Net     Net
	Log     *slog.Logger
}

// Net is how addresses are found and reached; zero members mean the system's way.
type Net struct {
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Roots  *x509.CertPool
}

// Target is the server that a sign-in is for. What a project's file names never
// shares one with what the user's own files name (threat T6).
type Target struct {
	Server  string
	URL     string
	Project bool
}

// TargetOf is the target of a configured remote.
func TargetOf(s *config.Resolved) Target {
	return Target{Server: s.Name, URL: s.URL, Project: s.Tier == config.Project}
}

// place is what a sign-in is kept under: two servers at one address share it.
type place struct {
	Project bool   `json:"project"`
	At      string `json:"at"` // the address without userinfo, query and fragment
}

func (t Target) place() place {
	u, err := url.Parse(t.URL)
	if err != nil {
		return place{Project: t.Project}
	}
	return place{t.Project, remote.Origin(u) + u.EscapedPath()}
}

// Keeper keeps the sign-ins of a daemon.
type Keeper struct {
	o    Options
	dir  *state.Dir
	log  *slog.Logger
	life context.Context // ends when Close is called
	end  context.CancelFunc
	wg   sync.WaitGroup // the flows and refreshes

	mu     sync.Mutex // guards what follows
	grants map[place]*entry
	flows  map[place]*Flow
	failed map[place]error    // why the last flow came to nothing
	wanted map[place][]string // scopes that a server missed
}

// entry is one place's grant. It outlives the grant: its lock has to.
type entry struct {
	refreshing sync.Mutex // one at a time refreshes
	grant      *grant     // nil: nobody is signed in; guarded by Keeper.mu, never changed once set
}

// Open makes or checks the directory and reads what is kept.
func Open(o Options) (*Keeper, error) {
	dir, err := state.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	k := &Keeper{o: o, dir: dir, log: o.Log, grants: map[place]*entry{}, flows: map[place]*Flow{}, failed: map[place]error{}, wanted: map[place][]string{}}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	if err := tag(o.Dir); err != nil {
		k.log.Warn("could not mark the tokens' directory for backups", "dir", o.Dir, "err", err)
	}
	names, err := filepath.Glob(filepath.Join(o.Dir, "grant-*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		k.load(filepath.Base(name))
	}
	k.life, k.end = context.WithCancel(context.Background())
	return k, nil
}

// tag asks programs that make backups to leave the directory out (threat T39).
func tag(dir string) error {
	const signature = "Signature: 8a477f597d28d172789f06886806bc55\n# tokens of mcpx: not worth a backup, sign in again\n"
	f, err := os.OpenFile(filepath.Join(dir, "CACHEDIR.TAG"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(signature)
	return errors.Join(err, f.Close())
}

// Close ends what is in progress and waits for it.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.end()
	k.mu.Unlock()
	k.wg.Wait()
}

// goes starts f, which Close waits for; false after Close.
func (k *Keeper) goes(f func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.life.Err() != nil {
		return false
	}
	k.wg.Go(f)
	return true
}

const grantFormat = 1

// grant is a sign-in as it is kept: for whom, at whom, and what came of it.
type grant struct {
	Place    place  `json:"place"`
	Resource string `json:"resource"` // what the tokens are for
	Issuer   string `json:"issuer"`   // who gave them
	client
	Scopes   []string  `json:"scopes,omitempty"`
	Access   string    `json:"access"`
	Refresh  string    `json:"refresh,omitempty"`
	Expiry   time.Time `json:"expiry,omitzero"`
	SignedIn time.Time `json:"signedIn"`
}

// client is what mcpx is to an authorization server, and where that is.
type client struct {
	ID                 string `json:"clientID"`
	Secret             string `json:"clientSecret,omitempty"`
	SecretInHeader     bool   `json:"clientSecretInHeader,omitempty"`
	TokenEndpoint      string `json:"tokenEndpoint"`
	RevocationEndpoint string `json:"revocationEndpoint,omitempty"`
	Home               kind   `json:"home,omitempty"` // the kind of address that the server itself has
}

// file is named for all that a grant must not be mixed up by: tier, address,
// resource and issuer (threat T29).
func (g *grant) file() string {
	key, _ := json.Marshal([]any{g.Place, g.Resource, g.Issuer}) // strings always marshal
	sum := sha256.Sum256(key)
	return "grant-" + hex.EncodeToString(sum[:16]) + ".json"
}

func (k *Keeper) load(name string) {
	var g grant
	found, err := k.dir.Load(name, grantFormat, &g)
	switch {
	case err != nil:
		k.log.Warn("left a kept sign-in aside", "err", err)
	case found && g.file() == name && g.Access != "":
		if e := k.entryLocked(g.Place); e.grant == nil || e.grant.SignedIn.Before(g.SignedIn) {
			e.grant = &g
		}
	}
}

// entryLocked is the place's, made when there is none. Needs the lock, but in Open.
func (k *Keeper) entryLocked(p place) *entry {
	e := k.grants[p]
	if e == nil {
		e = &entry{}
		k.grants[p] = e
	}
	return e
}

func (k *Keeper) look(p place) (*entry, *grant) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.entryLocked(p)
	return e, e.grant
}

// keep puts g, nil for none, in the place of what is there, on disk too. A grant
// of another issuer leaves nothing behind.
func (k *Keeper) keep(p place, g *grant) error {
	k.mu.Lock()
	e := k.entryLocked(p)
	old := e.grant
	e.grant = g
	k.mu.Unlock()
	var err error
	if g != nil {
		err = k.dir.Save(g.file(), grantFormat, g)
	}
	if old != nil && (g == nil || old.file() != g.file()) {
		err = errors.Join(err, k.dir.Remove(old.file()))
	}
	return err
}

// Problem is why a sign-in did not come about, or what keeps a token away, in
// words that hold no secret.
type Problem struct {
	Server string
	Msg    string
	Fix    string
}

func (p *Problem) Error() string { return "sign-in: " + p.Msg }

// Hint says what to do about it.
func (p *Problem) Hint() string { return p.Fix }

// word keeps a peer's word short and plain: the codes of OAuth are.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), 60)]
}
