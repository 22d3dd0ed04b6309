package sessionchat

import (
	"context"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionchat"
)

// rewriting changes messages of a type; "" means all.
func rewriting(kind string, f func(m Manager, msg Message) Message) func(*Options) {
	return telling(func(m Manager, msg Message, send func(Message)) {
		if kind == "" || msg.Type() == kind {
			msg = f(m, msg)
		}
		send(msg)
	})
}

// inTurn is a fault that shows in one whole turn.
func inTurn(bad func(turn []object) bool) func(b *bench) bool {
	return func(b *bench) bool { return bad(b.dial().plain("a", "[[stream n 3]]")) }
}

// count counts the messages of a type.
func count(turn []object, kind string) (n int) {
	for _, msg := range turn {
		if msg["message_type"] == kind {
			n++
		}
	}
	return n
}

// sessions returns the number of sessions in memory.
func (b *bench) sessions() int {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	return len(b.server.m.Sessions())
}

var messagesAndStores = []fault{
	{"swaps agent_id and session_id", rewriting("", func(_ Manager, msg Message) Message {
		return msg.With("agent_id", msg["session_id"]).With("session_id", msg["agent_id"])
	}), inTurn(func(turn []object) bool { return sessionOf(turn) == "a" })},
	{"omits the session_id", rewriting("stream",
		func(_ Manager, msg Message) Message { return msg.Without("session_id") }),
		inTurn(func(turn []object) bool { _, present := turn[1]["session_id"]; return !present })},
	{"sends the time as a number", rewriting("", func(_ Manager, msg Message) Message { return msg.With("timestamp", 7) }),
		inTurn(func(turn []object) bool { _, isString := turn[0]["timestamp"].(string); return !isString })},
	{"session_id changes in the middle of a turn", rewriting("result", func(_ Manager, msg Message) Message {
		return msg.With("session_id", newUUID())
	}), inTurn(func(turn []object) bool { return sessionOf(turn) != turn[0]["session_id"] })},
	{"does not stream", telling(func(_ Manager, msg Message, send func(Message)) {
		if msg.Type() != proto.StreamMessage {
			send(msg)
		}
	}), inTurn(func(turn []object) bool { return count(turn, "stream") == 0 })},
	{"messages out of order", func(o *Options) {
		var kept Message
		telling(func(_ Manager, msg Message, send func(Message)) {
			switch msg.Type() {
			case proto.SystemMessage:
				kept = msg
			case proto.AssistantMessage:
				send(msg)
				send(kept)
			default:
				send(msg)
			}
		})(o)
	}, inTurn(func(turn []object) bool { return turn[0]["message_type"] != "system" })},
	{"answers on the wrong session while streaming", rewriting("stream", func(m Manager, msg Message) Message {
		for _, key := range m.Sessions() {
			if key != msg["agent_id"] && m.Running(key) {
				return msg.With("agent_id", key).With("session_id", m.SessionID(key))
			}
		}
		return msg
	}), func(b *bench) bool {
		c := b.dial()
		c.startHeldTurn("held", "h")
		return c.plain("a", "[[stream n 1]]")[1]["agent_id"] == "held"
	}},
	{"drops the terminal message after an interrupt", telling(func(_ Manager, msg Message, send func(Message)) {
		if msg.Body()["subtype"] != proto.Interrupted {
			send(msg)
		}
	}), func(b *bench) bool {
		c := b.dial()
		c.startHeldTurn("a", "h")
		c.chat("a", "[[echo n]]") // its system message shows that the first turn has ended
		c.interrupt("a")
		return c.nextMessage()["message_type"] != "result"
	}},
	{"ignores interrupts", dropping(proto.InterruptType), func(b *bench) bool {
		c := b.dial()
		c.startHeldTurn("a", "h")
		c.interrupt("a")
		c.send(object{"type": "ping"})
		for msg := c.nextMessage(); msg["message_type"] != "pong"; msg = c.nextMessage() {
			if msg["message_type"] == "result" {
				return false
			}
		}
		b.brain.Release("h")
		return c.nextOutcome("a") == "success"
	}},
	{"ignores pings", dropping(proto.PingType), func(b *bench) bool {
		c := b.dial()
		c.send(object{"type": "ping"})
		c.chat("a", "x")
		return c.nextMessage()["message_type"] == "system"
	}},
	{"closes on a ping", func(o *Options) {
		o.Inbound = func(m Manager, from ConnInfo, msg Message) []Message {
			if msg["type"] == proto.PingType {
				m.Send(from.ID, errorMessage(nil, "", &Refusal{"bye", "bye"}))
				m.End(from.ID, websocket.StatusInternalError, "bye")
			}
			return []Message{msg}
		}
	}, func(b *bench) bool {
		c := b.dial()
		c.send(object{"type": "ping"})
		c.nextMessage()
		_ = c.ws.Write(context.Background(), websocket.MessageText, []byte(`{"type":"ping"}`))
		_, err := c.read()
		return websocket.CloseStatus(err) == websocket.StatusInternalError
	}},
	{"creates on interrupt", taking(func(msg Message) []Message {
		if msg["type"] == proto.InterruptType {
			return []Message{msg, msg.With("type", proto.ChatType).With("content", "[[stream n 0]]")}
		}
		return []Message{msg}
	}), func(b *bench) bool {
		c := b.dial()
		c.interrupt("a")
		c.wantRefusal("a", "not_running")
		return b.sessions() > 0
	}},
	{"creates on ping", taking(func(msg Message) []Message {
		if msg["type"] == proto.PingType {
			return []Message{{"type": proto.ChatType, "agent_id": "default", "content": "x"}, msg}
		}
		return []Message{msg}
	}), func(b *bench) bool {
		c := b.dial()
		c.send(object{"type": "ping"})
		c.nextMessage()
		return b.sessions() > 0
	}},
	{"acknowledges before it saves", func(o *Options) {
		o.Store = asynchronous{must(OpenStore(*o)), make(chan func(), 100)}
	}, func(b *bench) bool {
		c := b.dial()
		c.plain("a", "x")
		_, found, err := b.server.store.Lookup(context.Background(), "a")
		return !found && err == nil
	}},
	{"mixes the sessions up in the store", func(o *Options) { o.Store = mixed{must(OpenStore(*o))} }, forgottenWhenIdle},
}

func dropping(kind string) func(*Options) {
	return taking(func(msg Message) []Message {
		if msg["type"] == kind {
			return nil
		}
		return []Message{msg}
	})
}

func must(s Store, err error) Store {
	if err != nil {
		panic(err)
	}
	return s
}

// asynchronous acknowledges before it saves.
type asynchronous struct {
	Store
	saves chan func()
}

func (a asynchronous) Save(_ context.Context, key, sessionID string, t *Turn) error {
	turn := *t
	a.saves <- func() { _ = a.Store.Save(context.Background(), key, sessionID, &turn) }
	return nil
}

// mixed stores every turn under another session.
type mixed struct{ Store }

func (m mixed) Save(ctx context.Context, key, sessionID string, t *Turn) error {
	return m.Store.Save(ctx, key+"'", sessionID, t)
}
