package proc

import "os"

// Member is a living process of a family, and the process group it is in.
type Member struct {
	ID
	Group int
}

// Kin are the living processes that came from leader, without it: its
// descendants, its process group, and those whose environment says
// MCPX_INSTANCE=marker, which a setsid or a double fork does not shake off
// (threat T40). Descent and group are believed only while leader is in the
// process table, be it as a zombie: later its pid may be another's. Where the
// process table cannot be read there are none.
func Kin(leader ID, marker string) []Member {
	table := list()
	family := map[int]bool{}
	for _, e := range table {
		if e.ID == leader {
			descend(table, leader.PID, family)
		}
	}
	var kin []Member
	for _, e := range table {
		if e.dead || e.ID == leader || e.PID == os.Getpid() {
			continue
		}
		if family[e.PID] || marker != "" && markOf(e.PID) == marker {
			kin = append(kin, Member{ID: e.ID, Group: e.group})
		}
	}
	return kin
}

// Marked are the living processes whose MCPX_INSTANCE fits, but for this process
// and those above it. There are none where environments cannot be read.
func Marked(fits func(mark string) bool) []Member {
	above := map[int]bool{os.Getpid(): true}
	for _, p := range Ancestors(os.Getpid(), 64) {
		above[p.PID] = true
	}
	var all []Member
	for _, e := range list() {
		if mark := markOf(e.PID); mark != "" && !e.dead && !above[e.PID] && fits(mark) {
			all = append(all, Member{ID: e.ID, Group: e.group})
		}
	}
	return all
}

// descend puts the group of pid and the descendants of both into family.
func descend(table []entry, pid int, family map[int]bool) {
	family[pid] = true
	for grown := true; grown; {
		grown = false
		for _, e := range table {
			if !family[e.PID] && (e.group == pid || family[e.parent]) {
				family[e.PID] = true
				grown = true
			}
		}
	}
}
