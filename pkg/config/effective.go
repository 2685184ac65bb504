package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/scope"
)

// mcpxPart merges key by key: the nearest entry that has the key, then the
// nearest defaults, then what is built in.
func (m *merger) mcpxPart(r *Resolved) {
	r.Scope = pick(m, key[scope.Scope]{"scope", func(b *RawMcpx) *scope.Scope { return b.Scope }, scope.Global})
	r.Sharing = pick(m, key[Sharing]{"sharing", func(b *RawMcpx) *Sharing { return b.Sharing }, Shared})
	r.Protocol = pick(m, key[Protocol]{"protocol", func(b *RawMcpx) *Protocol { return b.Protocol }, Auto})
	r.Max = pick(m, key[int]{"max", func(b *RawMcpx) *int { return b.Max }, 4})
	r.Tools = pick(m, key[[]string]{"tools", func(b *RawMcpx) *[]string { return some(b.Tools) }, nil})
	r.ExcludeTools = pick(m, key[[]string]{"excludeTools", func(b *RawMcpx) *[]string { return some(b.ExcludeTools) }, nil})
	r.Disabled = pick(m, key[bool]{"disabled", func(b *RawMcpx) *bool { return b.Disabled }, false})
	r.Description = pick(m, key[string]{"description", func(b *RawMcpx) *string { return b.Description }, ""})
	m.timeouts(r)
	m.guarded(r)
}

func (m *merger) timeouts(r *Resolved) {
	idle := key[DurationOrNever]{"idleTimeout", func(b *RawMcpx) *DurationOrNever { return b.IdleTimeout }, DurationOrNever(5 * time.Minute)}
	start := key[Duration]{"startTimeout", func(b *RawMcpx) *Duration { return b.StartTimeout }, Duration(60 * time.Second)}
	call := key[Duration]{"callTimeout", func(b *RawMcpx) *Duration { return b.CallTimeout }, Duration(120 * time.Second)}
	r.IdleTimeout = time.Duration(pick(m, idle))
	r.StartTimeout = time.Duration(pick(m, start))
	r.CallTimeout = time.Duration(pick(m, call))
}

// guarded merges the keys that a project file may tighten but never loosen
// (threat T6).
func (m *merger) guarded(r *Resolved) {
	roots := key[bool]{"roots", func(b *RawMcpx) *bool { return b.Roots }, true}
	requests := key[ServerRequests]{"serverRequests", func(b *RawMcpx) *ServerRequests { return b.ServerRequests }, RequestsAuto}
	policy := key[EnvPolicy]{"envPolicy", func(b *RawMcpx) *EnvPolicy { return b.EnvPolicy }, Inherit}
	defaults := m.files
	if r.Tier == Project {
		// What the defaults say of the user's own servers is not meant for a
		// project's program; an entry of the user's that names it is.
		policy.builtIn, defaults = Clean, nil
	}
	r.Roots = pickTight(m, roots, m.files, false, true)
	r.ServerRequests = pickTight(m, requests, m.files, RequestsRefuse, RequestsAuto, RequestsAttribute)
	r.EnvPolicy = pickTight(m, policy, defaults, Clean, Inherit)
}

// key is one key of the mcpx block: its name, where it is, and its value when
// nothing sets it.
type key[T any] struct {
	name    string
	get     func(*RawMcpx) *T
	builtIn T
}

func some[T any](list []T) *[]T {
	if list == nil {
		return nil
	}
	return &list
}

// found is a value and where it was written; at is zero for a built-in one.
type found[T any] struct {
	value T
	at    Origin
	tier  Tier
}

// search finds what is said about a key, nearest first, defaults after all
// entries, and the built-in value at the end.
func search[T any](m *merger, k key[T], defaults []*File) []found[T] {
	var all []found[T]
	look := func(b *RawMcpx, at Origin, tier Tier) {
		if b == nil {
			return
		}
		if v := k.get(b); v != nil {
			all = append(all, found[T]{*v, at, tier})
		}
	}
	for _, l := range m.layers {
		look(l.raw.Mcpx, l.at["mcpx."+k.name], l.file.Tier)
	}
	for _, f := range defaults {
		look(f.defaults.raw, f.defaults.at["defaults."+k.name], f.Tier)
	}
	return append(all, found[T]{value: k.builtIn})
}

func pick[T any](m *merger, k key[T]) T {
	return take(m, k, search(m, k, m.files)[0])
}

func take[T any](m *merger, k key[T], f found[T]) T {
	if f.at != (Origin{}) {
		m.origins["mcpx."+k.name] = f.at
	}
	return f.value
}

// pickTight is pick for a guarded key; order is from tight to loose.
func pickTight[T comparable](m *merger, k key[T], defaults []*File, order ...T) T {
	all := search(m, k, defaults)
	own := slices.IndexFunc(all, func(f found[T]) bool { return f.tier != Project })
	limit := slices.Index(order, all[own].value)
	for _, f := range all[:own] {
		if slices.Index(order, f.value) <= limit {
			return take(m, k, f)
		}
		m.report(f.at, "mcpx."+k.name, fault{
			msg:  fmt.Sprintf("a project file may not loosen this from %v to %v: ignored", all[own].value, f.value),
			hint: "set it in ~/.config/mcpx/config.json",
			warn: true,
		})
	}
	return take(m, k, all[own])
}

// isSpawnField reports whether a field path belongs to the spawn part, or is
// the entry itself.
func isSpawnField(field string) bool {
	if field == "" || strings.HasPrefix(field, "mcpx.secrets") {
		return true
	}
	part, _, _ := strings.Cut(field, ".")
	part, _, _ = strings.Cut(part, "[")
	return slices.Contains([]string{"command", "args", "env", "cwd", "url", "headers"}, part)
}
