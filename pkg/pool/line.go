package pool

import (
	"cmp"
	"maps"
	"slices"
)

// line is who waits for one thing, and the order in which they get it: round by
// round, each session once in a round, in order of arrival within a session and
// within a round. So a session with a thousand waiting calls is one ahead of
// another's first, not a thousand (threat T35). It does no I/O and has no clock.
type line[T comparable] struct {
	waiting []place[T]        // in the order in which they are served
	had     map[string]uint64 // the round in which a session was last served, while that is not over
	arrived uint64
}

// place is one place in a line.
type place[T comparable] struct {
	who     T
	session string
	round   uint64
	arrived uint64
}

func (l *line[T]) len() int { return len(l.waiting) }

// all are those who wait, in order.
func (l *line[T]) all() []T {
	all := make([]T, len(l.waiting))
	for i, p := range l.waiting {
		all[i] = p.who
	}
	return all
}

// next is the round in which one more of the session's would be served.
func (l *line[T]) next(session string) uint64 {
	round := uint64(1)
	if len(l.waiting) > 0 {
		round = l.waiting[0].round
	}
	if had, ok := l.had[session]; ok {
		round = max(round, had+1)
	}
	for _, p := range l.waiting {
		if p.session == session {
			round = max(round, p.round+1)
		}
	}
	return round
}

// join puts who into the line.
func (l *line[T]) join(who T, session string) {
	l.arrived++
	l.waiting = append(l.waiting, place[T]{who, session, l.next(session), l.arrived})
	l.sort()
}

// share says that session waits for what who stands for, too: who is served as
// early as either of the two would be.
func (l *line[T]) share(who T, session string) {
	if i := l.index(who); i >= 0 && l.next(session) < l.waiting[i].round {
		l.leave(who)
		l.join(who, session)
	}
}

// session is on whose behalf who waits.
func (l *line[T]) session(who T) string {
	if i := l.index(who); i >= 0 {
		return l.waiting[i].session
	}
	return ""
}

// serve takes who out, whose session has had its turn then. Not only the first
// may be served: who is behind may want what is free already.
func (l *line[T]) serve(who T) {
	i := l.index(who)
	if i < 0 {
		return
	}
	if l.had == nil {
		l.had = map[string]uint64{}
	}
	l.had[l.waiting[i].session] = max(l.had[l.waiting[i].session], l.waiting[0].round)
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.forget()
}

// leave takes who out, who has got nothing: those of its session behind it move up.
func (l *line[T]) leave(who T) {
	i := l.index(who)
	if i < 0 {
		return
	}
	free, session := l.waiting[i].round, l.waiting[i].session
	l.waiting = slices.Delete(l.waiting, i, i+1)
	for j := i; j < len(l.waiting); j++ {
		if p := &l.waiting[j]; p.session == session {
			p.round, free = free, p.round
		}
	}
	l.sort()
	l.forget()
}

// take empties the line.
func (l *line[T]) take() []T {
	all := l.all()
	*l = line[T]{arrived: l.arrived}
	return all
}

func (l *line[T]) index(who T) int {
	return slices.IndexFunc(l.waiting, func(p place[T]) bool { return p.who == who })
}

func (l *line[T]) sort() {
	slices.SortFunc(l.waiting, func(a, b place[T]) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.arrived, b.arrived))
	})
}

// forget drops what is known of rounds that are over.
func (l *line[T]) forget() {
	if len(l.waiting) == 0 {
		clear(l.had)
		return
	}
	now := l.waiting[0].round
	maps.DeleteFunc(l.had, func(_ string, round uint64) bool { return round < now })
}
