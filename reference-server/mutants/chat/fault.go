package chat

import (
	"strconv"
	"strings"

	"parley/model"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// Short names for what every fault handles.
type (
	manager  = sessionchat.Manager
	connInfo = sessionchat.ConnInfo
	message  = sessionchat.Message
	refusal  = sessionchat.Refusal
	options  = sessionchat.Options
	store    = sessionchat.Store
	record   = sessionchat.Record
	turn     = sessionchat.Turn
	turnView = sessionchat.TurnView
	place    = sessionchat.Place
	sender   = func(connID string, msg message)
	object   = map[string]any
)

// correct is what a fault falls back on.
var correct sessionchat.Correct

// fault puts itself into the options of a server, which have a store and a backend. What it remembers it makes anew at each
// call: it is that of one server. Policy, Inbound and Outbound need no lock of their own, as the server has one.
type fault func(o *options)

// receiving is a fault in how messages are taken; make is called once per server.
func receiving(make func() sessionchat.Inbound) fault {
	return func(o *options) { o.Inbound = make() }
}

// misreading changes client messages of a type before they are judged.
func misreading(kind string, f func(msg message)) fault {
	return receiving(func() sessionchat.Inbound {
		return func(_ manager, _ connInfo, msg message) []message {
			if msg["type"] == kind {
				f(msg)
			}
			return []message{msg}
		}
	})
}

// telling is a fault in how messages are told; make is called once per server.
func telling(make func() sessionchat.Outbound) fault {
	return func(o *options) { o.Outbound = make() }
}

// rewriting changes the server messages that are meant.
func rewriting(meant func(msg message) bool, f func(msg message) message) fault {
	return telling(func() sessionchat.Outbound {
		return func(_ manager, to connInfo, msg message, send sender) {
			if meant(msg) {
				msg = f(msg)
			}
			send(to.ID, msg)
		}
	})
}

// deciding is a fault in the decisions; make is called once per server.
func deciding(make func() rules) fault {
	return func(o *options) { o.Policy = make() }
}

// rules decide correctly, but for the functions that are given.
type rules struct {
	sessionchat.Correct
	onConnect    func(m manager, c connInfo) []message
	onDisconnect func(m manager, c connInfo) bool
	onIdle       func(key string)
	malformed    func(m manager, c connInfo, data []byte, why *refusal) ([]message, *refusal)
	accept       func(m manager, c connInfo, msg message) *refusal
	key          func(c connInfo, agentID string) string
	targets      func(m manager, c connInfo, key string) []string
	known        func(key string, stored record, found bool) (record, bool)
	sessionID    func(v turnView) string
	persist      func(v turnView, at sessionchat.Moment) sessionchat.Saving
	content      func(key, content string) string
	model        func(key string, options object, fallback string) string
	history      func(v turnView, messages []model.Message) []model.Message
}

var _ sessionchat.Policy = rules{}

func (r rules) OnConnect(m manager, c connInfo) []message {
	if r.onConnect == nil {
		return r.Correct.OnConnect(m, c)
	}
	return r.onConnect(m, c)
}

func (r rules) OnDisconnect(m manager, c connInfo) bool {
	if r.onDisconnect == nil {
		return r.Correct.OnDisconnect(m, c)
	}
	return r.onDisconnect(m, c)
}

func (r rules) OnIdle(m manager, key string) {
	if r.onIdle == nil {
		r.Correct.OnIdle(m, key)
		return
	}
	r.onIdle(key)
}

func (r rules) Malformed(m manager, c connInfo, data []byte, why *refusal) ([]message, *refusal) {
	if r.malformed == nil {
		return r.Correct.Malformed(m, c, data, why)
	}
	return r.malformed(m, c, data, why)
}

func (r rules) Accept(m manager, c connInfo, msg message) *refusal {
	if r.accept == nil {
		return r.Correct.Accept(m, c, msg)
	}
	return r.accept(m, c, msg)
}

func (r rules) Key(c connInfo, agentID string, in place) string {
	if r.key == nil {
		return r.Correct.Key(c, agentID, in)
	}
	return r.key(c, agentID)
}

func (r rules) InterruptTargets(m manager, c connInfo, key string) []string {
	if r.targets == nil {
		return r.Correct.InterruptTargets(m, c, key)
	}
	return r.targets(m, c, key)
}

func (r rules) Known(key string, stored record, found bool) (record, bool) {
	if r.known == nil {
		return r.Correct.Known(key, stored, found)
	}
	return r.known(key, stored, found)
}

func (r rules) SessionID(v turnView) string {
	if r.sessionID == nil {
		return r.Correct.SessionID(v)
	}
	return r.sessionID(v)
}

func (r rules) Persist(v turnView, at sessionchat.Moment) sessionchat.Saving {
	if r.persist == nil {
		return r.Correct.Persist(v, at)
	}
	return r.persist(v, at)
}

func (r rules) Content(key, content string) string {
	if r.content == nil {
		return r.Correct.Content(key, content)
	}
	return r.content(key, content)
}

func (r rules) Model(key string, options object, fallback string) string {
	if r.model == nil {
		return r.Correct.Model(key, options, fallback)
	}
	return r.model(key, options, fallback)
}

func (r rules) History(v turnView, messages []model.Message) []model.Message {
	if r.history == nil {
		return r.Correct.History(v, messages)
	}
	return r.history(v, messages)
}

// asked is the agent_id of a chat that a correct server takes; "" for any other message.
func asked(msg message) string {
	agentID, _ := msg["agent_id"].(string)
	content, _ := msg["content"].(string)
	if msg["type"] != proto.ChatType || content == "" {
		return ""
	}
	return agentID
}

// ofTurn tells whether a server message is one of a turn.
func ofTurn(msg message) bool {
	switch msg.Type() {
	case proto.SystemMessage, proto.StreamMessage, proto.AssistantMessage, proto.ResultMessage:
		return true
	}
	return false
}

// ofModel tells whether a server message has words of the model. The others, which the server makes itself, end the turn
// for a client that waits, so a fault that spoils these alone is found at once.
func ofModel(msg message) bool {
	return msg.Type() == proto.StreamMessage || msg.Type() == proto.AssistantMessage
}

// typed tells whether a server message is of a type.
func typed(kind string) func(msg message) bool {
	return func(msg message) bool { return msg.Type() == kind }
}

// ended tells whether a server message is the result of a turn that has ended in one way; in any way, without it.
func ended(how ...string) func(msg message) bool {
	return func(msg message) bool {
		return msg.Type() == proto.ResultMessage && (len(how) == 0 || msg.Body()["subtype"] == how[0])
	}
}

// agentOf is the agent_id of a server message; "" if it has none.
func agentOf(msg message) string {
	agentID, _ := msg["agent_id"].(string)
	return agentID
}

// announcement is a message that tells of a session outside of any turn.
func announcement(agentID, sessionID string) message {
	return message{"message_type": proto.SystemMessage, "agent_id": agentID, "session_id": sessionID,
		"message": object{"subtype": "init"}, "timestamp": "2026-01-01T00:00:00.000Z"}
}

// lives counts how often the session of each agent_id has been lost: from then on its key is another, and so is what the
// server and its store know of it.
type lives map[string]int

const nextLife = "\x00life "

// key is a decision on rules.key.
func (l lives) key(_ connInfo, agentID string) string {
	if n := l[agentID]; n > 0 {
		return agentID + nextLife + strconv.Itoa(n)
	}
	return agentID
}

// lose ends the session of an agent_id, or of a key.
func (l lives) lose(key string) {
	agentID, _, _ := strings.Cut(key, nextLife)
	l[agentID]++
}

// used keeps which agent_ids each connection has asked, oldest first.
type used map[string][]string

// note is to be told of every message that comes in.
func (u used) note(from connInfo, msg message) {
	if id := asked(msg); id != "" {
		u[from.ID] = append(u[from.ID], id)
	}
}

// last is the agent_id that a connection asked last; "" if none.
func (u used) last(connID string) string {
	if ids := u[connID]; len(ids) > 0 {
		return ids[len(ids)-1]
	}
	return ""
}
