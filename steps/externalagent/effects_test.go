package externalagent

import (
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

const effectsPrev = "And agent A calls \"prev\"\nThen agent A is told that the call succeeded\n"

const effectsPost = "When agent A calls \"postMessage\"\nThen agent A is told that the call succeeded\n"

var effectsStill = edit(vocab.StateUpdated, func(p object) { p[vocab.Spec], p[vocab.ToolSchema] = nil, []any{} })

var effectsRows = []hostRow{
	{"next", session + restless + upToNext + shows, nil, "EA-054=passed", ""},
	{"prev", session + restless + upToNext + effectsPrev + shows, nil, "EA-054=passed", ""},
	{"postMessage", session + restless + effectsPost + shows, nil, "EA-054=passed", ""},
	{"select", session + restless + firstCall + shows, nil, "EA-051=passed EA-072=passed", ""},
	{"the old state comes first", session + restless + upToNext + shows,
		to(vocab.ToolCall, func(_ *peerConn, _ *transcript.Record, out []any) []any {
			old := envelope(vocab.StateUpdated, "", "", object{"source": "host", "uiSpec": object{}, "messageHistory": []any{},
				vocab.ToolSchema: []any{}})
			return append([]any{out[0], old}, out[1:]...)
		}), "EA-054=passed", ""},
	{"next without a state", session + restless + upToNext + shows, mute(vocab.StateUpdated),
		"EA-054=failed EA-072=failed", "no state.updated after the call"},
	{"select without a state", session + restless + firstCall + shows, mute(vocab.StateUpdated),
		"EA-051=failed EA-072=failed", "no state.updated after the call"},
	{"next with a state that shows nothing", session + "And agent A books up to the first call of \"next\"\n" + shows,
		edit(vocab.StateUpdated, nothingNew()), "EA-054=failed", "none differs"},
	{"postMessage with a history that does not grow", session + restless + effectsPost + shows,
		edit(vocab.StateUpdated, set("messageHistory", []any{})), "EA-054=failed", "none differs"},
	{"postMessage, which is shown in uiSpec only", session + restless + effectsPost + shows,
		all(edit(vocab.StateUpdated, set("messageHistory", []any{})),
			edit(vocab.StateUpdated, set("uiSpec", object{"said": "x"}))), "EA-054=failed", ""},
	{"no call was made", session + shows, nil, "EA-054=not-tested", "agent A has called no tool"},

	{"receives a new state", session + firstCall + "Then agent A receives a new state\n", nil, "EA-055=passed", ""},
	{"receives no new state", session + firstCall + "Then agent A receives a new state\n", mute(vocab.StateUpdated),
		"EA-055=failed", "no such message"},

	{"in step", session + restless + firstCall + "And agent A is in sync\n", nil, "EA-072=passed EA-073=passed", ""},
	{"in sync, with an undeclared clock", session + restless + firstCall + "And agent A is in sync\n",
		ticking(), "EA-072=passed EA-073=passed EA-054=not-tested", "not compared, as it changes on its own: uiSpec/clock"},
	{"a clock, and a contradicting state", session + restless + firstCall + "And agent A is in sync\n",
		all(ticking(), edit(vocab.StateUpdated, func(p object) { p[vocab.Spec].(object)["title"] = "x" })), "EA-073=failed",
		"at uiSpec/title\n"},
	{"a state that comes late", session + firstCall + "And agent A is in sync\n", func() bad {
		late := false
		return func(c *peerConn, asked *transcript.Record, out []any) []any {
			switch {
			case asked == nil:
			case kindOf(asked) == vocab.ToolCall:
				late = true
				return out[:1]
			case kindOf(asked) == vocab.SnapshotGet && late:
				late = false
				return append(out, announced(c))
			}
			return out
		}
	}(), "EA-072=passed EA-073=passed", ""},
	{"no state since the session began", session + firstCall + "And agent A is in sync\n", mute(vocab.StateUpdated),
		"EA-073=failed", "no state.updated since the session began"},
	{"a contradicting state", session + restless + firstCall + "And agent A is in sync\n", effectsStill,
		"EA-072=failed EA-073=failed", "has another uiSpec"},
	{"a state with another history", session + restless + firstCall + "And agent A is in sync\n",
		edit(vocab.StateUpdated, set("messageHistory", []any{"x"})), "EA-073=failed", "has another messageHistory"},
	{"a state with other tools", session + restless + firstCall + "And agent A is in sync\n",
		edit(vocab.StateUpdated, set("toolSchema", []any{})), "EA-073=failed", "has another toolSchema"},
}

func TestEffects(t *testing.T) {

	runHosts(t, effectsRows)
}

// nothingNew replaces the content of every state by the first stage's, once the ticket is chosen.
func nothingNew() func(object) {
	f, err := loadFlow("")
	if err != nil {
		panic(err) // it is built in
	}
	return func(p object) {
		if ui, ok := p[vocab.Spec].(object); ok && ui["stage"] == "ticket" {
			ui := copied(f.Stages[0].UISpec).(object)
			ui["selected"] = []any{"m1"}
			p[vocab.Spec], p[vocab.ToolSchema] = ui, f.Stages[0].ToolSchema
		}
	}
}

func TestBooking(t *testing.T) {
	runHosts(t, []hostRow{
		{"all the way", session + restless + booking, nil,
			"EA-007=passed EA-042=passed EA-054=passed EA-072=passed EA-075=passed EA-105=passed", ""},
		{"the tools change", session + booking + "Then the announced tools change during the booking\n", nil,
			"EA-095=not-applicable", "3 different toolSchemas"},
		{"a quick uiSpec with less", session + booking, results(func(p object) {
			if p[vocab.Spec] != nil {
				p[vocab.Spec] = object{"stage": p[vocab.Spec].(object)["stage"]}
			}
		}), "EA-075=passed", ""},
		{"a contradicting quick uiSpec", session + booking, results(func(p object) {
			if ui, ok := p[vocab.Spec].(object); ok {
				ui["title"] = "Choose"
			}
		}), "EA-075=failed", `they differ at /title/: "Choose", and then`},
		{"no quick uiSpec at all", session + booking, results(unset("uiSpec")),
			"EA-052a=not-applicable EA-075=not-applicable EA-007=passed", "no tool.result had a uiSpec"},
		{"one call without an announced effect", session + booking, edit(vocab.StateUpdated, func(p object) {
			if ui, ok := p[vocab.Spec].(object); ok && ui["stage"] == "confirm" {
				ui["stage"] = "ticket"
			}
		}), "EA-072=failed EA-073=failed", "has another uiSpec"},
		{"a stage cannot be left", session + booking, to(vocab.ToolCall,
			func(_ *peerConn, asked *transcript.Record, out []any) []any {
				if payload(asked)[vocab.ToolName] != "next" {
					return out
				}
				return []any{envelope(vocab.ErrorMessage, "", field(asked, vocab.ID),
					object{"code": "TOOL_EXECUTION_FAILED", "message": "m"})}
			}), "EA-007=passed EA-105=not-tested", "next, a call of the booking path, was refused"},
		{"no call of next was carried out", session + booking, to(vocab.ToolCall,
			func(_ *peerConn, asked *transcript.Record, out []any) []any {
				if payload(asked)[vocab.ToolName] != "next" {
					return out
				}
				return []any{envelope(vocab.ErrorMessage, "", field(asked, vocab.ID),
					object{"code": "TOOL_EXECUTION_FAILED", "message": "m"})}
			}), "EA-054=not-tested EA-073=passed", ""},
	})
}

func TestEveryTool(t *testing.T) {
	code := func(tool, code string) bad {
		return to(vocab.ToolCall, func(_ *peerConn, asked *transcript.Record, out []any) []any {
			if payload(asked)[vocab.ToolName] != tool {
				return out
			}
			return []any{envelope(vocab.ErrorMessage, "", field(asked, vocab.ID), object{"code": code, "message": "m"})}
		})
	}
	runHosts(t, []hostRow{
		{"all", session + every, nil, "EA-007=passed EA-046=passed EA-047=passed EA-080=passed EA-081=passed " +
			"EA-049=passed EA-105=passed EA-053=not-applicable", ""},
		{"one fails while it runs", session + every, code("postMessage", "TOOL_EXECUTION_FAILED"),
			"EA-007=passed EA-080=passed EA-081=passed", ""},
		{"one is unknown", session + every, code("postMessage", "UNKNOWN_TOOL"), "EA-080=failed",
			"an announced tool that is known"},
		{"settled params are refused", session + every, code("prev", "INVALID_PARAMS"),
			"EA-081=failed EA-080=passed", "params that match the announced schema accepted: {}"},
		{"params are refused that were made up", session + every, code("postMessage", "INVALID_PARAMS"),
			"EA-081=passed EA-080=passed", ""},
		{"one is not answered", session + every, to(vocab.ToolCall,
			func(_ *peerConn, asked *transcript.Record, out []any) []any {
				if payload(asked)[vocab.ToolName] == "postMessage" {
					return nil
				}
				return out
			}), "EA-007=failed EA-046=failed EA-047=failed", "an answer to postMessage, an announced tool"},
		{"nothing is announced", session + every, func() bad {
			return all(edit(vocab.SnapshotState, set("toolSchema", []any{})))
		}(), "EA-007=not-tested", "it is not announced at this stage"},
	})
}
