// Package mutants is the catalogue of faulty session-chat servers: each is the bundled one with one named fault that
// a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, with what they do to messages; the other faults are in the other files, by subject. A
// fault replaces a decision of sessionchat.Policy, rewrites messages on their way in or out, or wraps the store or the
// model; the correct server contains none. A leak is sent before the answer, so that it is on record when the answer
// arrives.
//
// A mutant keeps its state in memory and loses it with its process, except for what it puts into the store.
package mutants

import (
	"cmp"
	_ "embed"
	"errors"
	"strconv"
	"strings"

	"parley/internal/faultrule"
	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/catalogue"
	"parley/reference-server/sessionchat"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

var set = catalogue.New(catalogueYAML,
	keyFaults, echoFaults, contextFaults, idFaults, storageFaults, connectionFaults, switchingFaults, interruptFaults,
	busyFaults, requiredFaults, typeFaults, optionFaults, contentFaults, heartbeatFaults, orderFaults, fileFaults,
	limitFaults, queryFaults, cutFaults).Messages(passing)

// All returns the catalogue, in its order.
func All() []catalogue.Mutant { return set.All() }

// Handler returns the mutant with that id. It replaces Policy, Inbound and Outbound of the options. It fails as
// sessionchat.New does, and for an unknown id.
func Handler(id string, o sessionchat.Options) (*sessionchat.Server, error) {
	o.Policy, o.Inbound, o.Outbound = sessionchat.Policy{}, nil, nil
	if o.Store == nil {
		var err error
		if o.Store, err = sessionchat.OpenStore(o); err != nil {
			return nil, err
		}
	}
	if o.Backend == nil {
		o.Backend = llm.New()
	}
	put := set.Put
	if loadFaults[id] != nil {
		put = underLoad.Put
	}
	if err := put(id, &o); err != nil {
		return nil, errors.Join(err, o.Store.Close())
	}
	return sessionchat.New(o)
}

// passing puts in what a row does to messages.
func passing(o *options, f catalogue.Faults) {
	x := catalogue.Inside(f, catalogue.Form[message, sessionchat.Number]("/message_type", "/type"))
	o.Inbound = func(_ manager, from connInfo, msg message) []message { return x.Pass(from.ID, faultrule.Client, msg) }
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		for _, msg := range x.Pass(to.ID, faultrule.Server, msg) {
			send(to.ID, msg)
		}
	}
}

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
	saved    = sessionchat.Saving
	rules    = sessionchat.Policy
	sender   = func(connID string, msg message)
	object   = map[string]any
)

// correct is the policy that faults fall back on.
var correct = sessionchat.Correct

// fault sets itself up in the options of a server, which have a store and a backend. Each call makes new state, so
// that it belongs to one server. Policy, Inbound and Outbound need no lock, because the server holds one.
type fault func(o *options)

// deciding is a stateless fault in the decisions.
func deciding(r rules) fault { return func(o *options) { o.Policy = r } }

// accepting judges messages; it may change its copy of one before the correct server judges it.
type accepting = func(m manager, c connInfo, msg message) *refusal

// refusing refuses some messages that a correct server may accept.
func refusing(code, text string, which func(m manager, c connInfo, msg message) bool) accepting {
	return func(m manager, c connInfo, msg message) *refusal {
		if which(m, c, msg) {
			return &refusal{Code: code, Text: text}
		}
		return correct.Accept(m, c, msg)
	}
}

// inbound returns the messages to handle instead of a client message.
type inbound = sessionchat.Inbound

// receiving is a stateless fault in incoming messages.
func receiving(f inbound) fault { return func(o *options) { o.Inbound = f } }

// taking applies f to the client messages of a type.
func taking(kind string, f inbound) inbound {
	return func(m manager, from connInfo, msg message) []message {
		if msg["type"] == kind {
			return f(m, from, msg)
		}
		return []message{msg}
	}
}

// noting shows f the client messages before they are judged; f may change them.
func noting(f func(m manager, from connInfo, msg message)) inbound {
	return func(m manager, from connInfo, msg message) []message {
		f(m, from, msg)
		return []message{msg}
	}
}

// misreading changes client messages of a type before they are judged.
func misreading(kind string, f func(msg message)) fault {
	return receiving(taking(kind, noting(func(_ manager, _ connInfo, msg message) { f(msg) })))
}

// outbound handles a message on its way to a client.
type outbound = sessionchat.Outbound

// telling is a stateless fault in outgoing messages.
func telling(f outbound) fault { return func(o *options) { o.Outbound = f } }

// meant selects server messages.
type meant func(msg message) bool

// rewriting changes some server messages.
func rewriting(some meant, f func(msg message) message) fault {
	return telling(func(_ manager, to connInfo, msg message, send sender) {
		if some(msg) {
			msg = f(msg)
		}
		send(to.ID, msg)
	})
}

// hearing shows f some server messages before they are sent.
func hearing(some meant, f func(msg message)) outbound {
	return func(_ manager, to connInfo, msg message, send sender) {
		if some(msg) {
			f(msg)
		}
		send(to.ID, msg)
	}
}

// asked returns the agent_id of a chat that a correct server accepts; "" for any other message.
func asked(msg message) string {
	agentID, _ := msg["agent_id"].(string)
	content, _ := msg["content"].(string)
	if msg["type"] != proto.ChatType || content == "" {
		return ""
	}
	return agentID
}

// ofTurn reports whether a server message belongs to a turn.
func ofTurn(msg message) bool {
	switch msg.Type() {
	case proto.SystemMessage, proto.StreamMessage, proto.AssistantMessage, proto.ResultMessage:
		return true
	}
	return false
}

// ofModel reports whether a server message carries the model's words. The others, made by the server itself, end the
// turn for a waiting client, so faults only in these are found at once.
func ofModel(msg message) bool {
	return msg.Type() == proto.StreamMessage || msg.Type() == proto.AssistantMessage
}

// typed selects server messages of a type.
func typed(kind string) meant {
	return func(msg message) bool { return msg.Type() == kind }
}

// ended selects the results of turns with one of the outcomes; without arguments, all results.
func ended(how ...string) meant {
	return func(msg message) bool {
		return msg.Type() == proto.ResultMessage && (len(how) == 0 || msg.Body()["subtype"] == how[0])
	}
}

// agentOf returns the agent_id of a message; "" if it has none.
func agentOf(msg message) string {
	agentID, _ := msg["agent_id"].(string)
	return agentID
}

// announcement returns a message about a session outside of any turn.
func announcement(agentID, sessionID string) message {
	return message{"message_type": proto.SystemMessage, "agent_id": agentID, "session_id": sessionID,
		"message": object{"subtype": "init"}, "timestamp": "2026-01-01T00:00:00.000Z"}
}

// lives counts how often the session of each agent_id has been lost. Each loss changes its key, so the server and its
// store no longer know it.
type lives map[string]int

const nextLife = "\x00life "

// losing makes a server that can lose sessions.
func losing(o *options) lives {
	l := lives{}
	o.Policy.Key = func(_ connInfo, agentID string, _ sessionchat.Place) string {
		if n := l[agentID]; n > 0 {
			return agentID + nextLife + strconv.Itoa(n)
		}
		return agentID
	}
	return l
}

// lose ends the sessions of agent_ids or keys.
func (l lives) lose(keys ...string) {
	for _, key := range keys {
		agentID, _, _ := strings.Cut(key, nextLife)
		l[agentID]++
	}
}

// used lists the agent_ids of each connection's chats, oldest first.
type used map[string][]string

// noted makes a server that records incoming chats.
func noted(o *options) used {
	u := used{}
	o.Inbound = noting(func(_ manager, from connInfo, msg message) { u.note(from, msg) })
	return u
}

func (u used) note(from connInfo, msg message) {
	if id := asked(msg); id != "" {
		u[from.ID] = append(u[from.ID], id)
	}
}

// last returns the agent_id of a connection's last chat; "" if none.
func (u used) last(connID string) string {
	if ids := u[connID]; len(ids) > 0 {
		return ids[len(ids)-1]
	}
	return ""
}

// left returns the agent_id of the connection's last chat if the message is a chat of another one; else "".
func (u used) left(from connInfo, msg message) string {
	if id, last := asked(msg), u.last(from.ID); id != "" && id != last {
		return last
	}
	return ""
}

// optionFaults handle the options of a chat incorrectly.
var optionFaults = map[string]fault{
	"options-refused":       refusingOptions(func(object) bool { return true }),
	"options-refused-empty": refusingOptions(func(o object) bool { return len(o) == 0 }),
	"model-ignored":         choosing(false, func(string, string) (string, string) { return "", "" }),
	"model-of-first-option": choosing(false, byFirst),
	"model-of-last-option":  choosing(false, byLast),
	"model-one-chat-late":   choosing(true, oneLate),
}

func refusingOptions(which func(options object) bool) fault {
	return deciding(rules{Accept: refusing(proto.InvalidMessage, "options: not allowed here",
		func(_ manager, _ connInfo, msg message) bool {
			o, isObject := msg["options"].(object)
			return isObject && which(o)
		})})
}

// choosing makes a server that remembers model names. choose gets the name in the chat's options ("" if none) and the
// remembered one; it returns the model for this chat ("" for the default) and the name to remember.
func choosing(perSession bool, choose func(named, kept string) (now, keep string)) fault {
	return func(o *options) {
		kept := map[string]string{}
		o.Policy.Model = func(key string, options object, fallback string) string {
			if !perSession {
				key = ""
			}
			var now string
			now, kept[key] = choose(correct.Model(key, options, ""), kept[key])
			return cmp.Or(now, fallback)
		}
	}
}

// byFirst configures the server by the first options that it receives.
func byFirst(named, kept string) (string, string) { return cmp.Or(kept, named), cmp.Or(kept, named) }

// byLast configures the server by every options that it receives.
func byLast(named, kept string) (string, string) { return cmp.Or(named, kept), cmp.Or(named, kept) }

// oneLate applies the options only to the next chat.
func oneLate(named, kept string) (string, string) { return kept, named }
