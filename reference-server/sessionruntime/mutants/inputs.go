package mutants

import (
	"cmp"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// inputFaults send an input to a wrong agent, or to several or none (4A).
var inputFaults = map[string]fault{
	"input-to-everybody":      telling(alsoToOthers(proto.UserInput)),
	"input-to-first-agent":    ruling(rules{Target: atPlace(func(all []string) string { return all[0] })}),
	"input-to-latest-agent":   ruling(rules{Target: atPlace(func(all []string) string { return all[len(all)-1] })}),
	"input-to-last-speaker":   deciding(toLastSpeaker),
	"input-to-previous-agent": deciding(toPrevious),
	"input-needs-active":      ruling(rules{Target: toActive}),
	"input-waits-for-active":  deaf(nobodyActive),
	"default-is-asked-for":    taking(askForDefault),
	"objects-not-routed":      deaf(inputObject),
	"choices-not-routed":      deaf(inputChoice),
	"input-same-words-once":   receiving(sameInputOnce),
}

// alsoToOthers publishes the messages of a kind to the other agents as well.
func alsoToOthers(kind string) func() outbound {
	return func() outbound {
		return func(v view, msg message, send sender) {
			send(msg)
			own := msg.TargetID
			for _, agent := range v.Agents() {
				if kindOf(msg) == kind && agent != own {
					msg.ID, msg.TargetID = msg.ID+"-"+agent, agent
					send(msg)
				}
			}
		}
	}
}

// atPlace selects the agent by its place in the list, whichever is active.
func atPlace(which func(all []string) string) func(v view, msg message, mentioned string) string {
	return func(v view, _ message, mentioned string) string {
		if all := v.Agents(); mentioned == "" && len(all) > 0 {
			return which(all)
		}
		return mentioned
	}
}

// toLastSpeaker sends input to the agent that spoke last.
func toLastSpeaker() rules {
	last := ""
	return rules{
		Output: func(v view, t turn, msg message) []step {
			if t.Status.InFlight() && t.Agent == msg.Sender {
				last = t.Agent
			}
			return correct.Output(v, t, msg)
		},
		Target: plainTo(func(view) string { return last }),
	}
}

// toPrevious sends input to the agent that was active at the previous input.
func toPrevious() rules {
	before := ""
	return rules{Target: func(v view, msg message, mentioned string) string {
		now := before
		if before = v.Active(); mentioned == "" && v.Has(now) {
			return now
		}
		return correct.Target(v, msg, mentioned)
	}}
}

func toActive(v view, _ message, mentioned string) string { return cmp.Or(mentioned, v.Active()) }

// plain reports whether a message is an input without a mention.
func plain(v view, msg message) bool {
	if msg.Event != proto.UserInput {
		return false
	}
	_, mention := correct.Mention(v, msg)
	return !mention
}

// sameInputOnce takes an input with the payload of an earlier one for its repetition.
func sameInputOnce() inbound {
	said := map[string]bool{}
	return func(v view, msg message) []message {
		if !plain(v, msg) || msg.Target != proto.ToSystem {
			return []message{msg}
		}
		words, own := msg.Payload.(string)
		if own && said[words] {
			return nil
		}
		said[words] = own
		return []message{msg}
	}
}

func nobodyActive(v view, msg message) bool { return plain(v, msg) && v.Active() == "" }

func askForDefault(v view, msg message) []message {
	if plain(v, msg) && v.Active() == "" {
		v.Send(v.New(proto.Control, proto.RequestAddAgent, proto.ToSystem, "",
			object{"session_id": v.SessionID(), "agent_spec": object{"role": "default"}}, ids{}))
		return nil
	}
	return []message{msg}
}

func inputObject(v view, msg message) bool { return plain(v, msg) && payloadOf(msg) != nil }

func inputChoice(v view, msg message) bool {
	return plain(v, msg) && payloadOf(msg)["type"] == "selection"
}

// acceptedFaults send a wrong TURN_ACCEPTED, or at the wrong time (4A).
var acceptedFaults = map[string]fault{
	"accepted-names-first-agent": rewriting(proto.TurnAccepted, firstAgent),
	"accepted-before-check":      taking(acceptFirst),
	"mention-not-accepted":       ruling(rules{Input: unaccepted}),
	"mention-accepted-for-old":   runtime(acceptedForOld),
}

func firstAgent(v view, msg message) message { return named(msg, "target_agent", v.Agents()[0]) }

// acceptFirst publishes TURN_ACCEPTED before it looks up the agent.
func acceptFirst(v view, msg message) []message {
	if agent, is := correct.Mention(v, msg); msg.Event == proto.UserInput && is && !v.Has(agent) &&
		msg.Target == proto.ToSystem {
		v.Send(v.New(proto.Event, proto.TurnAccepted, proto.ToFrontend, "", object{"target_agent": agent},
			ids{Turn: "turn-" + msg.ID, Trace: "trace-" + msg.ID}))
	}
	return []message{msg}
}

func unaccepted(v view, t turn, mention bool) []step {
	if mention {
		return without(correct.Input(v, t, mention), orchestrator.Accept)
	}
	return correct.Input(v, t, mention)
}

// acceptedForOld names the agent that was active when the input arrived.
func acceptedForOld(o *options) {
	old := map[string]string{}
	o.Policy = rules{Input: func(v view, t turn, mention bool) []step {
		old[t.ID] = cmp.Or(v.Active(), t.Agent)
		return correct.Input(v, t, mention)
	}}
	o.Outbound = func(_ view, msg message, send sender) {
		if kindOf(msg) == proto.TurnAccepted {
			msg = named(msg, "target_agent", old[text(msg, proto.TurnID)])
		}
		send(msg)
	}
}
