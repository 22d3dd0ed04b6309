package mutants

import (
	"crypto/rand"
	"fmt"
	"strings"
	"unicode"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// requiredFaults mishandle a chat whose required fields are missing or malformed.
var requiredFaults = map[string]fault{
	"agent-id-in-camel-case": misreading(proto.ChatType, func(msg message) { msg["agent_id"] = msg["agentId"] }),
	"agent-id-by-session-id": misreading(proto.ChatType, bySessionID),
	"agent-id-optional":      misreading(proto.ChatType, func(msg message) { setDefault(msg, "agent_id", "default") }),
	"agent-id-of-last-chat":  ofLastChat,
	"agent-id-null-is-none":  reading("agent_id", isNull, text),
	"agent-id-becomes-text":  reading("agent_id", isScalar, text),
	"agent-id-serialised":    reading("agent_id", isComposite, text),
	"agent-id-drops-chat":    without("agent_id", dropAbsent("agent_id")),
	"agent-id-missing-1011":  without("agent_id", closeWith(websocket.StatusInternalError)),

	"content-named-message":     misreading(proto.ChatType, func(msg message) { msg["content"] = msg["message"] }),
	"content-optional":          deciding(rules{Accept: contentOptional}),
	"content-null-is-none":      reading("content", isNull, text),
	"content-becomes-text":      reading("content", isScalar, text),
	"content-serialised":        reading("content", isComposite, text),
	"content-of-parts":          reading("content", isComposite, parts),
	"content-refused-too-late":  without("content", askFirst),
	"content-checked-too-late":  without("content", createFirst),
	"content-drops-chat":        without("content", dropAbsent("content")),
	"content-missing-1011":      without("content", closeWith(websocket.StatusInternalError)),
	"content-missing-1000":      without("content", closeWith(websocket.StatusNormalClosure)),
	"content-only-ascii":        onlyContent(func(s string) bool { return strings.IndexFunc(s, isForeign) < 0 }),
	"content-of-three-letters":  onlyContent(func(s string) bool { return len([]rune(s)) >= 3 }),
	"content-of-printable-only": onlyContent(func(s string) bool { return strings.Map(printable, s) == s }),
	"content-of-64-kib-at-most": onlyContent(func(s string) bool { return len(s) <= 64<<10 }),
	"refused-chat-ends-session": refusalEnds,
}

func bySessionID(msg message) { msg["agent_id"] = msg["session_id"] }

func setDefault(msg message, field, value string) {
	if _, present := msg[field]; !present {
		msg[field] = value
	}
}

// reading converts a field of a chat to a string if its value is of some kind.
func reading(field string, kind func(v any) bool, as func(v any) string) fault {
	return misreading(proto.ChatType, func(msg message) {
		if v, present := msg[field]; present && kind(v) {
			msg[field] = as(v)
		}
	})
}

func isNull(v any) bool { return v == nil }

func isScalar(v any) bool {
	switch v.(type) {
	case bool, sessionchat.Number:
		return true
	}
	return false
}

func isComposite(v any) bool {
	switch v.(type) {
	case []any, object:
		return true
	}
	return false
}

func isForeign(r rune) bool { return r > unicode.MaxASCII }

// text returns a value as a string: its JSON, or a word for null.
func text(v any) string {
	if v == nil {
		return "None"
	}
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// parts joins the texts of multimodal content.
func parts(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case object:
		s, _ := v["text"].(string)
		return s
	case []any:
		var all []string
		for _, part := range v {
			all = append(all, parts(part))
		}
		return strings.Join(all, "\n")
	}
	return ""
}

// contentOptional accepts a chat without content and asks the model with none.
func contentOptional(m manager, c connInfo, msg message) *refusal {
	if _, present := msg["content"]; msg["type"] == proto.ChatType && !present {
		msg = msg.With("content", "nothing")
	}
	return correct.Accept(m, c, msg)
}

// onlyContent refuses other contents.
func onlyContent(good func(content string) bool) fault {
	return deciding(rules{Accept: refusing(proto.InvalidMessage, "content is malformed",
		func(_ manager, _ connInfo, msg message) bool {
			content, _ := msg["content"].(string)
			return asked(msg) != "" && !good(content)
		})})
}

// ofLastChat treats a chat without agent_id as one of the session that its connection used last.
func ofLastChat(o *options) {
	ids := used{}
	o.Inbound = noting(func(_ manager, from connInfo, msg message) {
		if last := ids.last(from.ID); msg["type"] == proto.ChatType && last != "" {
			setDefault(msg, "agent_id", last)
		}
		ids.note(from, msg)
	})
}

// without handles a chat differently if a field is missing or not a string.
func without(field string, instead inbound) fault {
	return receiving(taking(proto.ChatType, func(m manager, from connInfo, msg message) []message {
		if _, isString := msg[field].(string); !isString {
			return instead(m, from, msg)
		}
		return []message{msg}
	}))
}

// dropAbsent logs that the field is missing, and continues.
func dropAbsent(field string) inbound {
	return func(_ manager, _ connInfo, msg message) []message {
		if _, present := msg[field]; !present {
			return nil
		}
		return []message{msg}
	}
}

func closeWith(code websocket.StatusCode) inbound {
	return func(m manager, from connInfo, _ message) []message {
		m.End(from.ID, code, "")
		return nil
	}
}

// askFirst refuses the message only after it has asked the model.
func askFirst(_ manager, _ connInfo, msg message) []message {
	return []message{msg.With("content", text(msg["content"])), msg}
}

// createFirst refuses the message only after it has created the session.
func createFirst(m manager, from connInfo, msg message) []message {
	if id := agentOf(msg); id != "" {
		m.Send(from.ID, announcement(id, rand.Text()))
	}
	return []message{msg}
}

// refusalEnds removes the session that a refused chat names, as after a failure.
func refusalEnds(o *options) {
	lost := losing(o)
	o.Policy.Accept = func(m manager, c connInfo, msg message) *refusal {
		no := correct.Accept(m, c, msg)
		if id := agentOf(msg); no != nil && msg["type"] == proto.ChatType && id != "" {
			lost.lose(id)
		}
		return no
	}
}
