package mutants

import (
	"slices"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
)

// survivalFaults end the run, or wait forever, because of something that a host or a relay may send.
var survivalFaults = map[string]fault{
	"dies-of-broken-json":    dyingOf(junk(func(data string) bool { return strings.HasPrefix(data, "{") })),
	"dies-of-an-empty-text":  dyingOf(junk(func(data string) bool { return data == "" })),
	"dies-of-a-list":         dyingOf(junk(func(data string) bool { return strings.HasPrefix(data, "[") })),
	"dies-of-null":           dyingOf(junk(func(data string) bool { return data == "null" })),
	"dies-of-a-number":       dyingOf(junk(func(data string) bool { return data == "42" })),
	"dies-of-a-text":         dyingOf(junk(func(data string) bool { return strings.HasPrefix(data, `"`) })),
	"dies-of-a-binary-frame": dyingOf(kind(agent.NoText)),
	"dies-of-unknown-types": dyingOf(func(o agent.Oddity) bool {
		return o.Kind == agent.UnknownType && !strings.HasPrefix(o.Why, "relay.")
	}),
	"dies-of-presence": dyingOf(func(o agent.Oddity) bool {
		return o.Kind == agent.UnknownType && strings.HasPrefix(o.Why, "relay.")
	}),
	"dies-of-a-missing-payload":  dyingOf(lacks("payload")),
	"dies-of-a-missing-type":     dyingOf(lacks("type")),
	"dies-of-others-results":     dyingOf(unasked(proto.ToolResult)),
	"dies-of-others-errors":      dyingOf(unasked(proto.ErrorMessage)),
	"dies-of-unknown-members":    strict(unknownMember),
	"dies-of-members-in-a-state": strict(unknownInState),
	"dies-of-a-null-ui":          strict(nullUI),
	"dies-of-long-messages":      diesOfLong,
	"dies-of-what-the-user-says": diesOfUser,
	"deaf-behind-junk":           deafAfterJunk,
	"dies-of-invalid-message":    dyingOfCode(proto.InvalidMessage, 1),
	"dies-of-unknown-tool":       dyingOfCode(proto.UnknownTool, 1),
	"dies-of-invalid-params":     dyingOfCode(proto.InvalidParams, 1),
	"dies-of-no-active-spec":     dyingOfCode(proto.NoActiveSpec, 1),
	"dies-of-a-failing-tool":     dyingOfCode(proto.ToolExecutionFailed, 1),
	"dies-of-a-late-failure":     dyingOfCode(proto.ToolExecutionFailed, 3),
	"dies-of-a-lost-session":     dyingOfCode(proto.SessionNotActive, 1),
	"dies-of-unknown-codes": failing(func(_ view, f agent.Failure) bool {
		return !slices.Contains(proto.Codes(), f.Code)
	}),
	"dies-of-errors":        failing(func(view, agent.Failure) bool { return true }),
	"dies-of-ok-false":      diesOfNotOK,
	"waits-behind-an-error": both(deafTo(callError), patient),
	"waits-behind-ok-false": both(deafTo(func(_ view, msg message) bool { return notOK(msg) }), patient),
}

func dyingOf(which func(o agent.Oddity) bool) fault {
	return deciding(policy{Strange: func(_ view, o agent.Oddity, right agent.Reaction) agent.Reaction {
		if which(o) {
			return agent.Die
		}
		return right
	}})
}

// junk matches texts that are not JSON objects.
func junk(which func(data string) bool) func(o agent.Oddity) bool {
	return func(o agent.Oddity) bool { return o.Kind == agent.NoObject && which(string(o.Data)) }
}

func kind(k agent.OddityKind) func(o agent.Oddity) bool {
	return func(o agent.Oddity) bool { return o.Kind == k }
}

// lacks matches objects that lack a member of the envelope.
func lacks(name string) func(o agent.Oddity) bool {
	return func(o agent.Oddity) bool { return o.Kind == agent.NoEnvelope && o.Message[name] == nil }
}

// unasked matches unsolicited replies of a type.
func unasked(kind string) func(o agent.Oddity) bool {
	return func(o agent.Oddity) bool { return o.Kind == agent.Unasked && o.Message.Type() == kind }
}

// strict dies on envelopes with unknown members.
func strict(unknown func(msg message) bool) fault {
	const why = "unknown member"
	return both(dyingOf(func(o agent.Oddity) bool { return o.Why == why }), func(o *options) {
		o.Policy.Accept = func(_ view, msg message, problem string) string {
			if unknown(msg) {
				return why
			}
			return problem
		}
	})
}

func unknownMember(msg message) bool {
	for name := range msg {
		if !slices.Contains([]string{"v", "type", "id", "replyTo", "payload"}, name) {
			return true
		}
	}
	return false
}

func unknownInState(msg message) bool {
	if msg.Type() != proto.StateUpdated {
		return false
	}
	for name := range msg.Payload() {
		if !slices.Contains([]string{"source", "uiSpec", "messageHistory", "toolSchema"}, name) {
			return true
		}
	}
	return false
}

// nullUI reports whether a state announces tools but shows no form.
func nullUI(msg message) bool {
	tools, _ := msg.Payload()["toolSchema"].([]any)
	return msg.Type() == proto.StateUpdated && msg.Payload()["uiSpec"] == nil && len(tools) > 0
}

// diesOfLong limits messages to 64 KiB, as its library does, and gives up when a longer one ends the connection.
func diesOfLong(o *options) {
	o.Limits.Frame = 64 << 10
	o.Policy.Reconnect = func(view) bool { return false }
}

// diesOfUser does not expect user.message.
func diesOfUser(o *options) {
	dyingOf(func(o agent.Oddity) bool { return o.Why == "unhandled" })(o)
	o.Inbound = func(_ view, msg message) []message {
		if msg.Type() == proto.UserMessage {
			msg = msg.With("type", "unhandled")
		}
		return []message{msg}
	}
}

// deafAfterJunk reads nothing after an unreadable frame but keeps sending.
func deafAfterJunk(o *options) {
	deaf := false
	o.Policy.Strange = func(_ view, odd agent.Oddity, right agent.Reaction) agent.Reaction {
		deaf = deaf || odd.Kind == agent.NoObject
		return right
	}
	deafTo(func(view, message) bool { return deaf })(o)
}

// failing dies on some failed calls.
func failing(which func(v view, f agent.Failure) bool) fault {
	return deciding(policy{Failed: func(v view, f agent.Failure, right agent.Remedy) agent.Remedy {
		if f.Request.Type == proto.ToolCall && which(v, f) {
			return agent.Despair
		}
		return right
	}})
}

// dyingOfCode dies on an error code, from the nth call on.
func dyingOfCode(code string, n int) fault {
	return failing(func(v view, f agent.Failure) bool { return f.Code == code && v.Made >= n })
}

// notOK reports whether a message is a tool.result that reports a failure.
func notOK(msg message) bool { return msg.Type() == proto.ToolResult && msg.Payload()["ok"] == false }

// diesOfNotOK does not expect a failed result.
func diesOfNotOK(o *options) {
	failed := false
	o.Inbound = func(_ view, msg message) []message {
		failed = notOK(msg)
		return []message{msg}
	}
	failing(func(view, agent.Failure) bool { return failed })(o)
}

// callError matches the error that answers a call.
func callError(v view, msg message) bool {
	return msg.Type() == proto.ErrorMessage && v.Awaited != nil && v.Awaited.Type == proto.ToolCall
}

// patient waits forever for replies.
func patient(o *options) { o.Limits.Answer = time.Hour }
