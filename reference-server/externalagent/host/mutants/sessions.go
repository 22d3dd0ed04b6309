package mutants

import (
	"slices"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// startFaults send a wrong session.started.
var startFaults = map[string]fault{
	"start-answered-by-state":     answered(proto.SessionStarted, proto.StateUpdated, updateOf),
	"start-answered-by-snapshot":  answered(proto.SessionStarted, proto.SnapshotState, snapshotOf),
	"started-names-relay-session": ofRelaySession(proto.SessionStarted),
	"starts-once":                 hosting(startsOnce),
}

// endFaults send a wrong session.ended.
var endFaults = map[string]fault{
	"end-answered-by-state":     answered(proto.SessionEnded, proto.StateUpdated, updateOf),
	"ended-names-next-session":  spoiling(proto.SessionEnded, spoil.Text("sessionId", next)),
	"ended-names-relay-session": ofRelaySession(proto.SessionEnded),
	"ended-names-first-session": hosting(firstSession),
}

// resetFaults begin a session with remains of the previous one.
var resetFaults = map[string]fault{
	"keeps-history":                resetting(keep{History: true}),
	"keeps-booking":                resetting(keep{Booking: true}),
	"keeps-everything":             resetting(keep{Booking: true, History: true}),
	"keeps-selection":              keeping(proto.Select),
	"keeps-filter":                 keeping(proto.Filter),
	"keeps-order":                  keeping(proto.Sort),
	"keeps-highlights":             keeping(proto.Highlight),
	"keeps-last-words":             hosting(lastWords),
	"keeps-tools":                  hosting(oldTools),
	"restarts-at-stage-of-booking": hosting(atStage),
	"stays-open-past-first-screen": deciding(policy{Reset: staysOpen}),
}

// gateFaults accept a call while no session is active, or refuse it incorrectly.
var gateFaults = map[string]fault{
	"no-gate-before-start": ungated(func(begun bool) bool { return !begun }),
	"no-gate-after-end":    ungated(func(begun bool) bool { return begun }),
	"gate-says-no-spec":    gated(proto.NoActiveSpec),
	"gate-says-unknown":    gated(proto.UnknownTool),
	"gate-says-invalid":    gated(proto.InvalidMessage),
	"gate-says-failed":     gated(proto.ToolExecutionFailed),
	"gate-says-own-code":   gated("NO_SESSION"),
	"gate-says-nothing": ignoring(func(v view, msg message) bool {
		return !v.Active() && msg.Type() == proto.ToolCall
	}),
	"active-after-end":      hosting(staysActive),
	"starts-session-itself": hearing(startsItself),
}

// snapshotOf returns the payload of a snapshot.
func snapshotOf(v view, _ message) object {
	payload := stateOf(v.State())
	delete(payload, "source")
	payload["sessionId"] = v.SessionID()
	return payload
}

// ofRelaySession names the relay session instead of the study session.
func ofRelaySession(kind string) fault {
	return inSession(func(h *hostOptions, session string) {
		h.Outbound = rewriter(kind, func(_ view, msg message) message {
			msg.Payload()["sessionId"] = session
			return msg
		})
	})
}

func next(id string) string { return id[:max(0, len(id)-1)] + "x" }

// startsOnce refuses a second session.
func startsOnce(h *hostOptions) {
	begun := false
	h.Policy.Ready = func(_ view, msg message, why *refusal) *refusal {
		if msg.Type() != proto.SessionStart {
			return why
		}
		if begun {
			return &refusal{Code: proto.InvalidMessage, Text: "the session has been started already"}
		}
		begun = true
		return why
	}
}

// firstSession names the first session in each session.ended.
func firstSession(h *hostOptions) {
	id := any(nil)
	h.Outbound = func(_ view, msg message, send sender) {
		switch payload := msg.Payload(); {
		case msg.Type() == proto.SessionStarted && id == nil:
			id = payload["sessionId"]
		case msg.Type() == proto.SessionEnded:
			payload["sessionId"] = id
		}
		send(msg)
	}
}

// staysOpen resets the flow, but ends the session only if the flow is at its first screen.
func staysOpen(v view, right keep) keep {
	right.Session = v.Stage() != proto.MovieStage
	return right
}

func resetting(kept keep) fault {
	return deciding(policy{Reset: func(view, keep) keep { return kept }})
}

// keeping begins a session by repeating the previous session's last call of a tool.
func keeping(name string) fault {
	return hosting(func(h *hostOptions) {
		var last message
		h.Inbound = func(_ view, msg message) []message {
			switch {
			case toolOf(msg) == name:
				last = msg.Without("id")
			case msg.Type() == proto.SessionStart && last != nil:
				return []message{msg, last}
			}
			return []message{msg}
		}
		h.Outbound = answersOnly
	})
}

// lastWords keeps the last entry of a history as the first of the next.
func lastWords(h *hostOptions) {
	var last []any
	h.Policy.Reset = func(v view, right keep) keep {
		if all := v.State().MessageHistory; len(all) > 0 {
			last = all[len(all)-1:]
		}
		return right
	}
	h.Policy.State = func(_ view, _ part, s state) state {
		s.MessageHistory = slices.Concat(last, s.MessageHistory)
		return s
	}
}

// oldTools announces the previous session's last tools at the beginning of a session.
func oldTools(h *hostOptions) {
	var old []any
	h.Policy.Reset = func(v view, right keep) keep {
		old = v.State().ToolSchema
		return right
	}
	h.Policy.State = func(v view, _ part, s state) state {
		if old != nil && v.Stage() == proto.MovieStage && len(s.MessageHistory) == 0 {
			s.ToolSchema = old
		}
		return s
	}
}

// calling makes a call that no agent has sent.
func calling(name string, params object) message {
	return wire.New(proto.ToolCall, object{"toolName": name, "params": params})
}

// answersOnly suppresses the results and errors of calls that no agent has sent.
func answersOnly(_ view, msg message, send sender) {
	if isAnswer(msg) || msg.Type() != proto.ToolResult && msg.Type() != proto.ErrorMessage {
		send(msg)
	}
}

// atStage begins each session after the second with the first movie already chosen.
func atStage(h *hostOptions) {
	sessions := 0
	h.Inbound = func(_ view, msg message) []message {
		if msg.Type() != proto.SessionStart {
			return []message{msg}
		}
		if sessions++; sessions < 3 {
			return []message{msg}
		}
		return []message{msg, calling(proto.Select, object{"itemId": "m1"}), calling(proto.Next, object{})}
	}
}

// ungated confirms calls without a session, before the first one or after it, and changes nothing.
func ungated(where func(begun bool) bool) fault {
	return hosting(func(h *hostOptions) {
		begun := false
		free := func(v view) bool { return !v.Active() && where(begun) }
		h.Policy.Ready = func(v view, msg message, why *refusal) *refusal {
			begun = begun || msg.Type() == proto.SessionStart
			if msg.Type() == proto.ToolCall && free(v) {
				return nil
			}
			return why
		}
		h.Policy.Announced = func(v view, _ []tool, name string, found *tool) *tool {
			if free(v) {
				return &tool{Name: name}
			}
			return found
		}
		h.Policy.Execute = func(v view, _ call, run func() *refusal) *refusal {
			if free(v) {
				return nil
			}
			return run()
		}
	})
}

// gated refuses calls without a session with another code.
func gated(code string) fault {
	return deciding(policy{Ready: func(_ view, msg message, why *refusal) *refusal {
		if why != nil && why.Code == proto.SessionNotActive && msg.Type() == proto.ToolCall {
			why = &refusal{Code: code, Text: why.Text}
		}
		return why
	}})
}

// staysActive answers calls after the end of the session with the last result.
func staysActive(h *hostOptions) {
	last := wire.New(proto.ToolResult, object{"ok": true, "toolName": proto.Select})
	h.Outbound = func(_ view, msg message, send sender) {
		switch {
		case msg.Type() == proto.ToolResult:
			last = msg
		case msg.PayloadText("code") == proto.SessionNotActive:
			msg = last.With("replyTo", msg["replyTo"])
		}
		send(msg)
	}
}

// startsItself begins a session when a call needs one.
func startsItself(v view, msg message) []message {
	if msg.Type() != proto.ToolCall || v.Active() {
		return []message{msg}
	}
	return []message{wire.New(proto.SessionStart, object{"studyId": "default", "participantId": "anonymous"}), msg}
}
