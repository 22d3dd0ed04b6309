package studylog

import (
	"maps"
	"slices"

	vocab "parley/protocol/externalagent"
	wjson "parley/wire/json"
)

// needs are the members by which the payload of a type is known, sections 4.1 and 4.2. Those of error are not among them: a
// profile may have them elsewhere.
var needs = map[string][]string{
	vocab.SessionStart: {"studyId", "participantId"}, vocab.ToolCall: {"toolName"}, vocab.AgentMessage: {"text"},
	vocab.SessionStarted: {"sessionId"}, vocab.SnapshotState: {"uiSpec", "messageHistory", "toolSchema"}, vocab.ToolResult: {"ok"},
	vocab.StateUpdated: {"uiSpec", "messageHistory", "toolSchema"}, vocab.UserMessage: {"text"}, vocab.SessionEnded: {"sessionId", "stateReset"},
}

// wrapped finds the payload of a message within what stands for it on a line, one level deep: of the line's own type, as the
// whole envelope would have it, or with the members by which such a payload is known, none of which stands where it is due. "" where
// there is none.
func wrapped(typ string, payload wjson.Object) (pointer string) {
	for _, name := range slices.Sorted(maps.Keys(payload)) {
		inner, ok := payload[name].(wjson.Object)
		if !ok {
			continue
		}
		if name == "payload" && payload["type"] == typ {
			return wjson.FormatPointer(name)
		}
		known := needs[typ]
		has := func(o wjson.Object) func(string) bool {
			return func(member string) bool { _, there := o[member]; return there }
		}
		if len(known) == 0 || slices.ContainsFunc(known, has(payload)) {
			continue
		}
		if !slices.ContainsFunc(known, func(member string) bool { return !has(inner)(member) }) {
			return wjson.FormatPointer(name)
		}
	}
	return ""
}

// around finds the group of messages whose payload stands within that of a line, one level deep. An empty payload stands
// anywhere.
func (w *wire) around(typ, direction string, payload wjson.Object) (*group, string) {
	for _, name := range slices.Sorted(maps.Keys(payload)) {
		inner, ok := payload[name].(wjson.Object)
		if !ok || len(inner) == 0 {
			continue
		}
		if g := w.find(sumOf(typ, inner), typ, inner); g != nil && len(g.sent[direction]) > 0 {
			return g, wjson.FormatPointer(name)
		}
	}
	return nil, ""
}
