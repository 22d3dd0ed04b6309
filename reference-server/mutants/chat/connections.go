package chat

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"

	"parley/model"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// connectionFaults tie to a connection what belongs to a session, or the reverse.
var connectionFaults = map[string]fault{
	"creates-on-connect":        deciding(createsOnConnect),
	"greets-by-the-model":       deciding(greets),
	"announces-sessions":        announces,
	"session-per-connection":    deciding(sessionPerConnection),
	"session-of-one-connection": deciding(sessionOfOne),
	"disconnect-forgets":        deciding(disconnectForgets),
	"disconnect-leaves-busy":    deciding(leavesBusy),
	"disconnect-ends-all-turns": disconnectEndsAll,
	"rest-forgets":              deciding(restForgets),
}

// createsOnConnect has a session ready before anybody asks.
func createsOnConnect() rules {
	return rules{onConnect: func(m manager, c connInfo) []message {
		m.Send(c.ID, announcement("default", rand.Text()))
		return nil
	}}
}

// greets has the model say the first word.
func greets() rules {
	return rules{onConnect: func(manager, connInfo) []message {
		return []message{{"type": proto.ChatType, "agent_id": "assistant", "content": "Greet the user."}}
	}}
}

// announces tells a new connection of every session that it might go on with.
func announces(o *options) {
	x := newIndex(o.Store)
	o.Store = x
	o.Policy = rules{onConnect: func(m manager, c connInfo) []message {
		x.announce(m, c, x.all())
		return nil
	}}
}

// sessionPerConnection keeps the sessions in the handler of the connection.
func sessionPerConnection() rules {
	return rules{key: func(c connInfo, agentID string) string { return c.ID + " " + agentID }}
}

// sessionOfOne lets nobody but its first connection use a session, for as long as that is open.
func sessionOfOne() rules {
	owner := map[string]string{} // agent_id → connection
	return rules{
		accept: func(m manager, c connInfo, msg message) *refusal {
			id := asked(msg)
			if id == "" {
				return correct.Accept(m, c, msg)
			}
			if o, taken := owner[id]; taken && o != c.ID && isOpen(m, o) {
				return &refusal{Code: "in_use", Text: "this session is open elsewhere"}
			}
			owner[id] = c.ID
			return correct.Accept(m, c, msg)
		},
	}
}

// disconnectForgets removes the sessions of a connection with it, from the store too.
func disconnectForgets() rules {
	lost, ids := lives{}, used{}
	return rules{
		key: lost.key,
		accept: func(m manager, c connInfo, msg message) *refusal {
			ids.note(c, msg)
			return correct.Accept(m, c, msg)
		},
		onDisconnect: func(m manager, c connInfo) bool {
			for _, id := range ids[c.ID] {
				lost.lose(id)
			}
			return correct.OnDisconnect(m, c)
		},
	}
}

// leavesBusy keeps a session for the connection that asked last until that lets it go, which it does not do any more when it
// has ended.
func leavesBusy() rules {
	holder := map[string]string{} // agent_id → connection
	return rules{accept: func(m manager, c connInfo, msg message) *refusal {
		id := asked(msg)
		if id == "" {
			return correct.Accept(m, c, msg)
		}
		if h, held := holder[id]; held && !isOpen(m, h) {
			return &refusal{Code: "busy", Text: "this session is busy"}
		}
		holder[id] = c.ID
		return correct.Accept(m, c, msg)
	}}
}

func isOpen(m manager, connID string) bool {
	return slices.ContainsFunc(m.Connections(), func(c connInfo) bool { return c.ID == connID })
}

// restForgets deletes what nobody uses for a while, from the store too.
func restForgets() rules {
	lost := lives{}
	return rules{key: lost.key, onIdle: lost.lose}
}

// disconnectEndsAll cancels every answer of the model when a connection ends: they run in one group of tasks.
func disconnectEndsAll(o *options) {
	group := &tasks{backend: o.Backend, cancels: map[*model.Request]context.CancelFunc{}}
	o.Backend = group
	o.Policy = rules{onDisconnect: func(manager, connInfo) bool {
		group.cancelAll()
		return true
	}}
}

// tasks is a backend whose answers can be cancelled together.
type tasks struct {
	backend sessionchat.Backend
	mu      sync.Mutex
	cancels map[*model.Request]context.CancelFunc
}

func (g *tasks) Answer(ctx context.Context, r model.Request, emit func(model.Part) error) error {
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
