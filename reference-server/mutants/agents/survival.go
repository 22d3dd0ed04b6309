package agents

import (
	"slices"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
)

// survivalFaults die of what a host or a relay may send, or hang.
var survivalFaults = map[string]fault{
	"dies-of-broken-json":        dyingOf(junk(func(data string) bool { return strings.HasPrefix(data, "{") })),
	"dies-of-an-empty-text":      dyingOf(junk(func(data string) bool { return data == "" })),
	"dies-of-a-list":             dyingOf(junk(func(data string) bool { return strings.HasPrefix(data, "[") })),
	"dies-of-null":               dyingOf(junk(func(data string) bool { return data == "null" })),
	"dies-of-a-number":           dyingOf(junk(func(data string) bool { return data == "42" })),
	"dies-of-a-text":             dyingOf(junk(func(data string) bool { return strings.HasPrefix(data, `"`) })),
	"dies-of-a-binary-frame":     dyingOf(kind(agent.NoText)),
	"dies-of-unknown-types":      dyingOf(func(o agent.Oddity) bool { return o.Kind == agent.UnknownType && !strings.HasPrefix(o.Why, "relay.") }),
	"dies-of-presence":           dyingOf(func(o agent.Oddity) bool { return o.Kind == agent.UnknownType && strings.HasPrefix(o.Why, "relay.") }),
	"dies-of-a-missing-payload":  dyingOf(lacks("payload")),
	"dies-of-a-missing-type":     dyingOf(lacks("type")),
	"dies-of-others-results":     dyingOf(unasked(proto.ToolResult)),
	"dies-of-others-errors":      dyingOf(unasked(proto.ErrorMessage)),
	"dies-of-unknown-members":    deciding(func() rules { return strict(unknownMember) }),
	"dies-of-members-in-a-state": deciding(func() rules { return strict(unknownInState) }),
	"dies-of-long-messages":      diesOfLong,
	"dies-of-what-the-user-says": diesOfType(proto.UserMessage),
	"deaf-behind-junk":           deafBehindJunk,
	"dies-of-invalid-message":    dyingOfCode(proto.InvalidMessage, 1),
	"dies-of-unknown-tool":       dyingOfCode(proto.UnknownTool, 1),
	"dies-of-invalid-params":     dyingOfCode(proto.InvalidParams, 1),
	"dies-of-no-active-spec":     dyingOfCode(proto.NoActiveSpec, 1),
	"dies-of-a-failing-tool":     dyingOfCode(proto.ToolExecutionFailed, 1),
	"dies-of-a-late-failure":     dyingOfCode(proto.ToolExecutionFailed, 3),
	"dies-of-a-lost-session":     dyingOfCode(proto.SessionNotActive, 1),
	"dies-of-unknown-codes":      failing(func(f agent.Failure) bool { return !slices.Contains(proto.Codes(), f.Code) }),
	"dies-of-errors":             failing(func(agent.Failure) bool { return true }),
	"dies-of-ok-false":           diesOfNotOK,
	"waits-behind-an-error":      both(hearing(hearsNoErrors), patient),
	"waits-behind-ok-false":      both(hearing(hearsNoFailures), patient),
}

func dyingOf(which func(o agent.Oddity) bool) fault {
	return deciding(func() rules {
		return rules{strange: func(_ view, o agent.Oddity) agent.Reaction {
			if which(o) {
				return agent.Die
			}
			return agent.Ignore
		}}
	})
}

// junk matches texts that are no JSON object.
func junk(which func(data string) bool) func(o agent.Oddity) bool {
	return func(o agent.Oddity) bool { return o.Kind == agent.NoObject && which(string(o.Data)) }
}

func kind(k agent.OddityKind) func(o agent.Oddity) bool {
	return func(o agent.Oddity) bool { return o.Kind == k }
}

// lacks matches objects without a member of the envelope.
func lacks(name string) func(o agent.Oddity) bool {
	return func(o agent.Oddity) bool { return o.Kind == agent.NoEnvelope && o.Message[name] == nil }
}

// unasked matches answers to nothing, of a type.
func unasked(kind string) func(o agent.Oddity) bool {
	return func(o agent.Oddity) bool { return o.Kind == agent.Unasked && o.Message.Type() == kind }
}

// strict has an envelope for none that has members of which it does not know, and dies of it.
func strict(unknown func(msg message) bool) rules {
	return rules{
		accept: func(v view, msg message) string {
			if unknown(msg) {
				return "unknown member"
			}
			return correct.Accept(v, msg)
		},
		strange: func(_ view, o agent.Oddity) agent.Reaction {
			if o.Why == "unknown member" {
				return agent.Die
			}
			return agent.Ignore
		},
	}
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

// diesOfLong reads messages of 64 KiB, as its library does, and gives up when the connection ends of a longer one.
func diesOfLong(o *options) {
	o.Limits.Frame = 64 << 10
	o.Policy = rules{reconnect: func(view) bool { return false }}
}

// diesOfType dies of messages of a type.
func diesOfType(kind string) fault {
	return func(o *options) {
		o.Inbound = func(_ view, msg message) []message {
			if msg.Type() == kind {
				return []message{msg.With("type", "unhandled")}
			}
			return []message{msg}
		}
		o.Policy = rules{strange: func(_ view, odd agent.Oddity) agent.Reaction {
			if odd.Why == "unhandled" {
				return agent.Die
			}
			return agent.Ignore
		}}
	}
}

// deafBehindJunk reads no more once it could not read something, but goes on to talk.
func deafBehindJunk(o *options) {
	deaf := false
	o.Policy = rules{strange: func(_ view, odd agent.Oddity) agent.Reaction {
		deaf = deaf || odd.Kind == agent.NoObject
		return agent.Ignore
	}}
	o.Inbound = func(_ view, msg message) []message {
		if deaf {
			return nil
		}
		return []message{msg}
	}
}

// failing dies of some calls that fail.
func failing(which func(f agent.Failure) bool) fault {
	return deciding(func() rules {
		return rules{failed: func(v view, f agent.Failure) agent.Remedy {
			if f.Request.Type == proto.ToolCall && which(f) {
				return agent.Despair
			}
			return correct.Failed(v, f)
		}}
	})
}

// dyingOfCode dies of a code, from the nth call on.
func dyingOfCode(code string, n int) fault {
	return deciding(func() rules {
		return rules{failed: func(v view, f agent.Failure) agent.Remedy {
			if f.Request.Type == proto.ToolCall && f.Code == code && v.Made >= n {
				return agent.Despair
			}
			return correct.Failed(v, f)
		}}
	})
}

// notOK tells whether a message is a tool.result that tells of a failure.
func notOK(msg message) bool { return msg.Type() == proto.ToolResult && msg.Payload()["ok"] == false }

// diesOfNotOK has no case for a result that is not ok.
func diesOfNotOK(o *options) {
	failed := false
	o.Inbound = func(_ view, msg message) []message {
		failed = notOK(msg)
		return []message{msg}
	}
	o.Policy = rules{failed: func(v view, f agent.Failure) agent.Remedy {
		if failed {
			return agent.Despair
		}
		return correct.Failed(v, f)
	}}
}

// hearsNoErrors waits for a result to each call.
func hearsNoErrors() agent.Inbound {
	return func(v view, msg message) []message {
		if msg.Type() == proto.ErrorMessage && v.Awaited != nil && v.Awaited.Type == proto.ToolCall {
			return nil
		}
		return []message{msg}
	}
}

// hearsNoFailures waits for a result that is ok.
func hearsNoFailures() agent.Inbound {
	return func(_ view, msg message) []message {
		if notOK(msg) {
			return nil
		}
		return []message{msg}
	}
}

// patient waits for answers for ever.
func patient(o *options) { o.Limits.Answer = time.Hour }
