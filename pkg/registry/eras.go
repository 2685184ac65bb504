package registry

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/state"
	"github.com/dezren39/mcpx/pkg/upstream"
)

const (
	erasFile   = "eras.json"
	erasFormat = 1
	maxEras    = 1000 // the newest are kept
)

// eras remembers which era each effective definition speaks (protocol §1.6),
// across daemons.
type eras struct {
	dir *state.Dir
	log *slog.Logger

	saving sync.Mutex // one save at a time, so that the last one wins

	mu  sync.Mutex // guards all
	all map[spawn.Identity]eraRecord
}

// eraRecord is a verdict and the static definition it was found under.
type eraRecord struct {
	Definition config.Definition `json:"definition"`
	upstream.Verdict
}

// openEras reads what is kept in dir; nil means in memory only.
func openEras(dir *state.Dir, log *slog.Logger) *eras {
	e := &eras{dir: dir, log: log}
	if dir != nil {
		if _, err := dir.Load(erasFile, erasFormat, &e.all); err != nil {
			log.Warn("began without remembered eras", "err", err)
		}
	}
	if e.all == nil {
		e.all = map[spawn.Identity]eraRecord{}
	}
	return e
}

// of is the memory as seen from one static definition.
func (e *eras) of(def config.Definition) eraView { return eraView{e, def} }

// eraView is upstream.Eras for the instances of one definition.
type eraView struct {
	*eras
	def config.Definition
}

// Era is what is remembered of an effective definition.
func (v eraView) Era(id spawn.Identity) (upstream.Verdict, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rec, ok := v.all[id]
	return rec.Verdict, ok
}

// SetEra remembers a verdict, on disk too; the zero one is forgotten.
func (v eraView) SetEra(id spawn.Identity, verdict upstream.Verdict) {
	v.mu.Lock()
	if verdict == (upstream.Verdict{}) {
		delete(v.all, id)
	} else {
		v.all[id] = eraRecord{v.def, verdict}
		forgetOldest(v.all)
	}
	v.mu.Unlock()
	v.save()
}

// knowsLegacy reports whether some instance of the definition turned out to be
// legacy (design D6).
func (v eraView) knowsLegacy() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, rec := range v.all {
		if rec.Definition == v.def && rec.Era == upstream.Legacy {
			return true
		}
	}
	return false
}

// forgetOldest keeps the newest maxEras.
func forgetOldest(all map[spawn.Identity]eraRecord) {
	if len(all) <= maxEras {
		return
	}
	ids := slices.SortedFunc(maps.Keys(all), func(a, b spawn.Identity) int {
		return cmp.Or(all[a].Checked.Compare(all[b].Checked), cmp.Compare(a, b))
	})
	for _, id := range ids[:len(ids)-maxEras] {
		delete(all, id)
	}
}

func (e *eras) save() {
	if e.dir == nil {
		return
	}
	e.saving.Lock()
	defer e.saving.Unlock()
	e.mu.Lock()
	all := maps.Clone(e.all)
	e.mu.Unlock()
	if err := e.dir.Save(erasFile, erasFormat, all); err != nil {
		e.log.Warn("kept eras in memory only", "err", err)
	}
}
