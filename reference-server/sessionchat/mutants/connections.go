package mutants

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"

	"github.com/coder/websocket"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// connectionFaults bind session state to a connection, or the reverse.
var connectionFaults = map[string]fault{
	"creates-on-connect": deciding(rules{OnConnect: createsOnConnect}),
	"greets-by-the-model": deciding(rules{OnConnect: func(manager, connInfo) []message {
		return []message{{"type": proto.ChatType, "agent_id": "assistant", "content": "Greet the user."}}
	}}),
	"announces-sessions": announces,

	// The connection's handler keeps the sessions.
	"session-per-connection": deciding(rules{Key: func(c connInfo, agentID string, _ sessionchat.Place) string {
		return c.ID + " " + agentID
	}}),

	// While a session's first connection is open, only that connection may use it.
	"session-of-one-connection": holding("in_use", "this session is open elsewhere",
		func(m manager, c connInfo, holder string) bool { return holder != c.ID && isOpen(m, holder) }),

	// A session is held for the connection that asked last until that releases it, which it never does if it has ended.
	"disconnect-leaves-busy": holding("busy", "this session is busy",
		func(m manager, _ connInfo, holder string) bool { return !isOpen(m, holder) }),

	"pieces-to-everyone":        telling(tellsEveryone),
	"disconnect-forgets":        disconnectForgets,
	"disconnect-ends-all-turns": disconnectEndsAll,
	"rest-forgets":              restForgets,
}

// createsOnConnect creates a session before any chat.
func createsOnConnect(m manager, c connInfo) []message {
	m.Send(c.ID, announcement("default", rand.Text()))
	return nil
}

// tellsEveryone sends the pieces of an answer to every connection.
func tellsEveryone(m manager, to connInfo, msg message, send sender) {
	if msg.Type() != proto.StreamMessage {
		send(to.ID, msg)
		return
	}
	for _, c := range m.Connections() {
		send(c.ID, msg)
	}
}

// announces sends a new connection a message about every session that it may continue.
func announces(o *options) {
	x := newIndex(o.Store)
	o.Store = x
	o.Policy.OnConnect = func(m manager, c connInfo) []message {
		x.announce(m, c, x.all())
		return nil
	}
}

// holding refuses some chats of a session, depending on the connection that last used it.
func holding(code, text string, where func(m manager, c connInfo, holder string) bool) fault {
	return func(o *options) {
		holders := map[string]string{} // agent_id → connection
		o.Policy.Accept = refusing(code, text, func(m manager, c connInfo, msg message) bool {
			id := asked(msg)
			if id == "" {
				return false
			}
			if holder, held := holders[id]; held && where(m, c, holder) {
				return true
			}
			holders[id] = c.ID
			return false
		})
	}
}

// disconnectForgets removes the sessions of a connection when it ends, from the store too.
func disconnectForgets(o *options) {
	lost, ids := losing(o), noted(o)
	o.Policy.OnDisconnect = func(_ manager, c connInfo) bool {
		lost.lose(ids[c.ID]...)
		return true
	}
}

func isOpen(m manager, connID string) bool {
	return slices.ContainsFunc(m.Connections(), func(c connInfo) bool { return c.ID == connID })
}

// restForgets deletes idle sessions, from the store too.
func restForgets(o *options) {
	lost := losing(o)
	o.Policy.OnIdle = func(_ manager, key string) { lost.lose(key) }
}

// disconnectEndsAll cancels all of the model's answers when a connection ends, because they run in one task group.
func disconnectEndsAll(o *options) {
	group := &tasks{backend: o.Backend, cancels: map[*llm.Request]context.CancelFunc{}}
	o.Backend = group
	o.Policy.OnDisconnect = func(manager, connInfo) bool {
		group.cancelAll()
		return true
	}
}

// tasks is a backend whose answers can be canceled together.
type tasks struct {
	backend sessionchat.Backend
	mu      sync.Mutex
	cancels map[*llm.Request]context.CancelFunc
}

func (g *tasks) Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.mu.Lock()
	g.cancels[&r] = cancel
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.cancels, &r)
	}()
	return g.backend.Answer(ctx, r, emit)
}

func (g *tasks) cancelAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, cancel := range g.cancels {
		cancel()
	}
}

// heartbeatFaults handle pings incorrectly.
var heartbeatFaults = map[string]fault{

	// It does not know the type, or applies the requirements of a chat to every message.
	"ping-refused": pingRefused(proto.UnknownType, "unknown type ping", func(message) bool { return true }),
	"ping-needs-agent-id": pingRefused(proto.MissingField, "agent_id is required",
		func(msg message) bool { return agentOf(msg) == "" }),

	// It looks up a missing agent_id, and the exception ends the connection.
	"ping-closes": receiving(taking(proto.PingType, closeWith(websocket.StatusInternalError))),

	// It obtains a session for every message, and announces it.
	"ping-creates": receiving(taking(proto.PingType, noting(func(m manager, from connInfo, _ message) {
		m.Send(from.ID, announcement("default", rand.Text()))
	}))),
	"ping-ends-turns":    receiving(taking(proto.PingType, pingEnds)),
	"ping-ends-sessions": pingForgets,
}

func pingRefused(code, text string, which func(msg message) bool) fault {
	return deciding(rules{Accept: refusing(code, text, func(_ manager, _ connInfo, msg message) bool {
		return msg["type"] == proto.PingType && which(msg)
	})})
}

// pingEnds has a single receiver, where anything received ends what is being sent.
func pingEnds(m manager, _ connInfo, msg message) []message {
	var all []message
	for _, key := range m.Sessions() {
		if m.Running(key) {
			all = append(all, interruptOf(key))
		}
	}
	return append(all, msg)
}

// pingForgets treats a ping as the sign of a new client, and clears the sessions of the connection.
func pingForgets(o *options) {
	lost, ids := losing(o), used{}
	o.Inbound = noting(func(_ manager, from connInfo, msg message) {
		ids.note(from, msg)
		if msg["type"] == proto.PingType {
			lost.lose(ids[from.ID]...)
		}
	})
}

// cutFaults show only if a connection ends at a certain point of a conversation, and the client then reconnects.
var cutFaults = map[string]fault{
	"end-after-a-ping-forgets":       endingAfter(proto.PingType),
	"end-after-an-interrupt-forgets": endingAfter(proto.InterruptType),
	"end-in-a-third-turn-forgets":    endInFirstTurnForgets,
	"end-after-the-second-forgets":   endAfterSecondForgets,
}

// endingAfter forgets the sessions of a connection that ends when its last message was of that type.
func endingAfter(kind string) fault {
	return func(o *options) {
		lost, ids, last := losing(o), used{}, map[string]any{}
		o.Inbound = noting(func(_ manager, from connInfo, msg message) {
			ids.note(from, msg)
			last[from.ID] = msg["type"]
		})
		o.Policy.OnDisconnect = func(_ manager, c connInfo) bool {
			if last[c.ID] == kind {
				lost.lose(unique(ids[c.ID])...)
			}
			return true
		}
	}
}

// endInFirstTurnForgets forgets the other sessions of a connection that ends during the first turn of a session, if two
// turns or more came before.
func endInFirstTurnForgets(o *options) {
	lost, ids := losing(o), noted(o)
	o.Policy.OnDisconnect = func(m manager, c connInfo) bool {
		all := ids[c.ID]
		last := ids.last(c.ID)
		if last != "" && count(all, last) == 1 && len(all) > 2 && m.Running(o.Policy.Key(c, last, "")) {
			lost.lose(slices.DeleteFunc(unique(all), func(id string) bool { return id == last })...)
		}
		return true
	}
}

// endAfterSecondForgets forgets the first session of a connection that was last used for another session when it ends.
func endAfterSecondForgets(o *options) {
	lost, ids := losing(o), noted(o)
	o.Policy.OnDisconnect = func(m manager, c connInfo) bool {
		all, last := ids[c.ID], ids.last(c.ID)
		if last != "" && all[0] != last && count(all, last) > 1 {
			lost.lose(all[0])
		}
		return true
	}
}

// count returns how often an id occurs.
func count(ids []string, id string) (n int) {
	for _, one := range ids {
		if one == id {
			n++
		}
	}
	return n
}

// unique returns the ids without repetition, sorted.
func unique(ids []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}

// limitFaults serve fewer sessions than there are, or one connection of a session at a time.
var limitFaults = map[string]fault{
	"evicts-what-runs":      evictsRunning,
	"ninth-session-refused": ninthRefused,
	"ninth-session-ignored": ninthIgnored,
	"connection-closes-former": closesFormer(func(m manager, _ string, ids []string) bool {
		return slices.ContainsFunc(ids, m.Running)
	}),
	"chat-closes-busy-connection": closesFormer(func(m manager, id string, _ []string) bool { return m.Running(id) }),
}

// evictsRunning keeps the sixteen sessions of a connection that were used last, and drops what the others still say.
func evictsRunning(o *options) {
	kept := used{}
	o.Inbound = noting(func(_ manager, from connInfo, msg message) {
		if id := asked(msg); id != "" {
			ids := append(slices.DeleteFunc(kept[from.ID], func(other string) bool { return other == id }), id)
			kept[from.ID] = ids[max(0, len(ids)-16):]
		}
	})
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		if !ofTurn(msg) || slices.Contains(kept[to.ID], agentOf(msg)) {
			send(to.ID, msg)
		}
	}
}

// ninth reports whether a chat begins another session of a connection that has used eight, and notes it if not.
func (u used) ninth(from connInfo, msg message) bool {
	id := asked(msg)
	if id == "" || slices.Contains(u[from.ID], id) {
		return false
	}
	if len(u[from.ID]) >= 8 {
		return true
	}
	u.note(from, msg)
	return false
}

func ninthRefused(o *options) {
	ids := used{}
	o.Policy.Accept = refusing(proto.Overloaded, "this connection has eight sessions already",
		func(_ manager, c connInfo, msg message) bool { return ids.ninth(c, msg) })
}

func ninthIgnored(o *options) {
	ids := used{}
	o.Inbound = func(_ manager, from connInfo, msg message) []message {
		if ids.ninth(from, msg) {
			return nil
		}
		return []message{msg}
	}
}

// closesFormer closes the connection that used a session before, if an answer is on its way there.
func closesFormer(busy func(m manager, id string, ids []string) bool) fault {
	return func(o *options) {
		holders, ids := map[string]string{}, used{}
		o.Inbound = noting(func(m manager, from connInfo, msg message) {
			id := asked(msg)
			if id == "" {
				return
			}
			if former := holders[id]; former != "" && former != from.ID && busy(m, id, ids[former]) {
				m.End(former, websocket.StatusPolicyViolation, "this session is open elsewhere")
			}
			holders[id] = from.ID
			ids.note(from, msg)
		})
	}
}
