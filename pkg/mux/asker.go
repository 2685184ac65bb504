package mux

import "time"

// Asking says whose a server's questions are: requests for sampling and
// elicitation (protocol §3.6).
type Asking uint8

const (
	// AskNobody refuses them: it would have to be guessed who is meant.
	AskNobody Asking = iota
	// AskCaller puts them to the one session with a call in flight, if it is one.
	AskCaller
	// AskOwner puts them to the session that the instance belongs to.
	AskOwner
	// AskNever refuses them also where it is certain who is meant: a modern server
	// asks in its answer to a call.
	AskNever
)

// askable is what decides whom a question is for.
type askable struct {
	asking   Asking
	attached []*Port // every session here
	calling  []*Port // those with a call in flight
	related  *Port   // the owner of the task that it names
	ghosts   []ghost
}

// ghost is a call that was given up and that the server has not answered: it may
// still be at work on it, and ask on its behalf.
type ghost struct {
	id    uint64
	port  *Port
	until time.Time
}

// The most that is remembered of what a server may never come back to.
const (
	maxGhosts  = 1000
	maxElicits = 1000
)

type askVerdict uint8

const (
	asked askVerdict = iota
	notOffered
	ambiguous
)

// decideAsk says which session a request of the server's is for (W6). Sampling
// and elicitation were not offered unless asking allows them; what mcpx does not
// know goes to the only one it can be for. Pure.
func decideAsk(a askable, method string) (*Port, askVerdict) {
	if offered := method == "sampling/createMessage" || method == "elicitation/create"; offered && (a.asking == AskNobody || a.asking == AskNever) {
		return nil, notOffered
	}
	if a.related != nil {
		return a.related, asked
	}
	if len(a.calling) > 1 {
		return nil, ambiguous
	}
	var port *Port
	switch {
	case len(a.calling) == 1:
		port = a.calling[0]
	case a.asking == AskOwner && len(a.attached) == 1:
		return a.attached[0], asked
	case len(a.attached) == 0:
		return nil, notOffered
	default:
		return nil, ambiguous
	}
	if a.asking != AskOwner {
		for _, g := range a.ghosts {
			if g.port != port {
				return nil, ambiguous
			}
		}
	}
	return port, asked
}

// elicits remembers which session an elicitation by address was for.
type elicits struct {
	owners map[string]*Port
	order  []string // oldest first, so that the table is bounded
}

func (e *elicits) note(id string, p *Port) {
	if e.owners == nil {
		e.owners = map[string]*Port{}
	}
	if _, known := e.owners[id]; known {
		return // the first one named it
	}
	if len(e.order) == maxElicits {
		delete(e.owners, e.order[0])
		e.order = e.order[1:]
	}
	e.owners[id] = p
	e.order = append(e.order, id)
}

// owner is the session that id was for; nil when that is not known.
func (e *elicits) owner(id string) *Port { return e.owners[id] }

func (e *elicits) forget(p *Port) {
	kept := e.order[:0]
	for _, id := range e.order {
		if e.owners[id] == p {
			delete(e.owners, id)
		} else {
			kept = append(kept, id)
		}
	}
	e.order = kept
}
