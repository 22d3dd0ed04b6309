package mutants

import (
	"strings"
	"sync"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// errorFaults send a wrong error for a refused request.
var errorFaults = map[string]fault{
	"errors-unnamed":         unnamed(proto.ErrorMessage),
	"errors-name-no-request": rewriting(proto.ErrorMessage, spoil.With("replyTo", "")),
	"errors-name-tool":       hosting(errorsNameTool),
	"errors-have-request-id": rewriting(proto.ErrorMessage, func(msg message) message {
		return msg.Without("replyTo").With("id", msg["replyTo"])
	}),
	"errors-name-in-payload":   rewriting(proto.ErrorMessage, replyToInPayload),
	"refusals-unanswered":      silent(proto.ErrorMessage),
	"error-without-code":       erring(spoil.Lose("code")),
	"error-code-is-number":     erring(spoil.Set("code", -32601)),
	"error-code-is-http":       erring(spoil.Set("code", 404)),
	"error-code-in-object":     erring(func(p object) { p["error"] = object{"code": p["code"]}; delete(p, "code") }),
	"error-code-named-type":    erring(spoil.Rename("code", "type")),
	"error-code-in-lower-case": erring(spoil.Text("code", strings.ToLower)),
	"error-code-in-kebab-case": erring(spoil.Text("code", func(s string) string {
		return strings.ReplaceAll(strings.ToLower(s), "_", "-")
	})),
	"error-code-in-camel-case":   erring(spoil.Text("code", camelCase)),
	"error-code-prefixed":        erring(spoil.Text("code", func(s string) string { return "ERR_" + s })),
	"error-code-of-its-own":      erring(spoil.Text("code", func(string) string { return "INTERNAL_ERROR" })),
	"tool-not-announced-code":    recodingHost(proto.UnknownTool, "TOOL_NOT_ANNOUNCED"),
	"error-without-message":      erring(spoil.Lose("message")),
	"error-message-null":         erring(spoil.Set("message", nil)),
	"error-message-is-list":      erring(spoil.Change("message", spoil.InList)),
	"error-message-is-object":    erring(spoil.Change("message", spoil.Within("en"))),
	"error-message-named-text":   erring(spoil.Rename("message", "text")),
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

// recodingHost replaces one error code of the host by another.
func recodingHost(code, other string) fault {
	return erring(func(payload object) {
		if payload["code"] == code {
			payload["code"] = other
		}
	})
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

func replyToInPayload(msg message) message {
	msg.Payload()["replyTo"] = msg["replyTo"]
	return msg.Without("replyTo")
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
	"no-spec-is-unknown-tool":      recodingHost(proto.NoActiveSpec, proto.UnknownTool),
	"no-spec-is-failure":           recodingHost(proto.NoActiveSpec, proto.ToolExecutionFailed),
	"no-spec-is-inactive":          recodingHost(proto.NoActiveSpec, proto.SessionNotActive),
	"no-spec-is-no-params":         recodingHost(proto.NoActiveSpec, proto.InvalidParams),
	"no-spec-is-own-code":          recodingHost(proto.NoActiveSpec, "BOOKING_COMPLETE"),
	"no-spec-is-ok":                whereRefused(proto.NoActiveSpec, okResult),
	"no-spec-unanswered":           whereRefused(proto.NoActiveSpec, nil),
	"failure-is-no-params":         recodingHost(proto.ToolExecutionFailed, proto.InvalidParams),
	"failure-is-invalid":           recodingHost(proto.ToolExecutionFailed, proto.InvalidMessage),
	"failure-is-unknown-tool":      recodingHost(proto.ToolExecutionFailed, proto.UnknownTool),
	"failure-is-own-code":          recodingHost(proto.ToolExecutionFailed, "SOLD_OUT"),
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
