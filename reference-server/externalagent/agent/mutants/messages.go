package mutants

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// messageFaults get the members of messages wrong.
var messageFaults = map[string]fault{
	"start-without-study":        lacking(proto.SessionStart, "studyId"),
	"start-study-a-number":       setting(proto.SessionStart, "studyId", 1),
	"start-without-participant":  lacking(proto.SessionStart, "participantId"),
	"start-participant-a-number": setting(proto.SessionStart, "participantId", 7),
	"start-participant-null":     setting(proto.SessionStart, "participantId", nil),
	"start-names-in-snake-case":  with(proto.SessionStart, startInSnake),
	"snapshot-with-the-session":  spoiling(proto.SnapshotGet, func(v view, p object) { p["sessionId"] = v.Session }),
	"snapshot-payload-missing":   rewriting(proto.SnapshotGet, spoil.Without("payload")),
	"snapshot-payload-null":      rewriting(proto.SnapshotGet, spoil.With("payload", nil)),
	"snapshot-with-since":        spoiling(proto.SnapshotGet, func(v view, p object) { p["since"] = v.Last.Serial }),
	"call-without-tool":          lacking(proto.ToolCall, "toolName"),
	"call-tool-renamed":          with(proto.ToolCall, spoil.Rename("toolName", "name")),
	"call-tool-an-object":        with(proto.ToolCall, spoil.Change("toolName", spoil.Within("name"))),
	"call-tool-null":             setting(proto.ToolCall, "toolName", nil),
	"call-without-params":        lacking(proto.ToolCall, "params"),
	"call-without-empty-params":  with(proto.ToolCall, withoutEmptyParams),
	"call-params-null-if-empty":  with(proto.ToolCall, nullIfEmpty),
	"call-params-a-list":         with(proto.ToolCall, paramsList),
	"call-params-a-text":         with(proto.ToolCall, paramsText),
	"call-params-renamed":        with(proto.ToolCall, spoil.Rename("params", "arguments")),
	"call-without-reason":        lacking(proto.ToolCall, "reason"),
	"call-reason-null":           setting(proto.ToolCall, "reason", nil),
	"call-reason-a-number":       setting(proto.ToolCall, "reason", 1),
	"call-reason-an-object":      with(proto.ToolCall, spoil.Change("reason", spoil.Within("text"))),
	"call-reason-once":           reasonOnce,
	"words-without-text":         lacking(proto.AgentMessage, "text"),
	"words-text-renamed":         with(proto.AgentMessage, spoil.Rename("text", "content")),
	"words-text-null":            setting(proto.AgentMessage, "text", nil),
	"words-text-in-parts": with(proto.AgentMessage, func(p object) {
		p["text"] = []any{object{"type": "text", "text": p["text"]}}
	}),
	"end-without-reason":           lacking(proto.SessionEnd, "reason"),
	"end-reason-null":              setting(proto.SessionEnd, "reason", nil),
	"end-reason-a-number":          setting(proto.SessionEnd, "reason", 0),
	"end-reason-an-object":         with(proto.SessionEnd, spoil.Change("reason", spoil.Within("code"))),
	"end-without-payload":          rewriting(proto.SessionEnd, spoil.Without("payload")),
	"return-snapshot-with-session": spoiling(proto.SnapshotGet, returnWithSession),
}

func startInSnake(p object) {
	rename(p, "studyId", "study_id")
	rename(p, "participantId", "participant_id")
}

// returnWithSession names the session in a snapshot.get on a later connection.
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

// paramsList sends only the values, like the arguments of a function.
func paramsList(p object) {
	list := []any{}
	params, _ := p["params"].(object)
	for _, v := range params {
		list = append(list, v)
	}
	p["params"] = list
}

// paramsText encodes the params as text, like the arguments of a language model's tool call.
func paramsText(p object) { p["params"] = string(wire.Encode(p["params"])) }

// reasonOnce gives a reason only in its first call.
func reasonOnce(o *options) {
	said := false
	with(proto.ToolCall, func(p object) {
		if said {
			delete(p, "reason")
		}
		said = true
	})(o)
}
