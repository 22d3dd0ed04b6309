package host

import (
	"fmt"

	proto "parley/protocol/externalagent"
)

// required lists the required string members of each payload.
var required = map[string][]string{
	proto.SessionStart: {"studyId", "participantId"},
	proto.SnapshotGet:  {},
	proto.ToolCall:     {"toolName"},
	proto.AgentMessage: {"text"},
	proto.SessionEnd:   {"reason"},
}

// accept checks the envelope against section 3 and its payload against section 4.1. Members that the source does not
// name are allowed.
func accept(msg Message) *Refusal {
	if msg["v"] != proto.Version {
		return &Refusal{proto.InvalidMessage, fmt.Sprintf("v must be %q", proto.Version)}
	}
	for _, name := range []string{"id", "replyTo"} {
		if v, present := msg[name]; present && !isString(v) {
			return &Refusal{proto.InvalidMessage, name + " must be a string, or be left out"}
		}
	}
	if !isString(msg["type"]) {
		return &Refusal{proto.InvalidMessage, "type must be a string"}
	}
	if msg.Payload() == nil {
		return &Refusal{proto.InvalidMessage, "payload must be an object"}
	}
	texts, known := required[msg.Type()]
	if !known {
		return &Refusal{proto.InvalidMessage, fmt.Sprintf("a host takes no message of type %.80q", msg.Type())}
	}
	for _, name := range texts {
		if !isString(msg.Payload()[name]) {
			return &Refusal{proto.InvalidMessage, fmt.Sprintf("%s requires payload.%s, a string", msg.Type(), name)}
		}
	}
	if msg.Type() == proto.ToolCall {
		return acceptCall(msg.Payload())
	}
	return nil
}

// acceptCall accepts a call without a reason: only an example shows one (EA-035, EA-G08).
func acceptCall(payload map[string]any) *Refusal {
	if _, isObject := payload["params"].(map[string]any); !isObject {
		return &Refusal{proto.InvalidMessage, "tool.call requires payload.params, an object"}
	}
	if reason, present := payload["reason"]; present && !isString(reason) {
		return &Refusal{proto.InvalidMessage, "payload.reason of a tool.call must be a string, or be left out"}
	}
	return nil
}

func isString(v any) bool {
	_, is := v.(string)
	return is
}
