package mutants

import (
	"github.com/go-json-experiment/json"

	proto "parley/protocol/sessionchat"
)

// typeFaults take for a chat what is none, or the reverse, and suffer from what is no message at all.
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

// batches takes a list of messages for what it lists.
func batches(_ manager, _ connInfo, data []byte, why *refusal) ([]message, *refusal) {
	var list []message
	if json.Unmarshal(data, &list) != nil {
		return nil, why
	}
	return list, nil
}

// junkEnds cleans up as at the end of the connection when its handler has thrown, and goes on: its sessions are gone.
func junkEnds(o *options) {
	lost, ids := losing(o), noted(o)
	o.Policy.Malformed = func(_ manager, c connInfo, _ []byte, why *refusal) ([]message, *refusal) {
		lost.lose(ids[c.ID]...)
		return nil, why
	}
}
