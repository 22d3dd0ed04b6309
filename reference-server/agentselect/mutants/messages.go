package mutants

import (
	"slices"

	proto "parley/protocol/agentselect"
)

// messageFaults misread client messages.
var messageFaults = map[string]fault{
	"switch-in-camel-case":   retyped("switchAgent"),
	"switch-named-set-agent": retyped("set_agent"),
	"agent-id-in-snake-case": misreading(proto.SwitchAgentType, func(msg message) { msg["agentId"] = msg["agent_id"] }),
	"agent-id-under-agent":   misreading(proto.SwitchAgentType, func(msg message) { msg["agentId"] = msg["agent"] }),
	"switch-wants-data":      misreading(proto.SwitchAgentType, inData),
	"agent-id-in-any-case":   misreading(proto.SwitchAgentType, anyCase),
	"strict-about-fields":    dropping(proto.SwitchAgentType, hasUnknownField),
	"session-id-in-snake-case": misreading(
		proto.SwitchAgentType, func(msg message) { rename(msg, "sessionId", "session_id") }),
	"deaf-to-old-clients":     deafToOldClients,
	"old-chat-needs-agent-id": dropping(proto.ChatType, namesNoAgent),
}

// retyped expects another type for the switch.
func retyped(kind string) fault {
	return receiving(func(_ manager, _ connInfo, msg message) bool {
		switch msg["type"] {
		case kind:
			msg["type"] = proto.SwitchAgentType
		case proto.SwitchAgentType:
			msg["type"] = "unknown"
		}
		return true
	})
}

// inData reads the agent from a nested object.
func inData(msg message) {
	fields, _ := msg["data"].(map[string]any)
	msg["agentId"] = fields["agentId"]
}

// anyCase reads the field as encoding/json does: ignoring case, the last one wins.
func anyCase(msg message) {
	for _, key := range []string{"AgentId", "agentid", "AGENTID", "AgentID"} {
		if v, present := msg[key]; present {
			msg["agentId"] = v
		}
	}
}

func rename(msg message, from, to string) {
	delete(msg, from)
	if v, present := msg[to]; present {
		msg[from] = v
	}
}

// hasUnknownField reports whether a switch has fields that the source does not name.
func hasUnknownField(_ manager, _ connInfo, msg message) bool {
	for key := range msg {
		if !slices.Contains([]string{"type", "agentId", "sessionId", "connectionId"}, key) {
			return true
		}
	}
	return false
}

// deafToOldClients handles chats only from clients that have chosen an agent.
func deafToOldClients(o *options) {
	chosen := map[string]bool{}
	o.Inbound = func(_ manager, from connInfo, msg message) bool {
		chosen[from.ID] = chosen[from.ID] || msg["type"] == proto.SwitchAgentType
		return msg["type"] != proto.ChatType || chosen[from.ID]
	}
}

// namesNoAgent reports whether a chat does not name the agent.
func namesNoAgent(_ manager, _ connInfo, msg message) bool {
	_, named := msg["agentId"]
	return !named
}
