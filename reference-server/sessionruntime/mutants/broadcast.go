package mutants

import (
	"slices"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// broadcastFaults handle messages that should only be observed, ignore messages that should be handled, or handle one
// twice (1).
var broadcastFaults = map[string]fault{
	"broadcast-is-business": ruling(rules{Takes: onBroadcast(func(message) bool { return true })}),
	"broadcast-input-routed": ruling(rules{Takes: onBroadcast(func(msg message) bool {
		return msg.Event == proto.UserInput
	})}),
	"broadcast-cancel-obeyed":     ruling(rules{Takes: onBroadcast(is(proto.Cancel))}),
	"broadcast-removal-obeyed":    ruling(rules{Takes: onBroadcast(is(proto.RemoveAgent))}),
	"broadcast-switch-obeyed":     ruling(rules{Takes: onBroadcast(is(proto.SwitchAgent))}),
	"observed-switch-followed":    deciding(observedSwitch),
	"observed-switch-told":        taking(observedTold),
	"agents-on-broadcast-ignored": deaf(onBroadcastOf(func(message) bool { return true })),
	"broadcast-output-ignored":    deaf(onBroadcastOf(is(proto.AgentOutput))),
	"broadcast-stop-ignored":      deaf(onBroadcastOf(is(proto.CancelAck))),
	"broadcast-ack-ignored":       deaf(onBroadcastOf(is(proto.InputAck))),
	"broadcast-handover-ignored":  deaf(onBroadcastOf(is(proto.HandoverRequest))),
	"handled-per-subscription":    ruling(rules{Takes: twiceTaken(func(message) bool { return true })}),
	"input-per-subscription": ruling(rules{Takes: twiceTaken(func(msg message) bool {
		return msg.Event == proto.UserInput
	})}),
	"output-per-subscription": ruling(rules{Takes: twiceTaken(is(proto.AgentOutput))}),
	"stop-per-subscription":   deciding(stopPerSubscription),
	"own-switch-repeated":     taking(ownSwitchRepeated),
	"own-removal-repeated":    taking(ownRepeated(proto.RequestRemoveAgent)),
	"own-invitation-repeated": taking(ownRepeated(proto.RequestAddAgent)),
	"own-opening-repeated":    taking(ownRepeated(proto.RequestSessionOpen)),
	"own-invitation-is-done":  taking(ownInvitationIsDone),
	"own-switch-is-the-users": ruling(rules{Role: selfIsUser, Takes: takesOwn}),
}

// onBroadcast handles some messages on BROADCAST from any sender.
func onBroadcast(some func(msg message) bool) func(v view, msg message, from role, again bool) bool {
	return func(v view, msg message, from role, again bool) bool {
		if msg.Target == proto.ToBroadcast && some(msg) {
			msg.Target = proto.ToSystem
		}
		return correct.Takes(v, msg, from, again)
	}
}

// onBroadcastOf matches some agent messages on BROADCAST.
func onBroadcastOf(some func(msg message) bool) func(v view, msg message) bool {
	return func(v view, msg message) bool {
		return msg.Target == proto.ToBroadcast && correct.Role(v, msg) == orchestrator.Agent && some(msg)
	}
}

// observedSwitch updates the active agent from observed BROADCAST messages.
func observedSwitch() rules {
	active := ""
	return rules{
		Takes: func(v view, msg message, from role, again bool) bool {
			if msg.Target == proto.ToBroadcast && kindOf(msg) == proto.SwitchAgent && from == orchestrator.Nobody {
				active, _ = payloadOf(msg)["to"].(string)
			}
			return correct.Takes(v, msg, from, again)
		},
		Target: plainTo(func(view) string { return active }),
	}
}

// observedTold passes observed BROADCAST messages on to SYSTEM.
func observedTold(v view, msg message) []message {
	if to, _ := payloadOf(msg)["to"].(string); msg.Target == proto.ToBroadcast && kindOf(msg) == proto.SwitchAgent &&
		msg.Sender == proto.FromLogger {
		v.Send(switchOf(v, v.Active(), to))
	}
	return []message{msg}
}

// twiceTaken handles some messages as often as they arrive.
func twiceTaken(some func(msg message) bool) func(v view, msg message, from role, again bool) bool {
	return func(v view, msg message, from role, again bool) bool {
		return correct.Takes(v, msg, from, again && !some(msg))
	}
}

// stopPerSubscription publishes CANCELED as often as the ack arrives.
func stopPerSubscription() rules {
	return rules{
		Takes: twiceTaken(is(proto.CancelAck)),
		Stops: func(v view, t turn, msg message) bool {
			return correct.Stops(v, t, msg) || t.Status == orchestrator.Canceled && t.Agent == msg.Sender
		},
		Stopped: func(v view, t turn) []step {
			if t.Status == orchestrator.Canceled {
				return []step{orchestrator.TellCanceled}
			}
			return correct.Stopped(v, t)
		},
	}
}

// ownSwitchRepeated publishes a switch again when it receives its own.
func ownSwitchRepeated(v view, msg message) []message {
	if to, _ := payloadOf(msg)["to"].(string); msg.Sender == proto.FromSession && kindOf(msg) == proto.SwitchAgent &&
		payloadOf(msg)["trigger"] != "TURN" {
		v.Send(switchOf(v, v.Active(), to))
	}
	return []message{msg}
}

// ownRepeated asks SessionManager again, once, when it receives its own request.
func ownRepeated(kind string) func(v view, msg message) []message {
	return func(v view, msg message) []message {
		if msg.Sender == proto.FromSession && kindOf(msg) == kind && !slices.Contains([]any{"again"}, msg.Metadata["heard"]) {
			again := v.New(proto.Control, kind, proto.ToSystem, "", msg.Payload, ids{Tx: text(msg, proto.TxID)})
			again.Metadata["heard"] = "again"
			v.Send(again)
		}
		return []message{msg}
	}
}

func ownInvitationIsDone(_ view, msg message) []message {
	if msg.Sender == proto.FromSession && kindOf(msg) == proto.RequestAddAgent {
		msg.Sender, msg.Subtype = proto.FromManager, proto.AddAgentDone
	}
	return []message{msg}
}

func selfIsUser(v view, msg message) role {
	if msg.Sender == proto.FromSession {
		return orchestrator.Frontend
	}
	return correct.Role(v, msg)
}

func takesOwn(v view, msg message, from role, again bool) bool {
	if msg.Sender == proto.FromSession {
		return !again
	}
	return correct.Takes(v, msg, from, again)
}

// mixedFaults share state that belongs to one session.
var mixedFaults = map[string]fault{
	"sessions-taken-for-first":  takenFor(func(first, _ string) string { return first }),
	"sessions-taken-for-latest": takenFor(func(_, latest string) string { return latest }),
	"sessions-share-active":     sharedActive,
	"sessions-share-speaker":    sharedSpeaker,
	"set-up-keeps-active":       keptActive,
}

// takenFor lets one session of a bus handle the messages of all.
func takenFor(which func(first, latest string) string) fault {
	return func() seams {
		first, latest := "", ""
		return seams{
			Runtime: func(o *options) {
				if first == "" {
					first = o.SessionID
				}
				latest = o.SessionID
				o.Policy = rules{Takes: func(v view, msg message, from role, again bool) bool {
					msg.SessionID = v.SessionID()
					return correct.Takes(v, msg, from, again)
				}}
			},
			Route: func(message) string { return which(first, latest) },
		}
	}
}

// sharedActive keeps one active agent for all sessions of a bus.
func sharedActive() seams {
	active := ""
	return seams{Runtime: func(o *options) {
		o.Outbound = func(_ view, msg message, send sender) {
			if kindOf(msg) == proto.SwitchAgent {
				active, _ = payloadOf(msg)["to"].(string)
			}
			send(msg)
		}
		o.Policy = rules{Target: plainTo(func(view) string { return active })}
	}}
}

// sharedSpeaker keeps one speaker for all sessions of a bus.
func sharedSpeaker() seams {
	var speaker turn
	return seams{Runtime: func(o *options) {
		o.Policy = rules{
			Output: func(v view, t turn, msg message) []step {
				program := correct.Output(v, t, msg)
				if slices.Contains(program, orchestrator.Speak) {
					speaker = t
				}
				return program
			},
			Cancels: func(v view, msg message) []string {
				if len(v.Speaking()) == 0 && speaker.ID != "" {
					v.Send(cancelOf(v, speaker))
				}
				return correct.Cancels(v, msg)
			},
		}
	}}
}

// keptActive lets a session that is set up again continue with the previously active agent.
func keptActive() seams {
	active := map[string]string{}
	return seams{Runtime: func(o *options) {
		id := o.SessionID
		kept := active[id]
		delete(active, id)
		o.Outbound = func(_ view, msg message, send sender) {
			if kindOf(msg) == proto.SwitchAgent {
				active[id], _ = payloadOf(msg)["to"].(string)
				kept = ""
			}
			send(msg)
		}
		o.Policy = rules{Target: plainTo(func(view) string { return kept })}
	}}
}
