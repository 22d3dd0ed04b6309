package sessionchat

import (
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
)

var decisions = []fault{
	{"shares context between agent_ids", deciding(func() Policy {
		var all []llm.Message
		return Policy{History: func(_ TurnView, m []llm.Message) []llm.Message {
			all = append(all, m[len(m)-1])
			return all
		}}
	}), recalls("(0)", "a", "b")},
	{"normalises agent_id", deciding(func() Policy {
		return Policy{Key: func(_ ConnInfo, id string, _ Place) string { return strings.TrimSpace(strings.ToLower(id)) }}
	}), recalls("(0)", "A ", "a")},
	{"new session_id on every chat", deciding(func() Policy {
		return Policy{SessionID: func(TurnView) string { return newUUID() }}
	}), func(b *bench) bool {
		c := b.dial()
		return sessionOf(c.plain("a", "x")) != sessionOf(c.plain("a", "y"))
	}},
	{"forgets to persist", persisting(func(Moment) Saving { return Saving{} }), forgottenWhenIdle},
	{"persists the id but not the history", persisting(func(Moment) Saving { return Saving{Session: true} }),
		forgottenWhenIdle},
	{"evicts and forgets on idle", deciding(func() Policy {
		gone := map[string]string{}
		return Policy{
			OnIdle: func(_ Manager, key string) { gone[key] += "'" },
			Key:    func(_ ConnInfo, id string, _ Place) string { return id + gone[id] },
		}
	}), forgottenWhenIdle},
	{"never resumes", deciding(func() Policy {
		return Policy{Known: func(string, Record, bool) (Record, bool) { return Record{}, false }}
	}), forgottenWhenIdle},
	{"resumes the wrong one", deciding(func() Policy {
		return Policy{Key: func(_ ConnInfo, id string, in Place) string {
			if in == InStore {
				return "the last one"
			}
			return id
		}}
	}), recalls("(0)", "a", "b")},
	{"forgets on disconnect", deciding(func() Policy {
		gone := ""
		return Policy{
			OnDisconnect: func(Manager, ConnInfo) bool { gone += "'"; return true },
			Key:          func(_ ConnInfo, id string, _ Place) string { return id + gone },
		}
	}), func(b *bench) bool {
		d, session := b.afterDisconnect()
		return sessionOf(d.plain("a", "x")) != session
	}},
	{"interrupts all sessions", deciding(func() Policy {
		return Policy{InterruptTargets: func(m Manager, _ ConnInfo, _ string) []string { return m.Sessions() }}
	}), func(b *bench) bool {
		c := b.dial()
		c.startHeldTurn("a", "h")
		c.interrupt("b")
		return c.nextMessage()["message_type"] == "result"
	}},
	{"serialises sessions", deciding(func() Policy {
		return Policy{Queue: func(Manager, ConnInfo, string) string { return "" }}
	}), func(b *bench) bool {
		c := b.dial()
		c.startHeldTurn("a", "h")
		c.chat("b", "[[hold h]]")
		c.interrupt("b")
		return c.nextMessage()["message"].(object)["code"] == "not_running"
	}},
	{"cuts content", deciding(func() Policy {
		return Policy{Content: func(_, content string) string { return content[:min(len(content), 12)] }}
	}), func(b *bench) bool { return said(b.dial().plain("a", "[[echo n]] and more")) != "[[echo n]] and more" }},
	{"ignores options", deciding(func() Policy {
		return Policy{Model: func(_ string, _ map[string]any, fallback string) string { return fallback }}
	}), func(b *bench) bool {
		c := b.dial()
		c.send(`{"type":"chat","agent_id":"a","content":"x","options":{"model":"m"}}`)
		return c.wantType("system")["model"] != "m"
	}},
	{"refuses options", deciding(func() Policy {
		return Policy{Accept: func(m Manager, c ConnInfo, msg Message) *Refusal {
			if _, present := msg["options"]; present {
				return &Refusal{proto.InvalidMessage, "no options"}
			}
			return Correct.Accept(m, c, msg)
		}}
	}), func(b *bench) bool {
		c := b.dial()
		c.send(`{"type":"chat","agent_id":"a","content":"x","options":{}}`)
		return c.nextMessage()["message_type"] == "error"
	}},
	{"creates on connect", deciding(func() Policy {
		return Policy{OnConnect: func(Manager, ConnInfo) []Message {
			return []Message{{"type": "chat", "agent_id": "default", "content": "hello"}}
		}}
	}), func(b *bench) bool {
		c := b.dial()
		c.send(object{"type": "ping"})
		c.nextMessage()
		return b.sessions() > 0
	}},
	{"takes a chat without content for an empty one", deciding(func() Policy {
		return Policy{Accept: func(Manager, ConnInfo, Message) *Refusal { return nil }}
	}), func(b *bench) bool {
		c := b.dial()
		c.send(`{"type":"chat","agent_id":"a"}`)
		return c.nextMessage()["message_type"] == "system"
	}},
	{"takes an array for a batch", deciding(func() Policy {
		return Policy{Malformed: func(_ Manager, _ ConnInfo, data []byte, why *Refusal) ([]Message, *Refusal) {
			var list []Message
			if json.Unmarshal(data, &list) != nil {
				return nil, why
			}
			return list, nil
		}}
	}), func(b *bench) bool {
		c := b.dial()
		c.send(`[{"type":"ping"},{"type":"ping"}]`)
		return c.nextMessage()["message_type"] == "pong"
	}},
	{"one session per connection", deciding(func() Policy {
		first := map[string]string{}
		return Policy{Accept: func(m Manager, c ConnInfo, msg Message) *Refusal {
			if r := Correct.Accept(m, c, msg); r != nil || msg["type"] != "chat" {
				return r
			}
			id := msg["agent_id"].(string)
			if known, seen := first[c.ID]; seen && known != id {
				return &Refusal{proto.InvalidMessage, "connect again for another session"}
			}
			first[c.ID] = id
			return nil
		}}
	}), func(b *bench) bool {
		c := b.dial()
		c.plain("a", "x")
		return refusedFirst(c.plain("b", "x"))
	}},
	{"needs a switch message first", func(o *Options) {
		known := map[any]bool{}
		o.Inbound = func(_ Manager, _ ConnInfo, msg Message) []Message {
			if msg["type"] == "switch" {
				known[msg["agent_id"]] = true
				return nil
			}
			return []Message{msg}
		}
		o.Policy = Policy{Accept: func(m Manager, c ConnInfo, msg Message) *Refusal {
			if msg["type"] == "chat" && !known[msg["agent_id"]] {
				return &Refusal{proto.InvalidMessage, "switch to it first"}
			}
			return Correct.Accept(m, c, msg)
		}}
	}, func(b *bench) bool { return refusedFirst(b.dial().plain("a", "x")) }},
	{"stuck busy after a disconnect", deciding(func() Policy {
		stuck := map[string]bool{}
		return Policy{
			OnDisconnect: func(m Manager, _ ConnInfo) bool {
				for _, key := range m.Sessions() {
					stuck[key] = stuck[key] || m.Running(key)
				}
				return true
			},
			Accept: func(m Manager, c ConnInfo, msg Message) *Refusal {
				if id, _ := msg["agent_id"].(string); stuck[id] {
					return &Refusal{proto.Overloaded, "busy"}
				}
				return Correct.Accept(m, c, msg)
			},
		}
	}), func(b *bench) bool {
		d, _ := b.afterDisconnect()
		return refusedFirst(d.plain("a", "x"))
	}},
	{"session unusable after an interrupt", deciding(func() Policy {
		dead := map[string]bool{}
		return Policy{
			InterruptTargets: func(_ Manager, _ ConnInfo, key string) []string { dead[key] = true; return []string{key} },
			Accept: func(m Manager, c ConnInfo, msg Message) *Refusal {
				if id, _ := msg["agent_id"].(string); dead[id] {
					return &Refusal{proto.InvalidMessage, "the session has ended"}
				}
				return Correct.Accept(m, c, msg)
			},
		}
	}), func(b *bench) bool {
		c := b.dial()
		c.startHeldTurn("a", "h")
		c.interrupt("a")
		c.nextOutcome("a")
		return refusedFirst(c.plain("a", "x"))
	}},
}

func persisting(what func(at Moment) Saving) func(*Options) {
	return deciding(func() Policy { return Policy{Persist: func(_ TurnView, at Moment) Saving { return what(at) }} })
}

// forgottenWhenIdle makes sessions leave memory, as a server's limit does.
func forgottenWhenIdle(b *bench) bool {
	c := b.dial()
	c.plain("a", "[[echo a1]]")
	b.server.mu.Lock()
	b.server.m.evictOldest()
	b.server.mu.Unlock()
	return said(c.plain("a", "[[recall r]]")) != "a1 (1)"
}
