package sessionchat

import (
	"cmp"
	"container/list"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionchat"
	"parley/reference-server/connection"
)

// manager is the session_manager of the source: the sessions in memory and their queues of turns. It is guarded by
// Server.mu.
type manager struct {
	o     Options
	conns *connection.Registry[string, conn]

	sessions map[string]*session // by Policy.Key
	queues   map[string][]*turn  // by Policy.Queue; the first one runs
	bytes    int                 // total bytes of text: histories, queued contents, unfinished answers

	idle  list.List   // of *session: the unused ones, longest idle first
	timer *time.Timer // fires when the first of them has been idle too long
}

var _ Manager = (*manager)(nil)

// session is a session in memory. Its fields are guarded by Server.mu; lock loading before Server.mu, never while
// holding it.
type session struct {
	key      string
	storeKey string // Policy.Key in the store, once loaded
	loaded   bool   // id and turns are valid; before that they are empty
	id       string
	turns    []*Turn
	weight   int // of the turns

	users   int // queued and running turns; 0: the session is idle
	running []*turn

	idleSince time.Time
	place     *list.Element // in manager.idle

	loading sync.Mutex // serializes obtaining the session
}

func newManager(o Options) *manager {
	return &manager{o: o, conns: connection.NewRegistry[string, conn](o.Limits.Connections),
		sessions: map[string]*session{}, queues: map[string][]*turn{}}
}

// Connections implements Manager.
func (m *manager) Connections() []ConnInfo {
	var infos []ConnInfo
	for _, c := range m.conns.All() {
		infos = append(infos, c.info)
	}
	return infos
}

// Sessions implements Manager.
func (m *manager) Sessions() []string { return slices.Sorted(maps.Keys(m.sessions)) }

// Running implements Manager.
func (m *manager) Running(key string) bool { return len(m.runningTurn(key)) > 0 }

// Waiting implements Manager.
func (m *manager) Waiting(queue string) int { return max(len(m.queues[queue])-1, 0) }

// SessionID implements Manager.
func (m *manager) SessionID(key string) string {
	if sess := m.sessions[key]; sess != nil {
		return sess.id
	}
	return ""
}

// Send implements Manager.
func (m *manager) Send(connID string, msg Message) {
	c := m.conns.Get(connID)
	if c == nil {
		return
	}
	data, err := msg.encodeMembers()
	if err != nil {
		m.o.Logger.Error("message not encoded", "message_type", msg.Type(), "err", err)
		return
	}
	c.Push(data)
}

// End implements Manager.
func (m *manager) End(connID string, code websocket.StatusCode, reason string) {
	if c := m.conns.Get(connID); c != nil {
		c.Finish(websocket.CloseError{Code: code, Reason: reason})
	}
}

func (m *manager) runningTurn(key string) []*turn {
	if sess := m.sessions[key]; sess != nil {
		return sess.running
	}
	return nil
}

// useSession returns the session of a key for a turn, or an empty one if it is not in memory; nil if there is no room.
func (m *manager) useSession(key string) *session {
	sess := m.sessions[key]
	if sess == nil {
		for len(m.sessions) >= m.o.Limits.Sessions {
			if !m.evictOldest() {
				return nil
			}
		}
		sess = &session{key: key}
		m.sessions[key] = sess
	}
	sess.users++
	if sess.place != nil {
		m.idle.Remove(sess.place)
		sess.place = nil
	}
	return sess
}

// releaseSession ends a turn's use of the session.
func (m *manager) releaseSession(sess *session) {
	sess.users--
	switch {
	case sess.users > 0:
	case !sess.loaded: // it could not be obtained
		delete(m.sessions, sess.key)
		m.bytes -= sess.weight
	default:
		sess.idleSince = time.Now()
		sess.place = m.idle.PushBack(sess)
		if m.idle.Len() == 1 {
			m.timer.Reset(m.o.Idle)
		}
	}
}

// evictIdle evicts the sessions that have been idle too long, and sets the timer for the next one.
func (m *manager) evictIdle() {
	for front := m.idle.Front(); front != nil; front = m.idle.Front() {
		if left := m.o.Idle - time.Since(front.Value.(*session).idleSince); left > 0 {
			m.timer.Reset(left)
			return
		}
		m.evictOldest()
	}
}

// evictOldest removes the longest-idle session from memory; the store has it. It returns false if none is idle.
func (m *manager) evictOldest() bool {
	front := m.idle.Front()
	if front == nil {
		return false
	}
	sess := m.idle.Remove(front).(*session)
	m.o.Policy.OnIdle(m, sess.key)
	delete(m.sessions, sess.key)
	m.bytes -= sess.weight
	return true
}

// reserveBytes adds bytes to the total, evicting idle sessions if necessary; false if there is no room.
func (m *manager) reserveBytes(bytes int) bool {
	for m.bytes+bytes > m.o.Limits.Memory {
		if !m.evictOldest() {
			return false
		}
	}
	m.bytes += bytes
	return true
}

// updateWeight updates the byte count of a session after a change of its turns.
func (m *manager) updateWeight(sess *session) {
	sess.turns = dropOldest(sess.turns, m.o.Limits)
	m.bytes -= sess.weight
	sess.weight = 0
	for _, t := range sess.turns {
		sess.weight += t.textSize()
	}
	m.bytes += sess.weight
}

// enqueueTurn adds a turn to its queue; first reports whether it is to run now.
func (m *manager) enqueueTurn(t *turn) (first bool) {
	m.queues[t.queue] = append(m.queues[t.queue], t)
	return len(m.queues[t.queue]) == 1
}

// dequeueTurn removes a turn from its queue. If it was running, dequeue returns the next turn to run.
func (m *manager) dequeueTurn(t *turn) (next *turn) {
	q := m.queues[t.queue]
	i := slices.Index(q, t)
	if q = slices.Delete(q, i, i+1); len(q) == 0 {
		delete(m.queues, t.queue)
		return nil
	}
	m.queues[t.queue] = q
	if i > 0 {
		return nil
	}
	return q[0]
}

// checkFields requires one of the three types (SC-055), the fields of each type (SC-029 to SC-037), and, if present,
// options that are an object with a model that is a string. Other keys of options and other fields may have any value
// (SC-034).
//
// An empty agent_id or content counts as missing: the former names no session, the latter asks nothing.
func checkFields(_ Manager, _ ConnInfo, msg Message) *Refusal {
	kind, isString := msg[proto.Type].(string)
	if !isString {
		return &Refusal{proto.InvalidMessage, `type must be a string: "chat", "interrupt" or "ping"`}
	}
	switch kind {
	case proto.ChatType:
		return cmp.Or(needString(msg, proto.AgentID), needString(msg, proto.Content), checkOptions(msg))
	case proto.InterruptType:
		return needString(msg, proto.AgentID)
	case proto.PingType:
		return nil
	}
	return &Refusal{proto.UnknownType, fmt.Sprintf(`unknown type %.80q: send "chat", "interrupt" or "ping"`, kind)}
}

func needString(msg Message, field string) *Refusal {
	v, isString := msg[field].(string)
	switch {
	case isString && v != "":
		return nil
	case isString || msg[field] == nil:
		return &Refusal{proto.MissingField, fmt.Sprintf("%s needs %s: send a string that is not empty",
			msg[proto.Type], field)}
	}
	return &Refusal{proto.InvalidMessage, fmt.Sprintf("%s must be a string, not %s", field, jsonKind(msg[field]))}
}

func checkOptions(msg Message) *Refusal {
	raw, present := msg[proto.Options]
	if !present {
		return nil
	}
	options, isObject := raw.(map[string]any)
	if !isObject {
		text := fmt.Sprintf("options must be an object, not %s: leave it out or send {}", jsonKind(raw))
		return &Refusal{proto.InvalidMessage, text}
	}
	if name, present := options[proto.Model]; present {
		if _, isString := name.(string); !isString {
			return &Refusal{proto.InvalidMessage, fmt.Sprintf("options.model must be a string, not %s", jsonKind(name))}
		}
	}
	return nil
}

// jsonKind names the JSON type of a decoded value.
func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}
