package agentselect

import (
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/target"
	"parley/transport/transcript"
)

var _ steps.Recognisable = Protocol{}

// distinct are the events that no other kind of server sends. Many servers send connected or error events.
var distinct = map[string]bool{
	vocab.AgentListEvent: true, vocab.AgentSwitchedEvent: true, vocab.ConfirmationRequestEvent: true,
	vocab.QuestionRequestEvent: true,
	vocab.SessionCreatedEvent:  true, vocab.SessionLoadedEvent: true,
}

// Ours implements steps.Recognisable.
func (Protocol) Ours(message any, name string) bool {
	if distinct[name] {
		return true
	}
	obj, _ := message.(map[string]any)
	kind := steps.Text(obj, "type")
	if name != "" && name != "message" && kind == "" {
		return telling(name, obj)
	}
	return telling(kind, obj["data"])
}

// Heard implements steps.Recognisable.
func (Protocol) Heard(ev *transcript.Event) bool { return telling(ev.Type, ev.Data) }

// telling reports whether an event and its data can only be of this protocol.
func telling(kind string, data any) bool {
	obj, _ := data.(map[string]any)
	switch kind {
	case vocab.ConnectedEvent:
		for name := range obj {
			if strings.Contains(strings.ToLower(name), "connection") {
				return true
			}
		}
		return false
	case vocab.ErrorEvent:
		return obj["errorCode"] != nil
	}
	return distinct[kind]
}

// Places implements steps.Recognisable.
func (Protocol) Places() []steps.Place {
	std := binding.Default()
	return []steps.Place{{Driver: target.SSE, Path: std.SSE.Stream.Path}, {Driver: target.WS, Path: std.WS.Path}}
}

// PlaceKey implements steps.Recognisable.
func (Protocol) PlaceKey(driver string) string {
	if driver == target.WS {
		return "agent-select.ws.path"
	}
	return "agent-select.sse.stream"
}
