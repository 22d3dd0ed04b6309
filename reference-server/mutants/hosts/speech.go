package hosts

import (
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
)

// speechFaults mistake what an agent says, or do not tell it rightly what the participant says.
var speechFaults = map[string]fault{
	"talk-is-unknown-tool":  refusingTalk(proto.UnknownTool),
	"talk-refused":          refusingTalk(proto.InvalidMessage),
	"talk-needs-consent":    refusingTalk(proto.SessionNotActive),
	"talk-once":             deciding(talksOnce),
	"talk-refused-unnamed":  refusingTalkUnnamed,
	"talk-confirmed-as-run": taking(confirmsTalk),
	"talk-highlights":       talking(func(message) message { return calling(proto.Highlight, object{"itemId": "m1"}) }),
	"talk-filters":          talking(func(message) message { return calling(proto.Filter, object{"attribute": "genre", "value": "drama"}) }),
	"talk-goes-back":        talking(func(message) message { return calling(proto.Prev, object{}) }),
	"talk-chooses":          talking(func(message) message { return calling(proto.Select, object{"itemId": "t1"}) }),
	"talk-runs-its-tool":    talking(itsTool),
	"talk-is-a-call":        taking(talkIsCall),
	"talk-acts-later":       hosting(talkActsLater),
	"talk-hides-tools":      deciding(talkHidesTools),
	"talk-ends-form":        deciding(talkEndsForm),

	"user-not-forwarded":        silent(proto.UserMessage),
	"user-forwarded-as-agent":   both(trusting, telling(func() host.Outbound { return retyping(proto.UserMessage, proto.AgentMessage) })),
	"user-forwarded-as-input":   both(trusting, telling(func() host.Outbound { return retyping(proto.UserMessage, "user.input") })),
	"user-forwarded-as-update":  rewriting(proto.UserMessage, func(v view, _ message) message { return host.NewMessage(proto.StateUpdated, stateOf(v.State())) }),
	"user-forwarded-when-asked": telling(userWhenAsked),
	"user-forwarded-at-first":   userAt(func(stage any) bool { return stage == proto.MovieStage }),
	"user-forwarded-once":       telling(userOnce),
	"user-answers-last-request": hosting(userAnswers),
	"user-answers-null-id":      rewriting(proto.UserMessage, func(_ view, msg message) message { return msg.With("replyTo", "") }),

	"user-without-text":     spoiling(proto.UserMessage, rename("text", "content")),
	"user-text-is-list":     spoiling(proto.UserMessage, change("text", func(v any) any { return []any{object{"type": "text", "text": v}} })),
	"user-text-is-object":   spoiling(proto.UserMessage, change("text", func(v any) any { return object{"en": v} })),
	"user-text-is-redacted": spoiling(proto.UserMessage, redactedText),
	"user-without-stage":    spoiling(proto.UserMessage, lose("stage")),
	"user-stage-null":       spoiling(proto.UserMessage, set("stage", nil)),
	"user-stage-is-number":  spoiling(proto.UserMessage, set("stage", 3)),
	"user-stage-is-object":  spoiling(proto.UserMessage, change("stage", func(v any) any { return object{"name": v, "index": 1} })),
	"user-stage-at-first":   spoiling(proto.UserMessage, loseLaterStage),
}

// calling is a call that nobody has asked for.
func calling(name string, params object) message {
	return message{"v": proto.Version, "type": proto.ToolCall, "payload": object{"toolName": name, "params": params}}
}

// talking executes a call before what an agent says is taken, and tells nobody of the result.
func talking(f func(talk message) message) fault {
	return hosting(func(h *hostOptions) {
		h.Inbound = func(_ view, msg message) []message {
			if msg.Type() != proto.AgentMessage {
				return []message{msg}
			}
			if c := f(msg); c != nil {
				return []message{c, msg}
			}
			return []message{msg}
		}
		h.Outbound = answersOnly
	})
}

// answersOnly sends no result, and no error, that answers nobody.
func answersOnly(_ view, msg message, send sender) {
	if _, isAnswer := msg["replyTo"]; isAnswer || msg.Type() != proto.ToolResult && msg.Type() != proto.ErrorMessage {
		send(msg)
	}
}

// itsTool is the call that a message looks like.
func itsTool(talk message) message {
	name, _ := talk.Payload()["toolName"].(string)
	switch name {
	case "":
		return nil
	case proto.Select:
		return calling(name, object{"itemId": "t1"})
	}
	return calling(name, object{})
}

// talkIsCall goes by the members of a payload, and not by the type.
func talkIsCall(_ view, msg message) []message {
	if _, has := msg.Payload()["toolName"]; has && msg.Type() == proto.AgentMessage {
		msg = msg.With("type", proto.ToolCall)
	}
	return []message{msg}
}

// confirmsTalk answers what an agent says as if it were a call.
func confirmsTalk(v view, msg message) []message {
	if msg.Type() == proto.AgentMessage {
		v.Send(host.Reply(msg, proto.ToolResult, object{"ok": true, "toolName": proto.PostMessage}))
	}
	return []message{msg}
}

func refusingTalk(code string) fault {
	return ruling(rules{ready: func(v view, msg message) *refusal {
		if why := correct.Ready(v, msg); why != nil || msg.Type() != proto.AgentMessage {
			return why
		}
		return &refusal{Code: code, Text: "agent.message is not taken"}
	}})
}

// refusingTalkUnnamed does not say what it refuses.
var refusingTalkUnnamed = both(refusingTalk(proto.InvalidMessage), telling(func() host.Outbound {
	return func(_ view, msg message, send sender) {
		if msg.Type() == proto.ErrorMessage && msg.Payload()["message"] == "agent.message is not taken" {
			msg = msg.Without("replyTo")
		}
		send(msg)
	}
}))

// talksOnce takes one message per session; further ones are too many.
func talksOnce() rules {
	said := map[string]bool{}
	return rules{ready: func(v view, msg message) *refusal {
		if why := correct.Ready(v, msg); why != nil || msg.Type() != proto.AgentMessage {
			return why
		}
		if said[v.SessionID()] {
			return &refusal{Code: proto.InvalidMessage, Text: "too many messages"}
		}
		said[v.SessionID()] = true
		return nil
	}}
}

// talkActsLater executes a call behind the request that comes next.
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

// talkHidesTools announces fewer tools once an agent has said something.
func talkHidesTools() rules {
	said := map[string]bool{}
	return rules{
		accept: func(v view, msg message) *refusal {
			if msg.Type() == proto.AgentMessage {
				said[v.SessionID()] = true
			}
			return correct.Accept(v, msg)
		},
		tools: func(v view) []tool {
			all := correct.Tools(v)
			if said[v.SessionID()] && len(all) > 0 {
				all = all[:len(all)-1]
			}
			return all
		},
	}
}

// talkEndsForm shows no form any more once an agent has said something.
func talkEndsForm() rules {
	said := map[string]bool{}
	return rules{
		accept: func(v view, msg message) *refusal {
			if msg.Type() == proto.AgentMessage {
				said[v.SessionID()] = true
			}
			return correct.Accept(v, msg)
		},
		state: func(v view, _ host.Part) state {
			s := v.State()
			if said[v.SessionID()] {
				s.UISpec = nil
			}
			return s
		},
	}
}

// userWhenAsked keeps what the participant says until an agent asks for something.
func userWhenAsked() host.Outbound {
	var kept []message
	return func(_ view, msg message, send sender) {
		if msg.Type() == proto.UserMessage {
			kept = append(kept, msg)
			return
		}
		if _, isAnswer := msg["replyTo"]; isAnswer {
			for _, k := range kept {
				send(k)
			}
			kept = nil
		}
		send(msg)
	}
}

func userAt(which func(stage any) bool) fault {
	return telling(func() host.Outbound {
		return func(_ view, msg message, send sender) {
			if msg.Type() != proto.UserMessage || which(msg.Payload()["stage"]) {
				send(msg)
			}
		}
	})
}

// userOnce forwards one message per session, unless the agent has been told of a change since.
func userOnce() host.Outbound {
	calls := 0
	return func(_ view, msg message, send sender) {
		if msg.Type() == proto.ToolResult {
			calls++
		}
		if msg.Type() != proto.UserMessage || calls == 0 {
			send(msg)
		}
	}
}

// userAnswers names the latest request.
func userAnswers(h *hostOptions) {
	last := any(nil)
	h.Inbound = func(_ view, msg message) []message {
		if id, has := msg["id"].(string); has {
			last = id
		}
		return []message{msg}
	}
	h.Outbound = func(_ view, msg message, send sender) {
		if msg.Type() == proto.UserMessage && last != nil {
			msg = msg.With("replyTo", last)
		}
		send(msg)
	}
}

func redactedText(payload object) {
	text, _ := payload["text"].(string)
	payload["text"], payload["original"] = strings.Repeat("*", 8), text
}

// loseLaterStage tells the first stage only.
func loseLaterStage(payload object) {
	if payload["stage"] != proto.MovieStage {
		delete(payload, "stage")
	}
}
