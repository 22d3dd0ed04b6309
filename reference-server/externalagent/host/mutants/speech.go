package mutants

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// speechFaults mishandle an agent's messages, or forward the participant's input incorrectly.
var speechFaults = map[string]fault{
	"talk-is-unknown-tool":  refusingTalk(proto.UnknownTool),
	"talk-refused":          refusingTalk(proto.InvalidMessage),
	"talk-needs-consent":    refusingTalk(proto.SessionNotActive),
	"talk-once":             hosting(talksOnce),
	"talk-in-first-session": hosting(talksInFirst),
	"talk-refused-unnamed":  refusingTalkUnnamed,
	"talk-confirmed-as-run": hearing(confirmsTalk),
	"talk-highlights":       talking(func(message) message { return calling(proto.Highlight, object{"itemId": "m1"}) }),
	"talk-filters": talking(func(message) message {
		return calling(proto.Filter, object{"attribute": "genre", "value": "drama"})
	}),
	"talk-goes-back":     talking(func(message) message { return calling(proto.Prev, object{}) }),
	"talk-chooses":       talking(func(message) message { return calling(proto.Select, object{"itemId": "t1"}) }),
	"talk-runs-its-tool": talking(itsTool),
	"talk-acts-later":    hosting(talkActsLater),
	"talk-hides-tools":   hosting(talkHidesTools),
	"talk-ends-form":     hosting(talkEndsForm),

	"user-forwarded-as-update":  answered(proto.UserMessage, proto.StateUpdated, updateOf),
	"user-forwarded-when-asked": hosting(userWhenAsked),
	"user-forwarded-once":       hosting(userOnce),
	"user-in-first-session":     hosting(userInFirst),
	"user-answers-last-request": hosting(userAnswers),
}

// talking executes a call before it handles an agent's message, and does not send the result.
func talking(f func(talk message) message) fault {
	return hosting(func(h *hostOptions) {
		h.Inbound = func(_ view, msg message) []message {
			if msg.Type() == proto.AgentMessage {
				if c := f(msg); c != nil {
					return []message{c, msg}
				}
			}
			return []message{msg}
		}
		h.Outbound = answersOnly
	})
}

// itsTool returns the call that a message resembles.
func itsTool(talk message) message {
	name := talk.PayloadText("toolName")
	switch name {
	case "":
		return nil
	case proto.Select:
		return calling(name, object{"itemId": "t1"})
	}
	return calling(name, object{})
}

// confirmsTalk answers an agent's message like a call.
func confirmsTalk(v view, msg message) []message {
	if msg.Type() == proto.AgentMessage {
		v.Send(wire.Reply(msg, proto.ToolResult, object{"ok": true, "toolName": proto.PostMessage}))
	}
	return []message{msg}
}

const noTalk = "agent.message is not accepted"

func refusingTalk(code string) fault {
	return deciding(policy{Ready: func(_ view, msg message, why *refusal) *refusal {
		if why == nil && msg.Type() == proto.AgentMessage {
			why = &refusal{Code: code, Text: noTalk}
		}
		return why
	}})
}

// refusingTalkUnnamed refuses an agent's message without replyTo.
var refusingTalkUnnamed = both(refusingTalk(proto.InvalidMessage), hosting(func(h *hostOptions) {
	h.Outbound = rewriter(proto.ErrorMessage, func(_ view, msg message) message {
		if msg.PayloadText("message") == noTalk {
			return msg.Without("replyTo")
		}
		return msg
	})
}))

// talksOnce accepts one agent message per session.
func talksOnce(h *hostOptions) {
	said := map[string]bool{}
	h.Policy.Ready = func(v view, msg message, why *refusal) *refusal {
		if why != nil || msg.Type() != proto.AgentMessage {
			return why
		}
		if said[v.SessionID()] {
			return &refusal{Code: proto.InvalidMessage, Text: "too many messages"}
		}
		said[v.SessionID()] = true
		return nil
	}
}

// talkActsLater executes a call after the next snapshot.
func talkActsLater(h *hostOptions) {
	pending := false
	h.Inbound = func(_ view, msg message) []message {
		switch {
		case msg.Type() == proto.AgentMessage:
			pending = true
		case pending && msg.Type() == proto.SnapshotGet:
			pending = false
			return []message{msg, calling(proto.Highlight, object{"itemId": "m1"})}
		}
		return []message{msg}
	}
	h.Outbound = answersOnly
}

// talked returns the set of study sessions in which an agent has sent a message.
func talked(h *hostOptions) map[string]bool {
	said := map[string]bool{}
	h.Policy.Accept = func(v view, msg message, why *refusal) *refusal {
		said[v.SessionID()] = said[v.SessionID()] || msg.Type() == proto.AgentMessage
		return why
	}
	return said
}

// talkHidesTools announces fewer tools after an agent's message.
func talkHidesTools(h *hostOptions) {
	said := talked(h)
	h.Policy.Tools = func(v view, all []tool) []tool {
		if said[v.SessionID()] && len(all) > 0 {
			all = all[:len(all)-1]
		}
		return all
	}
}

// talkEndsForm shows no form after an agent's message.
func talkEndsForm(h *hostOptions) {
	said := talked(h)
	h.Policy.State = func(v view, _ part, s state) state {
		if said[v.SessionID()] {
			s.UISpec = nil
		}
		return s
	}
}

// userWhenAsked withholds the participant's input until an agent sends a request.
func userWhenAsked(h *hostOptions) {
	var kept []message
	h.Outbound = func(_ view, msg message, send sender) {
		if msg.Type() == proto.UserMessage {
			kept = append(kept, msg)
			return
		}
		if isAnswer(msg) {
			for _, k := range kept {
				send(k)
			}
			kept = nil
		}
		send(msg)
	}
}

// userOnce forwards the participant's input only until the first result.
func userOnce(h *hostOptions) {
	called := false
	h.Outbound = func(_ view, msg message, send sender) {
		called = called || msg.Type() == proto.ToolResult
		if msg.Type() != proto.UserMessage || !called {
			send(msg)
		}
	}
}

// startsOf counts the sessions of a host.
func startsOf(h *hostOptions) *int {
	n := 0
	h.Inbound = func(v view, msg message) []message {
		if msg.Type() == proto.SessionStart && !v.Active() {
			n++
		}
		return []message{msg}
	}
	return &n
}

// userInFirst forwards the participant's input in the first session only.
func userInFirst(h *hostOptions) {
	n := startsOf(h)
	h.Outbound = func(_ view, msg message, send sender) {
		if msg.Type() != proto.UserMessage || *n < 2 {
			send(msg)
		}
	}
}

// talksInFirst refuses an agent's message in all sessions but the first.
func talksInFirst(h *hostOptions) {
	n := startsOf(h)
	h.Policy.Ready = func(_ view, msg message, why *refusal) *refusal {
		if why == nil && msg.Type() == proto.AgentMessage && *n > 1 {
			why = &refusal{Code: proto.SessionNotActive, Text: noTalk}
		}
		return why
	}
}

// userAnswers names the latest request in user.message.
func userAnswers(h *hostOptions) {
	last := any(nil)
	h.Inbound = func(_ view, msg message) []message {
		if id, has := msg["id"].(string); has {
			last = id
		}
		return []message{msg}
	}
	h.Outbound = rewriter(proto.UserMessage, func(_ view, msg message) message {
		if last != nil {
			msg = msg.With("replyTo", last)
		}
		return msg
	})
}
