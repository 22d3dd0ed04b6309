package mutants

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"

	"parley/llm"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// connectionFaults tie to a connection what belongs to a session, or the reverse.
var connectionFaults = map[string]fault{
	"creates-on-connect": deciding(rules{OnConnect: createsOnConnect}),
	"greets-by-the-model": deciding(rules{OnConnect: func(manager, connInfo) []message {
		return []message{{"type": proto.ChatType, "agent_id": "assistant", "content": "Greet the user."}}
	}}),
	"announces-sessions": announces,

	// It keeps the sessions in the handler of the connection.
	"session-per-connection": deciding(rules{Key: func(c connInfo, agentID string, _ sessionchat.Place) string {
		return c.ID + " " + agentID
	}}),

	// Nobody but its first connection may use a session, for as long as that is open.
	"session-of-one-connection": holding("in_use", "this session is open elsewhere",
		func(m manager, c connInfo, holder string) bool { return holder != c.ID && isOpen(m, holder) }),

	// A session is held for the connection that asked last until that lets it go, which it never does once it has ended.
	"disconnect-leaves-busy": holding("busy", "this session is busy",
		func(m manager, _ connInfo, holder string) bool { return !isOpen(m, holder) }),

	"disconnect-forgets":        disconnectForgets,
	"disconnect-ends-all-turns": disconnectEndsAll,
	"rest-forgets":              restForgets,
}

// createsOnConnect has a session ready before anybody asks.
func createsOnConnect(m manager, c connInfo) []message {
	m.Send(c.ID, announcement("default", rand.Text()))
	return nil
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

// holding refuses the chats of a session in some cases, by the connection that asked it last.
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

// disconnectForgets removes the sessions of a connection with it, from the store too.
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

// restForgets deletes what nobody uses for a while, from the store too.
func restForgets(o *options) {
	lost := losing(o)
	o.Policy.OnIdle = func(_ manager, key string) { lost.lose(key) }
}

// disconnectEndsAll cancels every answer of the model when a connection ends: they run in one group of tasks.
func disconnectEndsAll(o *options) {
	group := &tasks{backend: o.Backend, cancels: map[*llm.Request]context.CancelFunc{}}
	o.Backend = group
	o.Policy.OnDisconnect = func(manager, connInfo) bool {
		group.cancelAll()
		return true
	}
}

// tasks is a backend whose answers can be cancelled together.
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
