package mutants

import (
	proto "parley/protocol/agentselect"
)

// messageFaults misread client messages.
var messageFaults = map[string]fault{
	"switch-in-camel-case":     retyped("switchAgent"),
	"switch-named-set-agent":   retyped("set_agent"),
	"agent-id-in-snake-case":   misreading(proto.SwitchAgentType, func(msg message) { msg["agentId"] = msg["agent_id"] }),
	"agent-id-under-agent":     misreading(proto.SwitchAgentType, func(msg message) { msg["agentId"] = msg["agent"] }),
	"switch-wants-data":        misreading(proto.SwitchAgentType, func(msg message) { inner(msg, "data") }),
	"agent-id-in-any-case":     misreading(proto.SwitchAgentType, anyCase),
	"strict-about-fields":      receiving(strictFields),
	"session-id-in-snake-case": misreading(proto.SwitchAgentType, func(msg message) { rename(msg, "sessionId", "session_id") }),
	"deaf-to-old-clients":      deafToOldClients,
	"old-chat-needs-agent-id":  receiving(chatNeedsAgent),
}

// retyped knows the switch by another type.
func retyped(kind string) fault {
	return receiving(func(_ manager, _ connInfo, msg message) []message {
		switch msg["type"] {
		case kind:
			msg["type"] = proto.SwitchAgentType
		case proto.SwitchAgentType:
			msg["type"] = "unknown"
		}
		return []message{msg}
	})
}

// inner reads the fields of the switch from an object inside of the message.
func inner(msg message, key string) {
	fields, _ := msg[key].(map[string]any)
	msg["agentId"] = fields["agentId"]
}

// anyCase reads the field as encoding/json does: the last one wins, whatever its case.
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

// strictFields drops a switch with fields that it does not know.
func strictFields(_ manager, _ connInfo, msg message) []message {
	if msg["type"] == proto.SwitchAgentType {
		for key := range msg {
			switch key {
			case "type", "agentId", "sessionId", "connectionId":
			default:
				return nil
			}
		}
	}
	return []message{msg}
}

// deafToOldClients chats only with clients that have chosen an agent.
func deafToOldClients(o *options) middleware {
	chosen := map[string]bool{}
	o.Inbound = func(_ manager, from connInfo, msg message) []message {
		switch {
		case msg["type"] == proto.SwitchAgentType:
			chosen[from.ID] = true
		case msg["type"] == proto.ChatType && !chosen[from.ID]:
			return nil
		}
		return []message{msg}
	}
	return nil
}

// chatNeedsAgent wants to be told the agent with every chat.
func chatNeedsAgent(_ manager, _ connInfo, msg message) []message {
	if _, named := msg["agentId"]; msg["type"] == proto.ChatType && !named {
		return nil
	}
	return []message{msg}
}
