package pool

import (
	"cmp"
	"slices"
	"time"
)

// State is an instance's.
type State string

// States, as status shows them.
const (
	Starting   State = "starting"
	Connected  State = "connected"
	BackingOff State = "backing-off"
	Stopping   State = "stopping"
	Failed     State = "failed"
)

// Info is one instance, or one key that is backing off or has failed.
type Info struct {
	ID        string
	Key       string
	Root      string
	State     State
	Reason    string // what a starting one still waits for, as the config key of the limit
	Leases    int
	Waiting   int
	Upstream  Upstream // nil while starting or backing off
	StartedAt time.Time
	LastUsed  time.Time
	RetryAt   time.Time
	LastError string
}

// Snapshot is a copy for status, sorted by key.
func (p *Pool) Snapshot() []Info {
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	var infos []Info
	for _, in := range p.live {
		infos = append(infos, p.info(in))
	}
	for _, in := range p.current {
		if in.phase == queued {
			infos = append(infos, p.info(in))
		}
	}
	now := time.Now()
	for key, rec := range p.records {
		if rec.err == nil || p.current[key] != nil {
			continue
		}
		state := Failed
		if now.Before(rec.retryAt) {
			state = BackingOff
		}
		infos = append(infos, Info{
			Key: key, Root: rec.rs.Root, State: state, RetryAt: rec.retryAt, LastError: rec.err.Error(),
		})
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID, b.ID))
	})
	return infos
}

// info is one instance's. Needs the lock.
func (p *Pool) info(in *instance) Info {
	i := Info{
		ID: in.id, Key: in.rs.Key, Root: in.rs.Root, Leases: in.leases, Waiting: in.waiters.len(),
		Upstream: in.up, StartedAt: in.startedAt, LastUsed: in.lastUsed,
	}
	switch in.phase {
	case queued:
		i.State, i.Reason = Starting, string(in.blocked)
	case starting:
		i.State = Starting
	case connected:
		i.State = Connected
	default:
		i.State = Stopping
	}
	if rec := p.records[in.rs.Key]; rec != nil && rec.err != nil {
		i.LastError = rec.err.Error()
	}
	return i
}
