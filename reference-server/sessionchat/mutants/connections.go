package mutants

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"

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
