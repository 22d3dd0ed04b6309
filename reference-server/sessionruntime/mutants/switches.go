package mutants

import (
	"maps"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// switchFaults do not change the active agent, or change it at the wrong time (3).
var switchFaults = map[string]fault{
	"switch-ignored":          deafTo(proto.SwitchAgent),
	"switch-refused-if-busy":  deaf(switchWhileBusy),
	"switch-not-told":         switching(orchestrator.Activate),
	"switch-only-told":        switching(orchestrator.TellSwitch),
	"switch-told-twice":       switching(orchestrator.Activate, orchestrator.TellSwitch, orchestrator.TellSwitch),
	"switch-told-with-input":  delayed(proto.SwitchAgent, is(proto.UserInput)),
	"switch-after-next-input": deciding(afterNextInput),
	"switch-after-speech":     ruling(rules{Target: plainTo(view.SpeakingAgent)}),
	"active-told-with-inputs": telling(activeWithInputs),
}

func switchWhileBusy(v view, msg message) bool {
	return kindOf(msg) == proto.SwitchAgent && msg.Sender == proto.FromFrontend && len(v.Speaking()) > 0
}

// switching gives a frontend's switch another program.
func switching(program ...step) fault {
	return ruling(rules{Switch: func(view, string, message) []step { return program }})
}

// afterNextInput still sends the first input after a switch to the previous agent.
func afterNextInput() rules {
	before := ""
	return rules{
		Switch: func(v view, agent string, msg message) []step {
			before = v.Active()
			return correct.Switch(v, agent, msg)
		},
		Target: func(v view, msg message, mentioned string) string {
			was := before
			if before = ""; mentioned == "" && v.Has(was) {
				return was
			}
			return correct.Target(v, msg, mentioned)
		},
	}
}

// activeWithInputs announces the active agent with every input.
func activeWithInputs() outbound {
	return func(v view, msg message, send sender) {
		if kindOf(msg) == proto.UserInput {
			send(switchOf(v, v.Active(), msg.TargetID))
		}
		send(msg)
	}
}

// announceFaults announce a change other than by SWITCH_AGENT with from, to, reason and trigger on SYSTEM or
// BROADCAST (RT-066).
var announceFaults = map[string]fault{
	"switch-without-from":      spoiling(proto.SwitchAgent, lose("from")),
	"switch-without-reason":    spoiling(proto.SwitchAgent, lose("reason")),
	"switch-without-trigger":   spoiling(proto.SwitchAgent, lose("trigger")),
	"switch-from-new":          spoiling(proto.SwitchAgent, func(o object) { o["from"] = o["to"] }),
	"switch-from-first":        telling(fromFirst),
	"switch-members-renamed":   spoiling(proto.SwitchAgent, both2(rename("from", "from_agent"), rename("to", "to_agent"))),
	"switch-in-metadata":       rewriting(proto.SwitchAgent, inMetadata),
	"switch-as-event":          as(proto.Event, proto.SwitchAgent),
	"switch-told-as-changed":   rewriting(proto.SwitchAgent, asChanged),
	"switch-to-frontend-only":  elsewhere(proto.SwitchAgent, proto.ToFrontend),
	"switch-to-agents-only":    rewriting(proto.SwitchAgent, toNewAgent),
	"switch-hidden":            marking(proto.SwitchAgent, set(proto.Visibility, "internal")),
	"fallback-without-trigger": rewriting(proto.SwitchAgent, fallbackUntriggered),
	"handover-without-reason":  rewriting(proto.SwitchAgent, handoverUnreasoned),
}

// both2 applies both changes.
func both2(f, g func(o object)) func(o object) {
	return func(o object) { f(o); g(o) }
}

// fromFirst gives the session's initial agent as from.
func fromFirst() outbound {
	first := ""
	return func(_ view, msg message, send sender) {
		if kindOf(msg) == proto.SwitchAgent {
			payload := maps.Clone(payloadOf(msg))
			if from, _ := payload["from"].(string); first == "" {
				first = from
			}
			payload["from"] = first
			msg.Payload = payload
		}
		send(msg)
	}
}

func inMetadata(_ view, msg message) message {
	maps.Copy(msg.Metadata, payloadOf(msg))
	msg.Payload = object{}
	return msg
}

func asChanged(_ view, msg message) message {
	msg.Event, msg.Subtype, msg.Target = proto.Event, proto.ActiveChanged, proto.ToFrontend
	return msg
}

func toNewAgent(_ view, msg message) message {
	msg.TargetID, _ = payloadOf(msg)["to"].(string)
	msg.Target = proto.ToAgent
	return msg
}

func fallbackUntriggered(_ view, msg message) message {
	if payload := maps.Clone(payloadOf(msg)); payload["trigger"] == proto.RemoveAgent {
		delete(payload, "trigger")
		msg.Payload = payload
	}
	return msg
}

func handoverUnreasoned(_ view, msg message) message {
	if payload := maps.Clone(payloadOf(msg)); payload["trigger"] == proto.HandoverConfirm {
		delete(payload, "reason")
		msg.Payload = payload
	}
	return msg
}
