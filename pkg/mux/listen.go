package mux

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// listening is the one subscriptions/listen of a modern server: what its sessions
// together want to be told. A second one beside it would take from the first, so
// when they want something else it is ended, and then begun anew (W8).
type listening struct {
	lists  era.Filter // those that the server says may change
	want   era.Filter
	due    time.Time // changes of what is wanted are gathered until then
	id     uint64    // of the request; 0 when there is none
	asked  era.Filter
	fresh  []string // of asked: not listened to before, until the server acknowledges
	since  time.Time
	ending bool      // it was cancelled; its end is awaited until by
	by     time.Time //
	before bool      // there was one: what happened since is not known
	fails  int       // in a row
	again  time.Time // not before
	never  bool      // the server has no such method
}

const (
	listenEnd   = 5 * time.Second // that a server may take to end one
	listenPause = time.Second     // after the server has ended it, and twice as long each time
	listenMost  = time.Minute     // at most; one that lasted so long was good
)

type listenMove uint8

const (
	listenStay listenMove = iota
	listenCancel
	listenOpen
)

// next decides what to do now, and when to look again. Pure.
func (l *listening) next(now time.Time) (m listenMove, at time.Time) {
	switch {
	case l.never, l.id != 0 && !l.ending && l.asked.Equal(l.want), l.id == 0 && l.want.Empty():
		return listenStay, time.Time{}
	case l.ending && now.Before(l.by):
		return listenStay, l.by
	case now.Before(l.due):
		return listenStay, l.due
	case l.id != 0 && !l.ending:
		return listenCancel, time.Time{}
	case l.want.Empty():
		return listenStay, time.Time{}
	case now.Before(l.again):
		return listenStay, l.again
	}
	return listenOpen, time.Time{}
}

// listens are the lists that a server says may change.
func listens(result []byte) (f era.Filter) {
	at, _ := wire.Member(result, "capabilities")
	caps := result[at.Start:at.End]
	for _, list := range []struct {
		kind kind
		to   *bool
	}{{tools, &f.Tools}, {prompts, &f.Prompts}, {resources, &f.Resources}} {
		at, _ := wire.Member(caps, kindNames[list.kind])
		one := caps[at.Start:at.End]
		at, ok := wire.Member(one, "listChanged")
		*list.to = ok && string(one[at.Start:at.End]) == "true"
	}
	return f
}

// rewantLocked looks again at what is to be listened to, after m.subs changed.
func (m *Mux) rewantLocked() {
	if !m.modern() {
		return
	}
	l := &m.listening
	l.want = l.lists
	l.want.URIs = slices.Sorted(maps.Keys(m.subs))
	l.due = time.Now().Add(coalesce)
	m.lookLocked(l.due)
}

// listenLocked does what is due, and returns the lines that say so to the server
// and when to look again.
func (m *Mux) listenLocked(now time.Time) (lines []byte, at time.Time) {
	l := &m.listening
	switch move, at := l.next(now); move {
	case listenStay:
		return nil, at
	case listenCancel:
		l.ending, l.by = true, now.Add(listenEnd)
		return cancelLine(l.id, "something else is listened to"), l.by
	}
	m.lastID++
	before := l.asked
	l.id, l.asked, l.since, l.ending = m.lastID, l.want, now, false
	if l.before {
		m.gapLocked(now, before)
	}
	l.before = true
	l.fresh = slices.DeleteFunc(slices.Clone(l.asked.URIs), func(uri string) bool { return slices.Contains(before.URIs, uri) })
	params := era.AddMeta(l.asked.ListenParams(), m.extra)
	return wire.AppendRequest(nil, strconv.AppendUint(nil, l.id, 10), "subscriptions/listen", params), time.Time{}
}

// gapLocked says what may have changed while nobody listened.
func (m *Mux) gapLocked(now time.Time, before era.Filter) {
	for k, on := range [kinds]bool{tools: before.Tools, prompts: before.Prompts, resources: before.Resources} {
		if on && m.due[k].IsZero() {
			m.due[k] = now.Add(coalesce)
			m.lookLocked(m.due[k])
		}
	}
	m.updatedLocked(before.URIs)
}

// acknowledged says what may have changed between a subscription, which was
// answered at once, and now that the server listens to it.
func (m *Mux) acknowledged() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updatedLocked(m.listening.fresh)
	if m.listening.fresh = nil; len(m.local) > 0 {
		m.lookLocked(time.Now())
	}
}

func (m *Mux) updatedLocked(uris []string) {
	for _, uri := range uris {
		if to := slices.Clone(m.subs[uri]); len(to) > 0 {
			const method = "notifications/resources/updated"
			line := wire.AppendNotification(nil, method, append(wire.AppendString([]byte(`{"uri":`), uri), '}'))
			m.local = append(m.local, func() {
				for _, p := range to {
					p.peer.Notification(method, line)
				}
			})
		}
	}
}

// unlistenedLocked takes in that the server has ended the listen called id; false
// when it is no listen of ours.
func (m *Mux) unlistenedLocked(env *wire.Envelope, id uint64) bool {
	l := &m.listening
	if l.id == 0 || l.id != id {
		return false
	}
	now := time.Now()
	if l.id = 0; !l.ending {
		if now.Sub(l.since) >= listenMost {
			l.fails = 0
		}
		l.again = now.Add(min(listenPause<<min(l.fails, 10), listenMost))
		l.fails++
		l.never = env.Kind == wire.Error && m.answered(env.Bytes(env.Error)).Code == wire.CodeMethodNotFound
	}
	l.ending = false
	m.lookLocked(now)
	return true
}
