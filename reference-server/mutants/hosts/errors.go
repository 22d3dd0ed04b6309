package hosts

import (
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
)

// errorFaults get the message wrong by which a request is refused.
var errorFaults = map[string]fault{
	"errors-unnamed":           unnamed(proto.ErrorMessage),
	"errors-name-no-request":   rewriting(proto.ErrorMessage, func(_ view, msg message) message { return msg.With("replyTo", "") }),
	"errors-name-tool":         hosting(errorsNameTool),
	"errors-have-request-id":   rewriting(proto.ErrorMessage, func(_ view, msg message) message { return msg.Without("replyTo").With("id", msg["replyTo"]) }),
	"errors-name-in-payload":   rewriting(proto.ErrorMessage, replyToInPayload),
	"refusals-unanswered":      silent(proto.ErrorMessage),
	"error-without-code":       erring(lose("code")),
	"error-code-is-number":     erring(set("code", -32601)),
	"error-code-is-http":       erring(set("code", 404)),
	"error-code-in-object":     erring(func(p object) { p["error"] = object{"code": p["code"]}; delete(p, "code") }),
	"error-code-named-type":    erring(rename("code", "type")),
	"error-code-in-lower-case": erring(changeCode(strings.ToLower)),
	"error-code-in-kebab-case": erring(changeCode(func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") })),
	"error-code-in-camel-case": erring(changeCode(camelCase)),
	"error-code-prefixed":      erring(changeCode(func(s string) string { return "ERR_" + s })),
	"error-code-of-its-own":    erring(changeCode(func(string) string { return "INTERNAL_ERROR" })),
	"tool-not-announced-code":  recodingHost(proto.UnknownTool, "TOOL_NOT_ANNOUNCED"),
	"error-without-message":    erring(lose("message")),
	"error-message-null":       erring(set("message", nil)),
	"error-message-is-list":    erring(change("message", func(v any) any { return []any{v} })),
	"error-message-is-object":  erring(change("message", func(v any) any { return object{"en": v} })),
	"error-message-named-text": erring(rename("message", "text")),
	"relay-errors-in-words": failing(func(about relay.Request, why relay.Refusal) relay.Message {
		return fails(about, why).With("payload", object{"code": why.Code})
	}),
	"relay-errors-in-lower-case": failing(func(about relay.Request, why relay.Refusal) relay.Message {
		return fails(about, relay.Refusal{Code: strings.ToLower(why.Code), Text: why.Text})
	}),
}

// erring spoils the payloads of the host's errors.
func erring(f func(payload object)) fault { return spoiling(proto.ErrorMessage, f) }

func changeCode(f func(code string) string) func(payload object) {
	return change("code", func(v any) any { return f(v.(string)) })
}

func camelCase(code string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(strings.ToLower(code), "_") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// recodingHost has another code in the place of one of the host's.
func recodingHost(code, other string) fault {
	return erring(func(payload object) {
		if payload["code"] == code {
			payload["code"] = other
		}
	})
}

// errorsNameTool names the tool that was called in the place of the request.
func errorsNameTool(h *hostOptions) {
	name := ""
	h.Inbound = func(_ view, msg message) []message {
		name = toolOf(msg)
		return []message{msg}
	}
	h.Outbound = func(_ view, msg message, send sender) {
		if msg.Type() == proto.ErrorMessage && name != "" {
			msg = msg.With("replyTo", name)
		}
		send(msg)
	}
}

func replyToInPayload(_ view, msg message) message {
	msg.Payload()["replyTo"] = msg["replyTo"]
	return msg.Without("replyTo")
}

// answerFaults answer a call twice, or half.
var answerFaults = map[string]fault{
	"refused-twice":            answering(proto.ErrorMessage, func(msg message) []message { return []message{falseResult(msg), msg} }),
	"refused-behind-result":    answering(proto.ErrorMessage, func(msg message) []message { return []message{msg, falseResult(msg)} }),
	"error-told-twice":         answering(proto.ErrorMessage, func(msg message) []message { return []message{msg, msg} }),
	"result-told-twice":        answering(proto.ToolResult, func(msg message) []message { return []message{msg, msg} }),
	"result-pending-first":     answering(proto.ToolResult, func(msg message) []message { return []message{pending(msg), msg} }),
	"result-and-error":         answering(proto.ToolResult, func(msg message) []message { return []message{msg, lateError(msg)} }),
	"refused-by-result-alone":  answering(proto.ErrorMessage, func(msg message) []message { return []message{falseResult(msg)} }),
	"refused-by-ok-true":       answering(proto.ErrorMessage, func(msg message) []message { return []message{okResult(msg)} }),
	"refused-by-error-in-text": answering(proto.ErrorMessage, func(msg message) []message { return []message{textResult(msg)} }),
}

// answering sends other answers to calls in the place of one.
func answering(kind string, f func(msg message) []message) fault {
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
			for _, m := range f(msg) {
				send(m)
			}
		}
	})
}

func falseResult(msg message) message {
	return host.Reply(answeredBy(msg), proto.ToolResult, object{"ok": false, "toolName": "", "message": msg.Payload()["message"]})
}

func okResult(msg message) message {
	return host.Reply(answeredBy(msg), proto.ToolResult, object{"ok": true, "toolName": "", "error": msg.Payload()["code"]})
}

// textResult is what a tool server says of a failure: a text for the model to read.
func textResult(msg message) message {
	return host.Reply(answeredBy(msg), proto.ToolResult, object{"ok": false, "toolName": "", "content": msg.Payload()["message"]})
}

func pending(msg message) message {
	return msg.With("payload", object{"ok": true, "toolName": msg.Payload()["toolName"], "pending": true})
}

func lateError(msg message) message {
	return host.Reply(answeredBy(msg), proto.ErrorMessage, object{"code": proto.ToolExecutionFailed, "message": "timed out"})
}

// failureFaults refuse a call otherwise while no form is shown, or when its tool fails.
var failureFaults = map[string]fault{
	"no-spec-is-unknown-tool": recodingHost(proto.NoActiveSpec, proto.UnknownTool),
	"no-spec-is-failure":      recodingHost(proto.NoActiveSpec, proto.ToolExecutionFailed),
	"no-spec-is-inactive":     recodingHost(proto.NoActiveSpec, proto.SessionNotActive),
	"no-spec-is-no-params":    recodingHost(proto.NoActiveSpec, proto.InvalidParams),
	"no-spec-is-own-code":     recodingHost(proto.NoActiveSpec, "BOOKING_COMPLETE"),
	"no-spec-is-ok":           whereRefused(proto.NoActiveSpec, okResult),
	"no-spec-unanswered":      whereRefused(proto.NoActiveSpec, nil),
	"failure-is-no-params":    recodingHost(proto.ToolExecutionFailed, proto.InvalidParams),
	"failure-is-invalid":      recodingHost(proto.ToolExecutionFailed, proto.InvalidMessage),
	"failure-is-unknown-tool": recodingHost(proto.ToolExecutionFailed, proto.UnknownTool),
	"failure-is-own-code":     recodingHost(proto.ToolExecutionFailed, "SOLD_OUT"),
	"failure-is-ok":           whereRefused(proto.ToolExecutionFailed, okResult),
	"failure-unanswered":      whereRefused(proto.ToolExecutionFailed, nil),
	"failure-has-no-code":     whereRefused(proto.ToolExecutionFailed, falseResult),
}

// whereRefused answers otherwise where a code is due; without f, not at all.
func whereRefused(code string, f func(msg message) message) fault {
	return telling(func() host.Outbound {
		return func(_ view, msg message, send sender) {
			switch {
			case msg.Type() != proto.ErrorMessage || msg.Payload()["code"] != code:
				send(msg)
			case f != nil:
				send(f(msg))
			}
		}
	})
}
