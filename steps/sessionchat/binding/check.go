package binding

import (
	"cmp"

	"parley/protocol/sessionchat"
	"parley/target"
)

// Names of the default binding that a profile may remap.
var (
	typeNames = []string{
		sessionchat.SystemMessage, sessionchat.StreamMessage, sessionchat.AssistantMessage, sessionchat.ResultMessage,
		sessionchat.ErrorMessage, sessionchat.PongMessage,
	}
	outcomeNames = []string{sessionchat.Success, sessionchat.Interrupted, sessionchat.Failed}
	messageNames = []string{sessionchat.ChatType, sessionchat.InterruptType, sessionchat.PingType}
)

// renames are these names, by the path of the mapping.
var renames = map[string][]string{
	"session-chat.types":    typeNames,
	"session-chat.outcomes": outcomeNames,
	"session-chat.messages": messageNames,
}

// check returns the first error in the wire.
func check(c *target.Checker) error {
	s := Of(c.Profile)
	return cmp.Or(
		c.Socket("session-chat.ws", s.WS),
		c.Places("session-chat.fields.message", "message", s.Fields.Message),
		c.Places("session-chat.fields.request", "request", s.Fields.Request),
		c.Names("session-chat.types", "type", s.Types, renames["session-chat.types"]),
		c.Names("session-chat.outcomes", "outcome", s.Outcomes, renames["session-chat.outcomes"]),
		c.Names("session-chat.messages", "message", target.Single(s.Messages), renames["session-chat.messages"]),
	)
}
