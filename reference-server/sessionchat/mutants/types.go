package mutants

import (
	"github.com/go-json-experiment/json"

	proto "parley/protocol/sessionchat"
)

// typeFaults mistake other messages for chats or the reverse, or fail on texts that are not messages.
var typeFaults = map[string]fault{
	"chat-named-message":   retyped(proto.ChatType, "message"),
	"chat-named-query":     retyped(proto.ChatType, "query"),
	"type-optional":        takenAsChat(func(_ any, present bool) bool { return !present }),
	"unknown-type-is-chat": takenAsChat(func(kind any, present bool) bool { return present && !known(kind) }),
	"arrays-are-batches":   deciding(rules{Malformed: batches}),
	"junk-ends-sessions":   junkEnds,
}

func known(kind any) bool {
	return kind == proto.ChatType || kind == proto.InterruptType || kind == proto.PingType
}

func takenAsChat(which func(kind any, present bool) bool) fault {
	return receiving(noting(func(_ manager, _ connInfo, msg message) {
		if kind, present := msg["type"]; which(kind, present) {
			msg["type"] = proto.ChatType
		}
	}))
}

// batches treats a list of messages as its elements.
func batches(_ manager, _ connInfo, data []byte, why *refusal) ([]message, *refusal) {
	var list []message
	if json.Unmarshal(data, &list) != nil {
		return nil, why
	}
	return list, nil
}

// junkEnds cleans up as if the connection had ended when its handler throws, and continues without its sessions.
func junkEnds(o *options) {
	lost, ids := losing(o), noted(o)
	o.Policy.Malformed = func(_ manager, c connInfo, _ []byte, why *refusal) ([]message, *refusal) {
		lost.lose(ids[c.ID]...)
		return nil, why
	}
}
