package chat

import (
	"github.com/go-json-experiment/json"

	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// typeFaults take for a chat what is none, or the reverse, and suffer from what is no message at all.
var typeFaults = map[string]fault{
	"chat-named-message":   receiving(retyped(proto.ChatType, "message")),
	"chat-named-query":     receiving(retyped(proto.ChatType, "query")),
	"type-optional":        receiving(takenAsChat(func(_ any, present bool) bool { return !present })),
	"unknown-type-is-chat": receiving(takenAsChat(func(kind any, present bool) bool { return present && !known(kind) })),
	"arrays-are-batches":   deciding(batches),
	"junk-ends-sessions":   deciding(junkEnds),
}

func known(kind any) bool {
	return kind == proto.ChatType || kind == proto.InterruptType || kind == proto.PingType
}

func takenAsChat(which func(kind any, present bool) bool) func() sessionchat.Inbound {
	return func() sessionchat.Inbound {
		return func(_ manager, _ connInfo, msg message) []message {
			if kind, present := msg["type"]; which(kind, present) {
				msg["type"] = proto.ChatType
			}
			return []message{msg}
		}
	}
}

// batches takes a list of messages for what it lists.
func batches() rules {
	return rules{malformed: func(_ manager, _ connInfo, data []byte, why *refusal) ([]message, *refusal) {
		var list []message
		if json.Unmarshal(data, &list) != nil {
			return nil, why
		}
		return list, nil
	}}
}

// junkEnds cleans up as at the end of the connection when its handler has thrown, and goes on: its sessions are gone.
func junkEnds() rules {
	lost, ids := lives{}, used{}
	return rules{
		key: lost.key,
		accept: func(m manager, c connInfo, msg message) *refusal {
			ids.note(c, msg)
			return correct.Accept(m, c, msg)
		},
		malformed: func(_ manager, c connInfo, _ []byte, why *refusal) ([]message, *refusal) {
			for _, id := range ids[c.ID] {
				lost.lose(id)
			}
			return nil, why
		},
	}
}
