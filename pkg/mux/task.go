package mux

import (
	"slices"
	"time"

	"github.com/dezren39/mcpx/pkg/wire"
)

// maxTasks bounds the tasks of one server that are remembered.
const maxTasks = 1000

// task is work that a server goes on with after it has answered the call (W10).
// Its id is the server's, so what keeps one session from another's is its owner.
type task struct {
	owner   string
	call    uint64 // the one that began it: its progress goes on under that id
	port    *Port
	token   []byte // of the host, as sent
	ticks   rate
	release func() // lets go of the instance; nil once the task is over
}

// tasks are those of a server, oldest first in order.
type tasks struct {
	byID   map[string]*task
	byCall map[uint64]*task // those that are not over
	order  []string
}

// owns reports whether a session may ask for the task called id. What is unknown
// it may only ask of a server that is its own: another's task might have it.
func (m *Mux) owns(p *Port, id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tasks.byID[id]
	if t == nil {
		return m.asking == AskOwner
	}
	return t.owner == p.owner
}

// taskOf is the id of the task that a result stands for; "" when it is no task.
func taskOf(c *call, env *wire.Envelope) string {
	result := env.Bytes(env.Result)
	switch {
	case c.asTask:
		at, _ := wire.Member(result, "task")
		result = result[at.Start:at.End]
	case env.Text(env.ResultType) != "task":
		return ""
	}
	return textOf(result, "taskId")
}

func textOf(object []byte, key string) string {
	at, _ := wire.Member(object, key)
	text, _ := wire.Text(object[at.Start:at.End])
	return text
}

// beginTask notes whose the task is that a call was answered with. It keeps the
// instance until it is over, or its session is gone.
func (m *Mux) beginTask(c *call, env *wire.Envelope) {
	id := taskOf(c, env)
	if id == "" {
		return
	}
	t := &task{owner: c.port.owner, call: c.id, ticks: c.progress, port: c.port, token: slices.Clone(c.token)}
	if c.lease != nil {
		t.release = c.lease.Keep()
	}
	m.mu.Lock()
	released := m.addTaskLocked(id, t)
	m.mu.Unlock()
	released()
}

func (m *Mux) addTaskLocked(id string, t *task) (released func()) {
	s := &m.tasks
	if s.byID == nil {
		s.byID, s.byCall = map[string]*task{}, map[uint64]*task{}
	}
	released = func() {}
	switch {
	case t.port.detached, s.byID[id] != nil: // an id that is in use stays its owner's
		return t.over()
	case len(s.order) == maxTasks:
		released = m.endTaskLocked(s.byID[s.order[0]])
		delete(s.byID, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
	s.byID[id], s.byCall[t.call] = t, t
	s.order = append(s.order, id)
	return released
}

// over takes what the task holds.
func (t *task) over() (release func()) {
	release, t.release = t.release, nil
	if release == nil {
		return func() {}
	}
	return release
}

// endTaskLocked ends a task that is over; whose it was is still known.
func (m *Mux) endTaskLocked(t *task) (release func()) {
	delete(m.tasks.byCall, t.call)
	return t.over()
}

// taskStatus ends the task id when status, of an answer or a notification, says
// that it is over.
func (m *Mux) taskStatus(id string, object []byte, over bool) {
	switch textOf(object, "status") {
	case "completed", "failed", "cancelled":
		over = true
	}
	if !over {
		return
	}
	m.mu.Lock()
	release := func() {}
	if t := m.tasks.byID[id]; t != nil {
		release = m.endTaskLocked(t)
	}
	m.mu.Unlock()
	release()
}

// leaveTasksLocked lets go of the tasks of a session whose last port leaves.
func (m *Mux) leaveTasksLocked(p *Port) (released []func()) {
	for _, t := range m.tasks.byID {
		if t.owner != p.owner {
			continue
		}
		next := slices.IndexFunc(m.ports, func(q *Port) bool { return q.owner == p.owner })
		if next < 0 {
			released = append(released, m.endTaskLocked(t))
		} else if t.port == p {
			t.port = m.ports[next]
		}
	}
	return released
}

// answeredTask reads what an answer says of tasks, and is the edit that takes
// other sessions' out of a list of them.
func (m *Mux) answeredTask(c *call, env *wire.Envelope) (edit wire.Edit) {
	if env.Kind != wire.Result {
		return edit
	}
	result := env.Bytes(env.Result)
	switch c.method {
	case "tasks/get", "tasks/cancel", "tasks/update":
		m.taskStatus(c.taskID, result, false)
	case "tasks/result":
		m.taskStatus(c.taskID, result, true)
	case "tasks/list":
		return wire.Edit{At: env.Result, With: m.ownTasks(c.port, result)}
	default:
		m.beginTask(c, env)
	}
	return edit
}

// ownTasks is a tasks/list result without the tasks that are not p's.
func (m *Mux) ownTasks(p *Port, result []byte) []byte {
	at, ok := wire.Member(result, "tasks")
	if !ok {
		return result
	}
	all, own := result[at.Start:at.End], []byte{'['}
	for el := range wire.Elements(all) {
		one := all[el.Start:el.End]
		if !m.owns(p, textOf(one, "taskId")) {
			continue
		}
		if len(own) > 1 {
			own = append(own, ',')
		}
		own = append(own, one...)
	}
	return wire.ReplaceMember(result, "tasks", append(own, ']'))
}

// taskNews passes what is said of a task on to its owner.
func (m *Mux) taskNews(env *wire.Envelope, method string) {
	id := env.Text(env.TaskID)
	m.fanOut(env, method, func(_ *wire.Envelope, to []*Port) []*Port {
		t := m.tasks.byID[id]
		for _, p := range m.ports {
			if t != nil && p.owner == t.owner {
				to = append(to, p)
			}
		}
		return to
	})
	m.taskStatus(id, env.Bytes(env.Params), false)
}

// progressLocked is where progress under the id of a call goes: to its caller,
// while it is in flight or its task is not over; nil for what belongs to nobody
// or is too much.
func (m *Mux) progressLocked(id uint64, now time.Time) (to *Port, token []byte) {
	var ticks *rate
	if c := m.calls[id]; c != nil && c.port != nil {
		c.alive(now)
		to, token, ticks = c.port, c.token, &c.progress
	} else if t := m.tasks.byCall[id]; t != nil && !t.port.detached {
		to, token, ticks = t.port, t.token, &t.ticks
	}
	switch {
	case len(token) == 0:
		m.stats.Dropped++
		return nil, nil
	case !ticks.allows(progressPerSecond, now):
		m.stats.Dropped++
		m.stats.Excess++
		return nil, nil
	}
	return to, token
}
