package agents

import (
	"encoding/json"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
)

// messageFaults get the members of messages wrong.
var messageFaults = map[string]fault{
	"start-without-study":          lacking(proto.SessionStart, "studyId"),
	"start-study-a-number":         setting(proto.SessionStart, "studyId", 1),
	"start-without-participant":    lacking(proto.SessionStart, "participantId"),
	"start-participant-a-number":   setting(proto.SessionStart, "participantId", 7),
	"start-participant-null":       setting(proto.SessionStart, "participantId", nil),
	"start-names-in-snake-case":    with(proto.SessionStart, startInSnake),
	"snapshot-with-the-session":    rewritingView(proto.SnapshotGet, func(v view, p object) { p["sessionId"] = v.Session }),
	"snapshot-payload-missing":     rewriting(proto.SnapshotGet, func(msg message) message { return msg.Without("payload") }),
	"snapshot-payload-null":        rewriting(proto.SnapshotGet, func(msg message) message { return msg.With("payload", nil) }),
	"snapshot-with-since":          rewritingView(proto.SnapshotGet, snapshotSince),
	"call-without-tool":            lacking(proto.ToolCall, "toolName"),
	"call-tool-renamed":            with(proto.ToolCall, func(p object) { p["name"] = p["toolName"]; delete(p, "toolName") }),
	"call-tool-an-object":          with(proto.ToolCall, func(p object) { p["toolName"] = object{"name": p["toolName"]} }),
	"call-tool-null":               setting(proto.ToolCall, "toolName", nil),
	"call-without-params":          lacking(proto.ToolCall, "params"),
	"call-without-empty-params":    with(proto.ToolCall, withoutEmptyParams),
	"call-params-null-if-empty":    with(proto.ToolCall, func(p object) { nullIfEmpty(p) }),
	"call-params-a-list":           with(proto.ToolCall, paramsList),
	"call-params-a-text":           with(proto.ToolCall, paramsText),
	"call-params-renamed":          with(proto.ToolCall, func(p object) { p["arguments"] = p["params"]; delete(p, "params") }),
	"call-without-reason":          lacking(proto.ToolCall, "reason"),
	"call-reason-null":             setting(proto.ToolCall, "reason", nil),
	"call-reason-a-number":         setting(proto.ToolCall, "reason", 1),
	"call-reason-an-object":        with(proto.ToolCall, func(p object) { p["reason"] = object{"text": p["reason"]} }),
	"call-reason-once":             telling(reasonOnce),
	"words-without-text":           lacking(proto.AgentMessage, "text"),
	"words-text-renamed":           with(proto.AgentMessage, func(p object) { p["content"] = p["text"]; delete(p, "text") }),
	"words-text-null":              setting(proto.AgentMessage, "text", nil),
	"words-text-in-parts":          with(proto.AgentMessage, func(p object) { p["text"] = []any{object{"type": "text", "text": p["text"]}} }),
	"end-without-reason":           lacking(proto.SessionEnd, "reason"),
	"end-reason-null":              setting(proto.SessionEnd, "reason", nil),
	"end-reason-a-number":          setting(proto.SessionEnd, "reason", 0),
	"end-reason-an-object":         with(proto.SessionEnd, func(p object) { p["reason"] = object{"code": p["reason"]} }),
	"end-without-payload":          rewriting(proto.SessionEnd, func(msg message) message { return msg.Without("payload") }),
	"return-snapshot-with-session": rewritingView(proto.SnapshotGet, returnWithSession),
}

// rewritingView changes the payload of the messages of a type by what is known.
func rewritingView(kind string, f func(v view, p object)) fault {
	return telling(func() agent.Outbound {
		return func(v view, msg message, send sender) {
			if msg.Type() == kind {
				p := object{}
				f(v, p)
				msg = msg.With("payload", p)
			}
			send(msg)
		}
	})
}

func startInSnake(p object) {
	p["study_id"], p["participant_id"] = p["studyId"], p["participantId"]
	delete(p, "studyId")
	delete(p, "participantId")
}

func snapshotSince(v view, p object) { p["since"] = v.Last.Serial }

// returnWithSession names the session in a snapshot.get on another connection than the first.
func returnWithSession(v view, p object) {
	if v.Connection > 1 {
		p["sessionId"] = v.Session
	}
}

func isEmpty(p object) bool {
	params, _ := p["params"].(object)
	return len(params) == 0
}

func withoutEmptyParams(p object) {
	if isEmpty(p) {
		delete(p, "params")
	}
}

func nullIfEmpty(p object) {
	if isEmpty(p) {
		p["params"] = nil
	}
}

// paramsList has the values alone, as a function is called.
func paramsList(p object) {
	list := []any{}
	params, _ := p["params"].(object)
	for _, v := range params {
		list = append(list, v)
	}
	p["params"] = list
}

// paramsText is what a language model's tool call has for arguments.
func paramsText(p object) {
	text, _ := json.Marshal(p["params"])
	p["params"] = string(text)
}

// reasonOnce says why in its first call alone.
func reasonOnce() agent.Outbound {
	said := false
	return func(_ view, msg message, send sender) {
		if msg.Type() == proto.ToolCall {
			if said {
				msg = msg.With("payload", object{"toolName": msg.Payload()["toolName"], "params": msg.Payload()["params"]})
			}
			said = true
		}
		send(msg)
	}
}
