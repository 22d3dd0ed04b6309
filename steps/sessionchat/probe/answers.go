package probe

import (
	"maps"
	"slices"
	"strings"

	proto "parley/protocol/sessionchat"
	"parley/steps/probe"
	"parley/steps/sessionchat/binding"
	"parley/target"
)

// answers is what a session-chat server's messages reveal about its wire.
type answers struct {
	wire    binding.Binding         // the default binding with the observed differences
	found   map[any]bool            // fields of wire whose location was seen: pointers to them
	types   map[string]target.Names // seen types and their names here
	strange []string                // unrecognized type names, in order
	turn    []map[string]any        // the messages of the turn: those about its agent_id, if any carries it
}

// meanings are alternative names of message types, besides those of the default binding.
var meanings = map[string][]string{
	proto.SystemMessage: {"init", "started", "start", "sessionstarted", "sessioncreated", "sessionready",
		"turnstarted", "turnstart"},
	proto.StreamMessage: {"delta", "chunk", "token", "partial", "textdelta", "textchunk", "contentdelta",
		"contentblockdelta", "streamevent", "messagedelta"},
	proto.AssistantMessage: {"answer", "message", "reply", "response", "text", "assistantmessage", "final"},
	proto.ResultMessage: {"done", "end", "finished", "finish", "complete", "completed", "stop", "turnend", "turnended",
		"turndone", "turncomplete", "turncompleted", "streamend", "messagestop"},
	proto.ErrorMessage: {"problem", "failure", "failed", "exception", "refused"},
	proto.PongMessage:  {"heartbeat", "heartbeatack", "pingack", "alive"},
}

// meaning returns the default binding name of a message type; "" if unknown.
func meaning(name string) string {
	if _, ok := meanings[name]; ok {
		return name
	}
	for _, kind := range slices.Sorted(maps.Keys(meanings)) {
		if slices.Contains(meanings[kind], probe.Plain(name)) || probe.Plain(name) == kind {
			return kind
		}
	}
	return ""
}

// readTurn reads the messages after a chat with a unique agent_id, up to the end of its turn.
func readTurn(heard []map[string]any, agentID string) *answers {
	h := &answers{wire: binding.Default(), found: map[any]bool{}, types: map[string]target.Names{}}
	f := &h.wire.Fields.Message
	for _, msg := range heard {
		if at, ok := probe.Holding(msg, agentID, "", 3); ok {
			h.set(&f.AgentID, at)
			h.turn = append(h.turn, msg)
		}
	}
	if len(h.turn) == 0 {
		h.turn = heard
	}
	h.readType()
	if h.found[&f.Type] {
		h.readMembers(agentID)
		h.readTypes()
	}
	return h
}

// set records the location of a field.
func (h *answers) set(p *target.Pointer, at target.Pointer) {
	*p = at
	h.found[p] = true
}

// usual returns the names that servers use for a field.
func (h *answers) usual(field any) []string { return probe.Names(&h.wire.Fields.Message, field) }

// find records the location of the first text in a message that has a usual name of the field, and returns it.
func (h *answers) find(p *target.Pointer, msg map[string]any, depth int) string {
	at, said := probe.FindText(msg, "", depth, h.usual(p)...)
	if said != "" {
		h.set(p, at)
	}
	return said
}

// readType finds the member with the type of all messages.
func (h *answers) readType() {
	f := &h.wire.Fields.Message
	for _, name := range h.usual(&f.Type) {
		keys := map[string]bool{}
		for _, msg := range h.turn {
			keys[probe.TextMember(msg, name)] = true
		}
		if key := slices.Collect(maps.Keys(keys)); len(key) == 1 && key[0] != "" {
			f.Type = target.Pointers{probe.Pointer(key[0])}
			h.found[&f.Type] = true
			return
		}
	}
}

// last returns the last message of the turn; nil if there is none.
func (h *answers) last() map[string]any {
	if len(h.turn) == 0 {
		return nil
	}
	return h.turn[len(h.turn)-1]
}

// typeOf returns the type of a message on this wire; "" if it has none.
func (h *answers) typeOf(msg map[string]any) string {
	for _, p := range h.wire.Fields.Message.Type {
		if name := probe.Text(p, msg); name != "" {
			return name
		}
	}
	return ""
}

// readMembers finds the members that every message of a session has, besides its type.
func (h *answers) readMembers(agentID string) {
	f, last := &h.wire.Fields.Message, h.last()
	if at, id := probe.FindText(last, "", 3, h.usual(&f.SessionID)...); id != "" && id != agentID {
		h.set(&f.SessionID, at)
	}
	h.find(&f.Timestamp, last, 2)
	f.Body = "" // without bodies the message is its own body
	if key := probe.MemberWhere(last, probe.IsObject, h.usual(&f.Body)...); key != "" {
		f.Body = probe.Pointer(key)
	}
}

// readTypes identifies the types of a turn's messages by name, and the last one also by position.
func (h *answers) readTypes() {
	for _, msg := range h.turn {
		name := h.typeOf(msg)
		if kind := meaning(name); kind != "" {
			h.name(kind, name)
			h.readDetail(kind, msg)
		} else if !slices.Contains(h.strange, name) {
			h.strange = append(h.strange, name)
		}
	}
	last := h.last()
	i := slices.Index(h.strange, h.typeOf(last))
	if i >= 0 && h.types[proto.ResultMessage] == nil && h.once(h.strange[i]) {
		h.name(proto.ResultMessage, h.strange[i])
		h.readDetail(proto.ResultMessage, last)
		h.strange = slices.Delete(h.strange, i, i+1)
	}
}

// once reports whether only one message of a turn has a type.
func (h *answers) once(name string) bool {
	n := 0
	for _, msg := range h.turn {
		if h.typeOf(msg) == name {
			n++
		}
	}
	return n == 1
}

// name records what this wire calls a type. Each name has only one meaning: the first recorded.
func (h *answers) name(kind, name string) {
	for _, names := range h.types {
		if slices.Contains(names, name) {
			return
		}
	}
	h.types[kind] = append(h.types[kind], name)
	if len(h.types[kind]) == 1 && name == kind {
		return
	}
	if h.wire.Types == nil {
		h.wire.Types = map[string]target.Names{}
	}
	h.wire.Types[kind] = h.types[kind]
}

// readDetail finds the members specific to one type.
func (h *answers) readDetail(kind string, msg map[string]any) {
	f := &h.wire.Fields.Message
	switch kind {
	case proto.StreamMessage:
		if !h.found[&f.Text] {
			h.find(&f.Text, msg, 3)
		}
	case proto.ResultMessage:
		how := h.find(&f.Subtype, msg, 3)
		if !slices.Contains([]string{"", proto.Success, proto.Interrupted, proto.Failed}, how) {
			h.wire.Outcomes = map[string]target.Names{proto.Success: {how}}
		}
	}
}

// aside reads a reply to something other than a chat, and returns its type. An unrecognized type name gets this kind.
// The reply may keep its type elsewhere than a session's messages do.
func (h *answers) aside(msg map[string]any, kind string) string {
	f := &h.wire.Fields.Message
	name, elsewhere := h.typeOf(msg), ""
	for _, other := range h.usual(&f.Type) {
		if elsewhere == "" && name == "" {
			elsewhere = probe.TextMember(msg, other)
		}
	}
	if elsewhere != "" {
		name = probe.Text(probe.Pointer(elsewhere), msg)
	}
	if known := meaning(name); name == "" || known != "" && known != kind || slices.Contains(h.strange, name) {
		return name
	}
	h.name(kind, name)
	if !slices.Contains(h.types[kind], name) {
		return name
	}
	if elsewhere != "" {
		f.Type = append(f.Type, probe.Pointer(elsewhere))
	}
	if kind == proto.ErrorMessage {
		h.find(&f.Code, msg, 3)
	}
	return name
}

// ErrorText returns what an error says in words, else the whole error in short.
func ErrorText(msg map[string]any) string {
	if _, said := probe.FindText(msg, "", 3, "text", "error", "detail", "message", "reason", "code"); said != "" {
		return probe.Shorten(said)
	}
	return probe.Brief(msg)
}

// words lists the types in one line, with their names here.
func (h *answers) words() string {
	var parts []string
	for _, kind := range messageTypes {
		switch names := h.types[kind]; {
		case len(names) == 1 && names[0] == kind:
			parts = append(parts, kind)
		case len(names) > 0:
			parts = append(parts, kind+" ("+strings.Join(names, ", ")+")")
		}
	}
	return strings.Join(parts, ", ")
}

// messageTypes lists the types of messages in the order in which a client meets them.
var messageTypes = []string{proto.SystemMessage, proto.StreamMessage, proto.AssistantMessage, proto.ResultMessage,
	proto.PongMessage, proto.ErrorMessage}
