package hosts

import (
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
)

// startFaults get session.started wrong.
var startFaults = map[string]fault{
	"start-unanswered":     silent(proto.SessionStarted),
	"start-answer-unnamed": unnamed(proto.SessionStarted),
	"start-answered-by-state": rewriting(proto.SessionStarted, func(v view, msg message) message {
		return host.Reply(answeredBy(msg), proto.StateUpdated, stateOf(v.State()))
	}),
	"start-answered-by-snapshot":  rewriting(proto.SessionStarted, func(v view, msg message) message { return host.Reply(answeredBy(msg), proto.SnapshotState, told(v)) }),
	"started-names-relay-session": ofRelaySession(proto.SessionStarted),
	"started-without-id":          spoiling(proto.SessionStarted, lose("sessionId")),
	"started-id-null":             spoiling(proto.SessionStarted, set("sessionId", nil)),
	"started-id-is-number":        spoiling(proto.SessionStarted, set("sessionId", 20260213001)),
	"started-id-is-object":        spoiling(proto.SessionStarted, change("sessionId", func(v any) any { return object{"id": v} })),
	"started-id-in-snake-case":    spoiling(proto.SessionStarted, rename("sessionId", "session_id")),
	"starts-once":                 deciding(startsOnce),
}

// endFaults get session.ended wrong.
var endFaults = map[string]fault{
	"end-unanswered":     silent(proto.SessionEnded),
	"end-answer-unnamed": unnamed(proto.SessionEnded),
	"end-answered-by-state": rewriting(proto.SessionEnded, func(v view, msg message) message {
		return host.Reply(answeredBy(msg), proto.StateUpdated, stateOf(v.State()))
	}),
	"end-named-after-reason":    rewriting(proto.SessionEnded, func(_ view, msg message) message { return msg.With("replyTo", "study-complete") }),
	"ends-refused":              taking(func(_ view, msg message) []message { return renamedType(msg, proto.SessionEnd, "session.stop") }),
	"ended-without-id":          spoiling(proto.SessionEnded, lose("sessionId")),
	"ended-id-null":             spoiling(proto.SessionEnded, set("sessionId", nil)),
	"ended-names-next-session":  spoiling(proto.SessionEnded, change("sessionId", next)),
	"ended-names-relay-session": ofRelaySession(proto.SessionEnded),
	"ended-names-first-session": telling(firstSession),
	"ended-without-log":         spoiling(proto.SessionEnded, lose("logFile")),
	"ended-log-null":            spoiling(proto.SessionEnded, set("logFile", nil)),
	"ended-log-is-object":       spoiling(proto.SessionEnded, change("logFile", func(v any) any { return object{"path": v, "lines": 12} })),
	"ended-log-is-list":         spoiling(proto.SessionEnded, change("logFile", func(v any) any { return []any{v} })),
	"ended-log-in-snake-case":   spoiling(proto.SessionEnded, rename("logFile", "log_file")),
	"ended-without-reset":       spoiling(proto.SessionEnded, lose("stateReset")),
	"ended-not-reset":           spoiling(proto.SessionEnded, set("stateReset", false)),
	"ended-reset-is-text":       spoiling(proto.SessionEnded, set("stateReset", "true")),
	"ended-reset-is-number":     spoiling(proto.SessionEnded, set("stateReset", 1)),
}

// resetFaults begin a session with what is left of the one before.
var resetFaults = map[string]fault{
	"keeps-history":                ruling(rules{reset: func(view) keep { return keep{History: true} }}),
	"keeps-booking":                ruling(rules{reset: func(view) keep { return keep{Booking: true} }}),
	"keeps-everything":             ruling(rules{reset: func(view) keep { return keep{Booking: true, History: true} }}),
	"keeps-selection":              keeping(proto.Select),
	"keeps-filter":                 keeping(proto.Filter),
	"keeps-order":                  keeping(proto.Sort),
	"keeps-highlights":             keeping(proto.Highlight),
	"keeps-last-words":             deciding(lastWords),
	"keeps-tools":                  deciding(oldTools),
	"restarts-at-stage-of-booking": receiving(atStage),
}

// gateFaults let a call pass while no session is active, or refuse it otherwise.
var gateFaults = map[string]fault{
	"no-gate-before-start":  deciding(func() rules { return ungated(func(begun bool) bool { return !begun }) }),
	"no-gate-after-end":     deciding(func() rules { return ungated(func(begun bool) bool { return begun }) }),
	"gate-says-no-spec":     gated(proto.NoActiveSpec),
	"gate-says-unknown":     gated(proto.UnknownTool),
	"gate-says-invalid":     gated(proto.InvalidMessage),
	"gate-says-failed":      gated(proto.ToolExecutionFailed),
	"gate-says-own-code":    gated("NO_SESSION"),
	"gate-says-nothing":     taking(func(v view, msg message) []message { return only(v.Active() || msg.Type() != proto.ToolCall, msg) }),
	"active-after-end":      telling(staysActive),
	"starts-session-itself": taking(startsItself),
}

// answeredBy is a request that a message answers.
func answeredBy(msg message) message { return message{"id": msg["replyTo"]} }

// told is the payload of a snapshot.
func told(v view) object {
	payload := stateOf(v.State())
	delete(payload, "source")
	payload["sessionId"] = v.SessionID()
	return payload
}

// only is msg if ok holds, and else nothing.
func only(ok bool, msg message) []message {
	if !ok {
		return nil
	}
	return []message{msg}
}

// renamedType takes the messages of a type for some of another.
func renamedType(msg message, kind, other string) []message {
	if msg.Type() == kind {
		msg = msg.With("type", other)
	}
	return []message{msg}
}

// ofRelaySession has the name of the relay session in the place of the study session's.
func ofRelaySession(kind string) fault {
	return func(o *options) {
		o.Host = func(session string, h hostOptions) hostOptions {
			h.Outbound = func(_ view, msg message, send sender) {
				if msg.Type() == kind {
					msg.Payload()["sessionId"] = session
				}
				send(msg)
			}
			return h
		}
	}
}

func next(id any) any {
	s, _ := id.(string)
	return s[:max(0, len(s)-1)] + "x"
}

// startsOnce has one session, and then no other.
func startsOnce() rules {
	begun := false
	return rules{ready: func(v view, msg message) *refusal {
		if msg.Type() == proto.SessionStart {
			if begun {
				return &refusal{Code: proto.InvalidMessage, Text: "the session has been started already"}
			}
			begun = true
		}
		return correct.Ready(v, msg)
	}}
}

// firstSession remembers the id of a session when it has none.
func firstSession() host.Outbound {
	id := any(nil)
	return func(_ view, msg message, send sender) {
		switch msg.Type() {
		case proto.SessionStarted:
			if id == nil {
				id = msg.Payload()["sessionId"]
			}
		case proto.SessionEnded:
			msg.Payload()["sessionId"] = id
		}
		send(msg)
	}
}

// keeping has a session begin with the last call of a tool in the one before.
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
		h.Outbound = answersOnly // nobody has asked for it
	})
}

// lastWords keeps the last entry of a history, as the first of the next.
func lastWords() rules {
	var last any
	said := false
	return rules{
		reset: func(v view) keep {
			if all := v.State().MessageHistory; len(all) > 0 {
				last, said = all[len(all)-1], true
			}
			return keep{}
		},
		state: func(v view, _ host.Part) state {
			s := v.State()
			if said {
				s.MessageHistory = append([]any{last}, s.MessageHistory...)
			}
			return s
		},
	}
}

// oldTools announces at the beginning of a session what was announced at the end of the one before.
func oldTools() rules {
	var old []any
	return rules{
		reset: func(v view) keep {
			old = v.State().ToolSchema
			return keep{}
		},
		state: func(v view, _ host.Part) state {
			s := v.State()
			if old != nil && v.Stage() == proto.MovieStage && len(s.MessageHistory) == 0 {
				s.ToolSchema = old
			}
			return s
		},
	}
}

// atStage begins each session but the first where its flow was left: the first item of a stage is chosen for it.
func atStage() host.Inbound {
	sessions := 0
	return func(_ view, msg message) []message {
		if msg.Type() != proto.SessionStart {
			return []message{msg}
		}
		if sessions++; sessions < 3 {
			return []message{msg}
		}
		step := func(name string, params object) message {
			return message{"v": proto.Version, "type": proto.ToolCall, "payload": object{"toolName": name, "params": params}}
		}
		return []message{msg, step(proto.Select, object{"itemId": "m1"}), step(proto.Next, object{})}
	}
}

// ungated plays without a session, before the first one or behind it, and changes nothing.
func ungated(where func(begun bool) bool) rules {
	begun := false
	free := func(v view) bool { return !v.Active() && where(begun) }
	return rules{
		ready: func(v view, msg message) *refusal {
			begun = begun || msg.Type() == proto.SessionStart
			if msg.Type() == proto.ToolCall && free(v) {
				return nil
			}
			return correct.Ready(v, msg)
		},
		announced: func(v view, all []tool, name string) (tool, *refusal) {
			if free(v) {
				return tool{Name: name}, nil
			}
			return correct.Announced(v, all, name)
		},
		execute: func(v view, c call, run func() *refusal) *refusal {
			if free(v) {
				return nil
			}
			return run()
		},
	}
}

// gated refuses a call without a session by another code.
func gated(code string) fault {
	return ruling(rules{ready: func(v view, msg message) *refusal {
		why := correct.Ready(v, msg)
		if why != nil && why.Code == proto.SessionNotActive && msg.Type() == proto.ToolCall {
			why = &refusal{Code: code, Text: why.Text}
		}
		return why
	}})
}

// staysActive answers calls behind the end by their last results.
func staysActive() host.Outbound {
	var last message
	return func(_ view, msg message, send sender) {
		code, _ := msg.Payload()["code"].(string)
		switch {
		case msg.Type() == proto.ToolResult:
			last = msg
		case code == proto.SessionNotActive:
			result := last
			if result == nil {
				result = host.NewMessage(proto.ToolResult, object{"ok": true, "toolName": proto.Select})
			}
			msg = result.With("replyTo", msg["replyTo"])
		}
		send(msg)
	}
}

// startsItself begins a session when a call needs one.
func startsItself(v view, msg message) []message {
	if msg.Type() != proto.ToolCall || v.Active() {
		return []message{msg}
	}
	start := message{"v": proto.Version, "type": proto.SessionStart, "payload": object{"studyId": "default", "participantId": "anonymous"}}
	return []message{start, msg}
}

// snakeCase is a name in the style of another language.
func snakeCase(name string) string {
	var out strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}
