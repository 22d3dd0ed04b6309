package passive

import (
	vocab "parley/protocol/sessionchat"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// ClientMonitors lists the monitors that judge the client, which is not a target of a run. Each judges single messages.
// Other messages than the three documented ones are left open, and not judged.
func ClientMonitors() []monitor.Monitor {
	return []monitor.Monitor{
		client("chats-formed", "a chat names its type, its agent_id and its content", chatFormed, "SC-029", "SC-030",
			"SC-031", "SC-032", "SC-033"),
		client("interrupts-formed", "an interrupt names its agent_id", interruptFormed, "SC-035"),
		client("pings-formed", "a ping has no agent_id", pingFormed, "SC-037"),
	}
}

func client(name, text string, judge func(*traffic, transcript.Record, map[string]any),
	clauses ...string) monitor.Monitor {
	m := passive(name, text, func(v *traffic) {
		for _, r := range v.records {
			if !sent(r) || len(r.Event.Faults) > 0 {
				continue
			}
			if data, ok := r.Event.Data.(map[string]any); ok {
				judge(v, r, data)
			}
		}
	}, clauses...)
	m.PerRecord = true
	return m
}

// text records a clause as kept if a member is a string, else as broken.
func (v *traffic) text(r transcript.Record, data map[string]any, name, clause string) {
	if _, ok := data[name].(string); ok {
		v.kept(r, clause)
		return
	}
	v.broken(r, name+", a string", clause)
}

func chatFormed(v *traffic, r transcript.Record, data map[string]any) {
	_, agent := data["agent_id"].(string)
	_, content := data["content"].(string)
	switch {
	case r.Event.Type == vocab.ChatType:
		v.kept(r, "SC-029")
	case r.Event.Type == "" && agent && content:
		v.broken(r, `type "chat"`, "SC-029")
		return
	default:
		return
	}
	v.text(r, data, "agent_id", "SC-030")
	v.text(r, data, "content", "SC-031")
	if options, ok := data["options"].(map[string]any); ok {
		v.kept(r, "SC-032")
		if _, ok := options["model"].(string); ok {
			v.kept(r, "SC-033")
		}
	}
}

func interruptFormed(v *traffic, r transcript.Record, data map[string]any) {
	if r.Event.Type == vocab.InterruptType {
		v.text(r, data, "agent_id", "SC-035")
	}
}

func pingFormed(v *traffic, r transcript.Record, data map[string]any) {
	if r.Event.Type != vocab.PingType {
		return
	}
	if _, named := data["agent_id"]; named {
		v.broken(r, "no agent_id", "SC-037")
		return
	}
	v.kept(r, "SC-037")
}
