package visibility

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
)

// Override is a session's own switch. While it is set, the rules decide nothing
// for that session, so that no edit of theirs undoes what was switched a moment
// ago. The zero value is no switch.
type Override struct {
	Set    bool     `json:"set"`
	All    bool     `json:"all,omitempty"`
	Names  []string `json:"names,omitempty"`  // those seen, when not all are; sorted
	Except []string `json:"except,omitempty"` // those not seen of all; sorted

	// Narrow is a switch of one who may only take away: it shows nothing that the
	// rules hide, wherever the session goes and whatever they become.
	Narrow bool `json:"narrow,omitempty"`
}

// sees is what a session sees of one server, given what the rules allow.
func (o Override) sees(server string, a Allow) bool {
	switch {
	case !o.Set:
		return a.Has(server)
	case o.Narrow && !a.Has(server):
		return false
	case o.All:
		return !slices.Contains(o.Except, server)
	}
	return slices.Contains(o.Names, server)
}

// String is "" without a switch, else "all", "none", "only a, b", "all but a".
func (o Override) String() string {
	switch {
	case !o.Set:
		return ""
	case o.All && len(o.Except) == 0:
		return "all"
	case o.All:
		return "all but " + strings.Join(o.Except, ", ")
	case len(o.Names) == 0:
		return "none"
	}
	return "only " + strings.Join(o.Names, ", ")
}

// Op is what is done to a switch.
type Op string

// The operations. Show and hide begin with what the session sees now.
const (
	Show    Op = "allow" // these too
	Hide    Op = "deny"  // these no longer
	Only    Op = "only"  // these and no others
	Nothing Op = "none"
	All     Op = "all"
	Reset   Op = "reset" // back to the rules
)

// Change is the session's switch after op. A name that the
// session could not have is refused: a switch shows no server that is off.
func (d Decision) Change(op Op, names ...string) (Override, error) {
	if err := d.check(op, names); err != nil {
		return Override{}, err
	}
	switch op {
	case Reset:
		return Override{}, nil
	case All:
		return Override{Set: true, All: true}, nil
	case Nothing:
		return Override{Set: true}, nil
	case Only:
		return Override{Set: true, Names: with(nil, names)}, nil
	}
	o := d.Override
	switch {
	case o.Set:
	case d.Allow.All:
		o = Override{Set: true, All: true}
	default:
		o = Override{Set: true, Names: with(nil, d.Visible())}
	}
	switch {
	case o.All && op == Show:
		o.Except = without(o.Except, names)
	case o.All:
		o.Except = with(o.Except, names)
	case op == Show:
		o.Names = with(o.Names, names)
	default:
		o.Names = without(o.Names, names)
	}
	return o, nil
}

func with(list, names []string) []string {
	list = slices.Concat(list, names)
	slices.Sort(list)
	return slices.Compact(list)
}

func without(list, names []string) []string {
	var kept []string
	for _, name := range list {
		if !slices.Contains(names, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

func (d Decision) check(op Op, names []string) error {
	ops := []Op{Show, Hide, Only, Nothing, All, Reset}
	switch {
	case !slices.Contains(ops, op):
		return config.Problem{Msg: fmt.Sprintf("a switch has no %q", string(op)), Hint: "known here: allow, deny, only, none, all, reset"}
	case slices.Contains(ops[:3], op) != (len(names) > 0):
		return config.Problem{Msg: fmt.Sprintf("%s with %d servers", op, len(names)), Hint: "allow, deny and only name servers; none, all and reset do not"}
	}
	var known []string
	for _, v := range d.Servers {
		known = append(known, v.Server)
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		return config.Problem{Server: name, Msg: "this session cannot have it: no server that is on has the name", Hint: didYouMean(name, known)}
	}
	return nil
}
