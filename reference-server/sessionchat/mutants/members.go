package mutants

import (
	"time"

	proto "parley/protocol/sessionchat"
)

// memberFaults omit members of messages, or change their type: everywhere, or in messages of one kind.
var memberFaults = map[string]fault{
	"no-agent-id":             rewriting(ofTurn, lacking("agent_id")),
	"no-agent-id-in-stream":   rewriting(typed(proto.StreamMessage), lacking("agent_id")),
	"no-agent-id-in-system":   rewriting(typed(proto.SystemMessage), lacking("agent_id")),
	"no-agent-id-in-result":   rewriting(ended(), lacking("agent_id")),
	"no-agent-id-if-stopped":  rewriting(ended(proto.Interrupted), lacking("agent_id")),
	"no-ids-in-error-of-turn": noIDsInErrorOfTurn,
	"no-agent-id-if-failed":   rewriting(ended(proto.Failed), lacking("agent_id")),
	"agent-id-null-in-stream": rewriting(typed(proto.StreamMessage), being("agent_id", nil)),
	"agent-id-list-in-system": rewriting(typed(proto.SystemMessage),
		made("agent_id", func(msg message) any { return []any{agentOf(msg)} })),
	"no-session-id":            rewriting(ofTurn, lacking("session_id")),
	"no-session-id-in-stream":  rewriting(typed(proto.StreamMessage), lacking("session_id")),
	"no-session-id-in-result":  rewriting(ended(), lacking("session_id")),
	"no-session-id-if-stopped": rewriting(ended(proto.Interrupted), lacking("session_id")),
	"no-session-id-if-failed":  rewriting(ended(proto.Failed), lacking("session_id")),
	"session-id-is-a-number":   rewriting(ofTurn, being("session_id", 7)),
	"session-id-is-an-object": rewriting(ofTurn,
		made("session_id", func(msg message) any { return object{"id": msg["session_id"]} })),
	"type-for-message-type":   rewriting(ofTurn, renamed("message_type", "type")),
	"type-in-stream":          rewriting(typed(proto.StreamMessage), renamed("message_type", "type")),
	"type-in-assistant":       rewriting(typed(proto.AssistantMessage), renamed("message_type", "type")),
	"type-if-stopped":         rewriting(ended(proto.Interrupted), renamed("message_type", "type")),
	"type-is-a-number":        rewriting(typed(proto.StreamMessage), being("message_type", 2)),
	"type-is-empty-in-system": rewriting(typed(proto.SystemMessage), being("message_type", "")),
	"no-message":              rewriting(ofTurn, renamed("message", "data")),
	"no-message-in-system":    rewriting(typed(proto.SystemMessage), lacking("message")),
	"no-message-if-stopped":   rewriting(ended(proto.Interrupted), lacking("message")),
	"no-message-if-failed":    rewriting(ended(proto.Failed), lacking("message")),
	"message-is-text": rewriting(typed(proto.StreamMessage),
		made("message", func(msg message) any { return msg.Body()["text"] })),
	"message-is-a-list": rewriting(typed(proto.AssistantMessage),
		made("message", func(msg message) any { return []any{msg.Body()} })),
	"message-is-null":         rewriting(ended(), being("message", nil)),
	"message-is-json-text":    rewriting(ofTurn, made("message", func(msg message) any { return text(msg["message"]) })),
	"no-timestamp":            rewriting(ofTurn, lacking("timestamp")),
	"no-timestamp-in-stream":  rewriting(typed(proto.StreamMessage), lacking("timestamp")),
	"no-timestamp-in-result":  rewriting(ended(), lacking("timestamp")),
	"no-timestamp-if-stopped": rewriting(ended(proto.Interrupted), lacking("timestamp")),
	"no-timestamp-if-failed":  rewriting(ended(proto.Failed), lacking("timestamp")),
	"timestamp-is-a-number": rewriting(ofTurn,
		made("timestamp", func(msg message) any { return time.Now().UnixMilli() })),
	"timestamp-is-null":   rewriting(typed(proto.StreamMessage), being("timestamp", nil)),
	"timestamp-is-a-list": rewriting(typed(proto.ResultMessage), being("timestamp", []any{2026, 1, 1, 12, 0})),
}

// noIDsInErrorOfTurn also reports the failure of a turn by an error that says nothing of its session.
func noIDsInErrorOfTurn(o *options) {
	failed := ended(proto.Failed)
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		if failed(msg) {
			send(to.ID, msg.With("message_type", proto.ErrorMessage).Without("agent_id").Without("session_id"))
		}
		send(to.ID, msg)
	}
}

func lacking(member string) func(msg message) message {
	return func(msg message) message { return msg.Without(member) }
}

func made(member string, v func(msg message) any) func(msg message) message {
	return func(msg message) message { return msg.With(member, v(msg)) }
}

func being(member string, v any) func(msg message) message {
	return func(msg message) message { return msg.With(member, v) }
}

func renamed(member, to string) func(msg message) message {
	return func(msg message) message { return msg.With(to, msg[member]).Without(member) }
}
