package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/wire"
)

const catalogueFormat = 1

// Catalogue is what a server said of itself, kept on disk per static definition
// and size and mtime of its program (design D14). Lists are complete ones only.
// It is never changed once made.
type Catalogue struct {
	Handshake       []byte            `json:"handshake"` // result of initialize, or for a modern server one made of what it said
	ProtocolVersion string            `json:"protocolVersion"`
	Lists           map[string][]byte `json:"lists"` // "tools/list" → the result object, all pages in one
}

// Tools is the number of tools, Prompts and Resources that of those.
func (c *Catalogue) Tools() int     { return c.count("tools") }
func (c *Catalogue) Prompts() int   { return c.count("prompts") }
func (c *Catalogue) Resources() int { return c.count("resources") }

func (c *Catalogue) count(kind string) int {
	n := 0
	list := c.Lists[kind+"/list"]
	if at, ok := wire.Member(list, kind); ok {
		for range wire.Elements(list[at.Start:at.End]) {
			n++
		}
	}
	return n
}

// differs lists the kinds whose lists are not the same in old, which may be nil.
func (c *Catalogue) differs(old *Catalogue) []string {
	var kinds []string
	for _, l := range listings {
		var before []byte
		if old != nil {
			before = old.Lists[l.method]
		}
		if !bytes.Equal(before, c.Lists[l.method]) && !slices.Contains(kinds, l.kind) {
			kinds = append(kinds, l.kind)
		}
	}
	return kinds
}

// same reports whether nothing at all differs.
func (c *Catalogue) same(old *Catalogue) bool {
	return old != nil && bytes.Equal(c.Handshake, old.Handshake) &&
		c.ProtocolVersion == old.ProtocolVersion && len(c.differs(old)) == 0
}

// Catalogue returns what is kept of s. kept is false when nothing is. The
// result is read-only.
func (r *Registry) Catalogue(s *config.Resolved) (c *Catalogue, kept bool) {
	sv, err := r.server(s)
	if err != nil {
		return nil, false
	}
	c = sv.catalogue()
	return c, c != nil
}

// shelf holds one definition's catalogue.
type shelf struct {
	load   sync.Once
	saving sync.Mutex // one change at a time
	entry  atomic.Pointer[entry]
}

// entry is a catalogue as it is filed: with the program that said it.
type entry struct {
	Definition config.Definition `json:"definition"`
	Program    program           `json:"program"`
	Catalogue  Catalogue         `json:"catalogue"`
}

// catalogue is what is kept, nil when nothing is. The file is read once.
func (sv *server) catalogue() *Catalogue {
	sv.kept.load.Do(sv.loadCatalogue)
	if e := sv.kept.entry.Load(); e != nil {
		return &e.Catalogue
	}
	return nil
}

// loadCatalogue takes the file in, unless it is of another program by now.
func (sv *server) loadCatalogue() {
	if sv.r.o.Cache == nil {
		return
	}
	var e entry
	found, err := sv.r.o.Cache.Load(sv.catalogueFile(), catalogueFormat, &e)
	switch {
	case err != nil:
		sv.r.log.Warn("began without the kept catalogue", "server", sv.conf.Name, "err", err)
	case found && e.Definition == sv.def && e.Program.unchanged():
		sv.kept.entry.Store(&e)
	}
}

// keep replaces what is kept and returns the kinds whose lists differ from it.
// What differs in nothing is not written again.
func (sv *server) keep(c *Catalogue, p program) []string {
	sv.kept.saving.Lock()
	defer sv.kept.saving.Unlock()
	old := sv.catalogue()
	if c.same(old) && p.same(sv.kept.entry.Load().Program) {
		return nil
	}
	e := &entry{sv.def, p, *c}
	sv.kept.entry.Store(e)
	if sv.r.o.Cache != nil {
		if err := sv.r.o.Cache.Save(sv.catalogueFile(), catalogueFormat, e); err != nil {
			sv.r.log.Warn("kept a catalogue in memory only", "server", sv.conf.Name, "err", err)
		}
	}
	return c.differs(old)
}

func (sv *server) catalogueFile() string {
	sum := sha256.Sum256([]byte(sv.def))
	return "catalogue-" + hex.EncodeToString(sum[:16]) + ".json"
}
