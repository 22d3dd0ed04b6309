package mutants

import (
	"slices"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	relaymutants "parley/reference-server/externalagent/relay/mutants"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// versionFaults accept an envelope of another version, or refuse it incorrectly.
var versionFaults = map[string]fault{
	"version-unread":       asVersion(func(any, bool) bool { return true }),
	"version-optional":     asVersion(func(_ any, there bool) bool { return !there }),
	"version-null-is-none": asVersion(func(v any, there bool) bool { return there && v == nil }),
	"version-older-taken":  asVersion(func(v any, _ bool) bool { return v == "mvp-0.1" }),
	"version-newer-taken":  asVersion(func(v any, _ bool) bool { return v == "mvp-0.3" }),
	"version-any-case": asVersion(func(v any, _ bool) bool {
		s, _ := v.(string)
		return strings.EqualFold(s, proto.Version)
	}),
	"version-number-taken":   asVersion(func(v any, _ bool) bool { return v == 0.2 }),
	"version-name-any-case":  mending(func(msg object) object { return withDefault(msg, "v", msg["V"]) }),
	"version-unread-in-join": likeRelay("join-v-unchecked"),
	"wrong-version-dropped":  mending(func(msg object) object { return when(msg["v"] == proto.Version, msg) }),
	"wrong-version-no-tool":  recoding(relay.CheckV, proto.UnknownTool),
	"wrong-version-inactive": recoding(relay.CheckV, proto.SessionNotActive),
	"wrong-version-own-code": recoding(relay.CheckV, "UNSUPPORTED_VERSION"),
}

// junkFaults accept frames that are not JSON objects, or refuse them incorrectly.
var junkFaults = map[string]fault{
	"junk-dropped":     likeRelay("junk-unanswered"),
	"junk-closes-1007": likeRelay("junk-closes"),
	"junk-closes-1000": inRelay(relaymutants.ClosingAt(func(e *envelope) bool {
		return e.Fault != ""
	}, websocket.StatusNormalClosure)),
	"junk-has-own-code":  recoding(relay.CheckText, "PARSE_ERROR"),
	"junk-is-a-failure":  recoding(relay.CheckText, proto.ToolExecutionFailed),
	"junk-is-no-params":  recoding(relay.CheckText, proto.InvalidParams),
	"batches-taken":      likeRelay("list-is-a-batch"),
	"first-value-counts": likeRelay("first-value-counts"),
	"empty-text-dropped": likeRelay("empty-text-unanswered"),
	"null-dropped":       likeRelay("null-unanswered"),
	"number-dropped":     likeRelay("number-unanswered"),
	"text-is-a-command":  inRelay(commanded),
	"text-dropped":       likeRelay("text-unanswered"),
	"list-dropped":       likeRelay("list-unanswered"),
	"malformed-mended":   likeRelay("broken-json-is-mended"),
	"halves-joined":      likeRelay("half-is-awaited"),
}

// typeFaults misread a type, or accept an envelope without one.
var typeFaults = map[string]fault{
	"untyped-dropped":      mending(func(msg object) object { _, there := msg["type"]; return when(there, msg) }),
	"untyped-is-snapshot":  mending(func(msg object) object { return withDefault(msg, "type", proto.SnapshotGet) }),
	"unknown-type-dropped": mending(func(msg object) object { return when(msg["type"] != "parley.unknown", msg) }),
	"unknown-type-no-tool": recoding(relay.CheckKnown, proto.UnknownTool),
	"unknown-type-failure": recoding(relay.CheckKnown, proto.ToolExecutionFailed),
	"empty-type-dropped":   mending(func(msg object) object { return when(msg["type"] != "", msg) }),
	"null-type-dropped": mending(func(msg object) object {
		v, there := msg["type"]
		return when(!there || v != nil, msg)
	}),
	"number-type-dropped": mending(func(msg object) object {
		_, isNumber := msg["type"].(float64)
		return when(!isNumber, msg)
	}),
	"list-type-unwrapped":   likeRelay("type-in-a-list-counts"),
	"type-any-case":         mending(lowerType),
	"type-no-text-own-code": recoding(relay.CheckType, "BAD_REQUEST"),
}

// payloadFaults accept a payload that is not an object, or refuse it incorrectly.
var payloadFaults = map[string]fault{
	"payload-optional":          mending(func(msg object) object { return withDefault(msg, "payload", object{}) }),
	"payload-null-is-empty":     emptyPayload(func(v any) bool { return v == nil }),
	"payload-list-is-empty":     emptyPayload(func(v any) bool { _, is := v.([]any); return is }),
	"payload-text-is-parsed":    emptyPayload(func(v any) bool { return v == "{}" }),
	"payload-number-is-empty":   emptyPayload(func(v any) bool { _, is := v.(float64); return is }),
	"payload-true-is-empty":     emptyPayload(func(v any) bool { return v == true }),
	"payload-unread":            mending(snapshotUnread),
	"no-payload-dropped":        mending(func(msg object) object { _, there := msg["payload"]; return when(there, msg) }),
	"no-payload-is-no-params":   recoding(relay.CheckPayload, proto.InvalidParams),
	"no-payload-own-code":       recoding(relay.CheckPayload, "BAD_PAYLOAD"),
	"join-without-payload":      likeRelay("join-payload-by-default"),
	"join-with-null-for-all":    likeRelay("join-payload-null-taken"),
	"join-with-a-list-for-all":  likeRelay("join-payload-list-taken"),
	"join-without-payload-lost": likeRelay("join-payload-unanswered"),
}

// recoding refuses agents' envelopes that fail a check with another code.
func recoding(check, code string) fault { return inRelay(relaymutants.Recoding(check, code)) }

// when returns msg if ok, else nil.
func when(ok bool, msg object) object {
	if !ok {
		return nil
	}
	return msg
}

func withDefault(msg object, name string, v any) object {
	if _, there := msg[name]; !there && v != nil {
		msg[name] = v
	}
	return msg
}

// asVersion treats some versions as the correct one.
func asVersion(which func(v any, there bool) bool) fault {
	return mending(func(msg object) object {
		if v, there := msg["v"]; which(v, there) {
			msg["v"] = proto.Version
		}
		return msg
	})
}

// commanded reads a JSON string as a type.
func commanded(o *relay.Options) {
	o.Inbound = func(_ relayView, from party, in frame) []frame {
		if kind, err := jsontext.AppendUnquote(nil, slices.Clone(in.Data)); err == nil && !from.Attached {
			in.Data = wire.Encode(wire.New(string(kind), object{}))
		}
		return []frame{in}
	}
}

func lowerType(msg object) object {
	if kind, is := msg["type"].(string); is {
		msg["type"] = strings.ToLower(kind)
	}
	return msg
}

func snapshotUnread(msg object) object {
	if msg["type"] == proto.SnapshotGet {
		msg["payload"] = object{}
	}
	return msg
}

// emptyPayload treats some payloads as empty.
func emptyPayload(which func(v any) bool) fault {
	return mending(func(msg object) object {
		if v, there := msg["payload"]; there && which(v) {
			msg["payload"] = object{}
		}
		return msg
	})
}

// errorFaults send a wrong error for a refused request.
var errorFaults = map[string]fault{
	"errors-name-tool":         hosting(errorsNameTool),
	"error-code-in-object":     erring(func(p object) { p["error"] = object{"code": p["code"]}; delete(p, "code") }),
	"error-code-in-lower-case": erring(spoil.Text("code", strings.ToLower)),
	"error-code-in-kebab-case": erring(spoil.Text("code", func(s string) string {
		return strings.ReplaceAll(strings.ToLower(s), "_", "-")
	})),
	"error-code-in-camel-case":   erring(spoil.Text("code", camelCase)),
	"relay-errors-in-words":      likeRelay("errors-without-message"),
	"relay-errors-in-lower-case": likeRelay("errors-in-lower-case"),

	"relay-refuses-versions-unnamed": likeRelay("versions-refused-unnamed"),
}

// erring spoils the payloads of the host's errors.
func erring(f func(payload object)) fault { return spoiling(proto.ErrorMessage, f) }

func camelCase(code string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(strings.ToLower(code), "_") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// errorsNameTool names the called tool instead of the request.
func errorsNameTool(h *hostOptions) {
	name := ""
	h.Inbound = func(_ view, msg message) []message {
		name = toolOf(msg)
		return []message{msg}
	}
	h.Outbound = rewriter(proto.ErrorMessage, func(_ view, msg message) message {
		if name != "" {
			msg = msg.With("replyTo", name)
		}
		return msg
	})
}

// answerFaults answer a call twice, or with the wrong message.
var answerFaults = map[string]fault{
	"refused-twice":            answering(proto.ErrorMessage, falseResult, same),
	"refused-behind-result":    answering(proto.ErrorMessage, same, falseResult),
	"error-told-twice":         answering(proto.ErrorMessage, same, same),
	"result-told-twice":        answering(proto.ToolResult, same, same),
	"result-pending-first":     answering(proto.ToolResult, pending, same),
	"result-and-error":         answering(proto.ToolResult, same, lateError),
	"refused-by-result-alone":  answering(proto.ErrorMessage, falseResult),
	"refused-by-ok-true":       answering(proto.ErrorMessage, okResult),
	"refused-by-error-in-text": answering(proto.ErrorMessage, textResult),
}

// answering replaces the replies of a type to calls.
func answering(kind string, answers ...func(msg message) message) fault {
	return hosting(func(h *hostOptions) {
		called := false
		h.Inbound = func(_ view, msg message) []message {
			called = toolOf(msg) != ""
			return []message{msg}
		}
		h.Outbound = func(_ view, msg message, send sender) {
			if msg.Type() != kind || !called {
				send(msg)
				return
			}
			for _, answer := range answers {
				send(answer(msg))
			}
		}
	})
}

func same(msg message) message { return msg }

func falseResult(msg message) message {
	return resultWith(msg, false, "message", "message")
}

func okResult(msg message) message {
	return resultWith(msg, true, "error", "code")
}

// resultWith returns a tool.result that carries a member of an error.
func resultWith(msg message, ok bool, name, from string) message {
	payload := object{"ok": ok, "toolName": "", name: msg.Payload()[from]}
	return wire.Reply(request(msg), proto.ToolResult, payload)
}

// textResult reports a failure the way a tool server does: as a text for the model to read.
func textResult(msg message) message {
	return resultWith(msg, false, "content", "message")
}

func pending(msg message) message {
	return msg.With("payload", object{"ok": true, "toolName": msg.Payload()["toolName"], "pending": true})
}

func lateError(msg message) message {
	return wire.Reply(request(msg), proto.ErrorMessage, object{"code": proto.ToolExecutionFailed, "message": "timed out"})
}

// failureFaults refuse a call in another way while no form is shown, or when its tool fails.
var failureFaults = map[string]fault{
	"no-spec-is-ok":                whereRefused(proto.NoActiveSpec, okResult),
	"no-spec-unanswered":           whereRefused(proto.NoActiveSpec, nil),
	"failure-is-ok":                whereRefused(proto.ToolExecutionFailed, okResult),
	"failure-unanswered":           whereRefused(proto.ToolExecutionFailed, nil),
	"failure-answers-earlier-call": failuresAnswerEarlier,
	"failure-has-no-code":          whereRefused(proto.ToolExecutionFailed, falseResult),
}

// whereRefused replaces the errors with a code by another reply; a nil f sends nothing.
func whereRefused(code string, f func(msg message) message) fault {
	return telling(func(_ view, msg message, send sender) {
		switch {
		case msg.Type() != proto.ErrorMessage || msg.Payload()["code"] != code:
			send(msg)
		case f != nil:
			send(f(msg))
		}
	})
}

// failuresAnswerEarlier gives the error of a tool that fails the id of the latest call that succeeded.
func failuresAnswerEarlier(o *options) {
	var mu sync.Mutex
	latest := map[int]any{} // by connection
	o.Relay.Outbound = func(_ relayView, from, to party, data []byte, send func(int, []byte)) {
		msg := message(wire.Read(data))
		mu.Lock()
		id, succeeded := latest[to.Conn]
		switch {
		case from.Role != proto.HostRole:
		case msg.Type() == proto.ToolResult && msg.Payload()["ok"] == true:
			latest[to.Conn] = msg["replyTo"]
		case succeeded && msg.Type() == proto.ErrorMessage && msg.Payload()["code"] == proto.ToolExecutionFailed:
			data = wire.Encode(msg.With("replyTo", id))
		}
		mu.Unlock()
		send(to.Conn, data)
	}
}
