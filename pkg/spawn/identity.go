package spawn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"

	"github.com/dezren39/mcpx/pkg/config"
)

// Identity is the hash of an effective definition: two instances that differ
// only by root never share one (record 0004 §4).
type Identity string

// Identity covers all that may change how a server answers its handshake: what
// runs, where, with what, and which workspace it is told. Placeholders are
// already substituted. Secrets count by reference, and neither the base
// environment nor the key counts: two sessions of one definition share what was
// learnt about it.
func (p Plan) Identity() Identity {
	d := digest{sha256.New()}
	d.text(p.Server, p.Command)
	d.list(p.Args)
	d.pairs(p.Env)
	d.text(string(p.EnvPolicy), p.Dir, p.URL)
	d.pairs(p.Headers)
	d.secrets(p.Secrets)
	d.text(string(p.Protocol), p.Root, p.Workspace.Root)
	d.flag(p.Workspace.Roots)
	return Identity(hex.EncodeToString(d.h.Sum(nil)))
}

// digest writes each value with its length and each collection with its count,
// so that no two definitions run together into the same bytes.
type digest struct{ h hash.Hash }

func (d digest) count(n int) {
	d.h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func (d digest) text(values ...string) {
	for _, v := range values {
		d.count(len(v))
		d.h.Write([]byte(v))
	}
}

func (d digest) list(values []string) {
	d.count(len(values))
	d.text(values...)
}

func (d digest) pairs(m map[string]string) {
	d.count(len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		d.text(k, m[k])
	}
}

func (d digest) secrets(m map[string]config.Secret) {
	d.count(len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		d.text(k, m[k].File)
		d.list(m[k].Command)
	}
}

func (d digest) flag(b bool) {
	if b {
		d.count(1)
		return
	}
	d.count(0)
}
