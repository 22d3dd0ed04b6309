package externalagent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

const (
	joined    = "Given agent A has joined\n"
	session   = "Given agent A has a session\n"
	restless  = "And what the host changes by itself is known to agent A\n"
	asksFor   = "When agent A asks for a snapshot\nThen agent A gets a snapshot\n"
	firstCall = "When agent A makes the first call of the booking\nThen agent A is told that the call went well\n"
	booking   = "Then agent A books a ticket from the first movie to the confirmation\n"
	ending    = "When agent A ends the session\nThen agent A is told that the session has ended\n"
	noTool    = "When agent A calls a tool that does not exist\nThen agent A is refused with \"UNKNOWN_TOOL\"\n"
	upToNext  = "And agent A books up to a call of \"next\"\nThen agent A is told that the call went well\n"
	shows     = "And agent A sees its effect in a state that follows\n"
	saying    = "When agent A says something\nThen agent A is not refused\n"
	unchanged = "And the flow is as it was for agent A\n"
	every     = "Then agent A calls every announced tool, at every stage of the booking\n"
	others    = "Then agent A calls the tools of other stages, at every stage of the booking, and each is refused\n"
	speaking  = "When the participant speaks to agent A\nThen agent A hears the participant\n"
)

// hostRow is a host that breaks something, and what a scenario finds.
type hostRow struct {
	reason string
	lines  string
	bad    bad
	want   string // of the clauses that it is tagged with
	has    string // in what is told
}

func set(member string, v any) func(object) { return func(p object) { p[member] = v } }

func unset(member string) func(object) { return func(p object) { delete(p, member) } }

// results changes the results of calls that go well.
func results(f func(object)) bad { return edit(vocab.ToolResult, f) }

func runHosts(t *testing.T, rows []hostRow) {
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			p := &peer{bad: r.bad}
			expect(t, perform(t, environment(t, vocab.Host, p), p, tagsOf(r.want), r.lines), r.want, r.has)
		})
	}
}

func TestJoining(t *testing.T) {
	const lines = "When agent A connects\nThen agent A is connected\nWhen agent A joins\nThen agent A is told that it has joined\n"
	runHosts(t, []hostRow{
		{"joined", lines, nil, "EA-017=passed EA-028=passed EA-029=passed EA-030=passed EA-103=passed EA-106=passed", ""},
		{"members that no clause names", lines, edit(vocab.RelayJoined, set("peers", []any{})), "EA-028=passed EA-029=passed EA-030=passed", ""},
		{"another role", lines, edit(vocab.RelayJoined, set("role", "host")), "EA-028=passed EA-029=failed EA-030=passed", `payload.role is "host"`},
		{"no role", lines, edit(vocab.RelayJoined, unset("role")), "EA-028=passed EA-029=failed EA-030=passed", `payload.role is null`},
		{"another relay session", lines, edit(vocab.RelayJoined, set("sessionId", "s-1")), "EA-029=passed EA-030=failed", `payload.sessionId is "s-1"`},
		{"no answer", lines, nothing(vocab.RelayJoin), "EA-028=failed EA-029=failed", `no answer whose replyTo is "req-n-1"`},
		{"an answer to nobody", lines, editEnvelope(vocab.RelayJoined, unset("replyTo")), "EA-028=failed", `relay.joined, whose replyTo is not "req-n-1"`},
		{"an answer with a replyTo that is null", lines, editEnvelope(vocab.RelayJoined, set("replyTo", nil)), "EA-028=failed", `relay.joined, whose replyTo is not "req-n-1"`},
		{"an answer to another request", lines, editEnvelope(vocab.RelayJoined, set("replyTo", "req-n-7")), "EA-028=failed", `relay.joined, whose replyTo is not "req-n-1"`},
		{"a refusal", lines, refuses(vocab.RelayJoin, "INVALID_MESSAGE"), "EA-028=failed EA-030=failed", "error {"},
		{"the end of the connection", lines, to(vocab.RelayJoin, func(*peerConn, *transcript.Record, []any) []any { return []any{hangUp{}} }), "EA-028=failed", "closed by the target"},
		{"the end of the connection with the session", session + ending + session + asksFor, hangsUp(vocab.SessionEnd), "EA-063=passed EA-041=passed", ""},
		{"the end of the connection in a session", session + "And agent A has joined\n", hangsUp(vocab.SessionStart), "EA-028=passed EA-016=failed", "a connection that stays for the next message"},
		{"what nobody asked is not answered", "Then agent A is told that it has joined\n", nil, "EA-028=not-tested", "A has not asked to join"},
	})
}

func TestSessions(t *testing.T) {
	const starting = joined + "When agent A starts a session\nThen agent A is told of the session\n"
	runHosts(t, []hostRow{
		{"a session", starting, nil, "EA-038=passed EA-025=passed EA-103=passed EA-040=not-applicable", "the form of s-YYYYMMDD-NNN"},
		{"another form of its id", starting, edit(vocab.SessionStarted, set("sessionId", "7")), "EA-038=passed EA-040=not-applicable", "another form than s-YYYYMMDD-NNN"},
		{"no answer", starting, nothing(vocab.SessionStart), "EA-038=failed EA-103=failed", "no answer whose replyTo is"},
		{"an answer to nobody", starting, editEnvelope(vocab.SessionStarted, unset("replyTo")), "EA-038=failed", "session.started, whose replyTo is not"},
		{"an answer of another type", starting, editEnvelope(vocab.SessionStarted, set("type", "session.opened")), "EA-038=failed", "session.opened {"},
		{"a refusal", starting, refuses(vocab.SessionStart, "INVALID_PARAMS"), "EA-038=failed", "INVALID_PARAMS"},
		{"nobody has started one", joined + "Then agent A is told of the session\n", nil, "EA-038=not-tested", "agent A has started no session"},

		{"a snapshot", session + asksFor, nil, "EA-004=passed EA-005=passed EA-006=passed EA-041=passed EA-042=passed EA-077a=passed", ""},
		{"a snapshot while no uiSpec is active", session + asksFor, edit(vocab.SnapshotState, set("uiSpec", nil)), "EA-004=passed EA-041=passed", ""},
		{"a snapshot without uiSpec", session + asksFor, edit(vocab.SnapshotState, unset("uiSpec")), "EA-004=failed EA-005=passed EA-006=passed EA-041=passed", "snapshot.state with uiSpec"},
		{"a snapshot without messageHistory", session + asksFor, edit(vocab.SnapshotState, unset("messageHistory")), "EA-004=passed EA-005=failed EA-006=passed", "snapshot.state with messageHistory"},
		{"a snapshot without toolSchema", session + asksFor, edit(vocab.SnapshotState, unset("toolSchema")), "EA-004=passed EA-005=passed EA-006=failed", "snapshot.state with toolSchema"},
		{"a snapshot of another session", session + asksFor, edit(vocab.SnapshotState, set("sessionId", "default")), "EA-041=passed EA-042=failed", `payload.sessionId is "default"`},
		{"a snapshot of no session", session + asksFor, edit(vocab.SnapshotState, unset("sessionId")), "EA-042=failed", "payload.sessionId is null"},
		{"no snapshot", session + asksFor, nothing(vocab.SnapshotGet), "EA-004=failed EA-041=failed EA-077a=failed EA-042=not-tested", "no answer whose replyTo is"},
		{"a snapshot for nobody", session + asksFor, editEnvelope(vocab.SnapshotState, unset("replyTo")), "EA-041=failed", "snapshot.state, whose replyTo is not"},
		{"a state in place of a snapshot", session + asksFor, editEnvelope(vocab.SnapshotState, set("type", vocab.StateUpdated)), "EA-041=failed", "state.updated {"},
		{"nobody has asked for a snapshot", session + "Then agent A gets a snapshot\n", nil, "EA-041=not-tested", "agent A has asked for no snapshot"},

		{"an end", session + ending, nil, "EA-063=passed EA-064=passed EA-067=passed EA-066=not-applicable", "the form of logs/study"},
		{"an end of another session", session + ending, edit(vocab.SessionEnded, set("sessionId", "s-0")), "EA-063=passed EA-064=failed EA-067=passed", `payload.sessionId is "s-0"`},
		{"an end that resets nothing", session + ending, edit(vocab.SessionEnded, set("stateReset", false)), "EA-064=passed EA-067=failed", "payload.stateReset is false"},
		{"an end with another log", session + ending, edit(vocab.SessionEnded, set("logFile", "/var/log/a")), "EA-066=not-applicable", "another form than logs/study"},
		{"no end", session + ending, nothing(vocab.SessionEnd), "EA-063=failed EA-064=not-tested", "no answer whose replyTo is"},
		{"a refused end", session + ending, refuses(vocab.SessionEnd, "SESSION_NOT_ACTIVE"), "EA-063=failed", "SESSION_NOT_ACTIVE"},
		{"nobody has ended one", session + "Then agent A is told that the session has ended\n", nil, "EA-063=not-tested", "agent A has ended no session"},
	})
}

// keepsMessages is a host that does not forget what was said.
func keepsMessages() bad {
	said := []any{}
	return func(_ *peerConn, asked *transcript.Record, out []any) []any {
		if asked != nil && kindOf(asked) == vocab.AgentMessage {
			said = append(said, object{"role": "agent", "text": payload(asked)["text"]})
		}
		for i, v := range out {
			if is(vocab.SnapshotState, v) || is(vocab.StateUpdated, v) {
				env := copied(v).(object)
				env["payload"].(object)["messageHistory"] = append([]any{}, said...)
				out[i] = env
			}
		}
		return out
	}
}

func TestANewSessionIsClean(t *testing.T) {
	const lines = "Given it is known how a session goes\nAnd agent A leaves traces of all kinds\n" + ending + "And agent A has a new session, in which nothing is left of what was done\n"
	clock := 0
	// from makes what a host shows otherwise from a study session on.
	from := func(n int, f func(c *peerConn, p object)) bad {
		return func(c *peerConn, asked *transcript.Record, out []any) []any {
			if c.of.count < n {
				return out
			}
			return edit(vocab.SnapshotState, func(p object) { f(c, p) })(c, asked, out)
		}
	}
	first := func(p object) object {
		if ui, ok := p["uiSpec"].(object); ok && ui["stage"] == "movie" {
			return ui
		}
		return object{}
	}
	runHosts(t, []hostRow{
		{"clean", lines, nil, "EA-011=passed", ""},
		{"a clock in its uiSpec", lines, edit(vocab.SnapshotState, func(p object) {
			clock++
			if ui, ok := p["uiSpec"].(object); ok {
				ui["clock"] = wjson.Number(fmt.Sprint(clock))
			}
		}), "EA-011=passed", "not compared, as it changes by itself: uiSpec/clock"},
		{"its own id in its uiSpec", lines, edit(vocab.SnapshotState, func(p object) {
			if ui, ok := p["uiSpec"].(object); ok {
				ui["session"] = p["sessionId"]
			}
		}), "EA-011=passed", "uiSpec/session"},
		{"what was said is left", lines, keepsMessages(), "EA-011=failed", "it is still there: word-n-"},
		{"what the participant said is left", lines, func() bad {
			said := any("")
			return func(c *peerConn, asked *transcript.Record, out []any) []any {
				if asked == nil && len(out) > 0 && is(vocab.UserMessage, out[0]) {
					said = out[0].(object)["payload"].(object)["text"]
				}
				return from(4, func(_ *peerConn, p object) { p["messageHistory"] = []any{object{"role": "user", "text": said}} })(c, asked, out)
			}
		}(), "EA-011=failed", "it is still there: word-n-"},
		{"the first choice is left from the start", lines, from(2, func(_ *peerConn, p object) { first(p)["selected"] = []any{"m1"} }), "EA-011=failed", "uiSpec/selected is as that session has left it"},
		{"a choice is left of the calls that led nowhere", lines, from(4, func(_ *peerConn, p object) { first(p)["selected"] = []any{"m3"} }), "EA-011=failed", "another uiSpec"},
		{"a note of them is left in the history", lines, from(4, func(_ *peerConn, p object) { p["messageHistory"] = []any{"x"} }), "EA-011=failed", "another messageHistory"},
		{"the tools are others", lines, from(4, func(_ *peerConn, p object) { p["toolSchema"] = append(p["toolSchema"].([]any), object{"name": "undo"}) }), "EA-011=failed", "another toolSchema"},
		{"the second session goes otherwise", lines, from(2, func(_ *peerConn, p object) { p["toolSchema"] = []any{} }), "EA-011=failed", "a session in which the booking goes as in the one before"},
		{"the last session goes otherwise", lines, from(4, func(_ *peerConn, p object) { p["toolSchema"] = []any{} }), "EA-011=failed", "a session in which the booking goes as in one before"},
		{"no session goes", lines, edit(vocab.SnapshotState, set("toolSchema", []any{})), "EA-011=not-tested", "the booking path does not fit"},
		{"a tool is not answered", lines, to(vocab.ToolCall, func(_ *peerConn, asked *transcript.Record, out []any) []any {
			if payload(asked)["toolName"] == vocab.PostMessage {
				return nil
			}
			return out
		}), "EA-011=not-tested", "postMessage was not answered"},
	})
}

func TestCalls(t *testing.T) {
	runHosts(t, []hostRow{
		{"carried out", session + firstCall, nil, "EA-007=passed EA-046=passed EA-047=passed EA-048=passed EA-049=passed EA-050=not-applicable EA-074=passed", ""},
		{"without a quick uiSpec", session + firstCall, results(unset("uiSpec")), "EA-046=passed EA-050=not-applicable EA-052=not-applicable", "the result of select has a uiSpec: false"},
		{"without toolName", session + firstCall, results(unset("toolName")), "EA-046=passed EA-049=failed", "payload.toolName is null"},
		{"with another toolName", session + firstCall, results(set("toolName", "next")), "EA-049=failed", `payload.toolName is "next"`},
		{"ok is a text", session + firstCall, results(set("ok", "true")), "EA-007=failed EA-046=failed EA-047=passed EA-048=failed", `payload.ok is "true"`},
		{"no ok", session + firstCall, results(unset("ok")), "EA-046=failed EA-048=failed", "payload.ok is null"},
		{"no answer", session + firstCall, nothing(vocab.ToolCall), "EA-007=failed EA-046=failed EA-047=failed", "no answer whose replyTo is"},
		{"a state is no answer", session + firstCall, mute(vocab.ToolResult), "EA-046=failed EA-047=failed", "no answer whose replyTo is"},
		{"an answer to nobody", session + firstCall, editEnvelope(vocab.ToolResult, unset("replyTo")), "EA-046=failed EA-047=failed", "tool.result, whose replyTo is not"},
		{"an answer of another type", session + firstCall, editEnvelope(vocab.ToolResult, set("type", "tool.done")), "EA-046=failed", "tool.done {"},
		{"refused as unknown", session + firstCall, refuses(vocab.ToolCall, "UNKNOWN_TOOL"), "EA-007=failed EA-080=failed EA-006=failed", "the call of an announced tool carried out"},
		{"refused while a session is active", session + firstCall, refuses(vocab.ToolCall, "SESSION_NOT_ACTIVE"), "EA-007=failed EA-046=failed", "SESSION_NOT_ACTIVE"},
		{"refused while a uiSpec is active", session + firstCall, refuses(vocab.ToolCall, "NO_ACTIVE_SPEC"), "EA-007=failed EA-046=failed", "NO_ACTIVE_SPEC"},
		{"it fails while it runs", session + firstCall, refuses(vocab.ToolCall, "TOOL_EXECUTION_FAILED"), "EA-007=not-tested EA-046=not-tested", "a call of the booking path, was refused"},
		{"it fails by a result", session + firstCall, results(func(p object) { p["ok"], p["code"] = false, "TOOL_EXECUTION_FAILED" }), "EA-007=not-tested", "was refused: tool.result"},
		{"tools that are not understood", session + firstCall, edit(vocab.SnapshotState, set("toolSchema", []any{7})), "EA-007=not-tested", "toolSchema is not understood: item 0"},
		{"the path is not announced", session + firstCall, edit(vocab.SnapshotState, set("toolSchema", []any{})), "EA-007=not-tested", "select: it is not announced at this stage"},
		{"the path is announced later", session + firstCall, func() bad {
			asked1 := false
			return to(vocab.SnapshotGet, func(c *peerConn, asked *transcript.Record, out []any) []any {
				if asked1 {
					return out
				}
				asked1 = true
				return append(edit(vocab.SnapshotState, set("toolSchema", []any{}))(c, asked, out), announced(c))
			})
		}(), "EA-007=passed EA-041=passed", ""},
		{"an effect that shows later", session + "And agent A books up to a call of \"setQuantity\"\nThen agent A is told that the call went well\n", lateNext(), "EA-007=passed EA-046=passed", ""},
		{"the path needs what uiSpec does not have", session + firstCall, edit(vocab.SnapshotState, set("uiSpec", object{})), "EA-007=not-tested", "the uiSpec has nothing at /items/0/id"},
		{"the path breaks the schema", session + firstCall, edit(vocab.SnapshotState, func(p object) {
			p["toolSchema"] = []any{object{"name": "select", "parameters": object{"itemId": object{"type": "integer"}}}}
		}), "EA-007=not-tested", "the booking path does not fit"},
		{"nobody has called", session + "Then agent A is told that the call went well\n", nil, "EA-007=not-tested", "agent A has called no tool"},
		{"no such call on the path", session + "When agent A books up to a call of \"fly\"\n", nil, "EA-007=passed EA-054=not-applicable", `no call of "fly"`},
		{"a tool that is not announced now", session + "When agent A calls \"prev\"\n", nil, "EA-007=not-applicable", `does not announce "prev" at this stage`},

		{"ok alone", session + upToNext, results(func(p object) { delete(p, "toolName") }), "EA-105=passed EA-053=not-applicable", "the result of next has a uiSpec: false"},
		{"ok and the tool", session + upToNext, nil, "EA-105=passed EA-049=passed", ""},
		{"ok and another tool", session + upToNext, results(func(p object) {
			if p["toolName"] == "next" {
				p["toolName"] = "prev"
			}
		}), "EA-105=failed EA-049=failed", `payload.toolName is "prev"`},
	})
}

// lateNext is a host that goes on to the next stage a moment after its result: the first snapshot behind it is as before.
func lateNext() bad {
	var was object
	late := false
	return func(c *peerConn, asked *transcript.Record, out []any) []any {
		switch {
		case asked == nil:
		case kindOf(asked) == vocab.ToolCall && payload(asked)["toolName"] == vocab.Next && is(vocab.ToolResult, out[0]):
			late = true
			return out[:1]
		case kindOf(asked) == vocab.SnapshotGet && late:
			late = false
			return []any{envelope(vocab.SnapshotState, "", field(asked, "id"), was), announced(c)}
		case kindOf(asked) == vocab.SnapshotGet && len(out) > 0 && is(vocab.SnapshotState, out[0]):
			was = copied(out[0].(object)["payload"]).(object)
		}
		return out
	}
}

// TestStrictResults: under --strict a result that says ok alone lacks the toolName.
func TestStrictResults(t *testing.T) {
	for _, r := range []struct {
		bad  bad
		want string
	}{{nil, "EA-105=passed"}, {results(unset("toolName")), "EA-105=failed"}} {
		p := &peer{bad: r.bad}
		env := environment(t, vocab.Host, p)
		env.Strict = true
		expect(t, perform(t, env, p, "@EA-105", session+upToNext), r.want, "")
	}
}

func TestEffects(t *testing.T) {
	const prev = "And agent A calls \"prev\"\nThen agent A is told that the call went well\n"
	const post = "When agent A calls \"postMessage\"\nThen agent A is told that the call went well\n"
	still := edit(vocab.StateUpdated, func(p object) { p["uiSpec"], p["toolSchema"] = nil, []any{} })
	runHosts(t, []hostRow{
		{"next", session + restless + upToNext + shows, nil, "EA-054=passed", ""},
		{"prev", session + restless + upToNext + prev + shows, nil, "EA-054=passed", ""},
		{"postMessage", session + restless + post + shows, nil, "EA-054=passed", ""},
		{"select", session + restless + firstCall + shows, nil, "EA-051=passed EA-072=passed", ""},
		{"the old state comes first", session + restless + upToNext + shows, to(vocab.ToolCall, func(_ *peerConn, _ *transcript.Record, out []any) []any {
			old := envelope(vocab.StateUpdated, "", "", object{"source": "host", "uiSpec": object{}, "messageHistory": []any{}, "toolSchema": []any{}})
			return append([]any{out[0], old}, out[1:]...)
		}), "EA-054=passed", ""},
		{"next without a state", session + restless + upToNext + shows, mute(vocab.StateUpdated), "EA-054=failed EA-072=failed", "no state.updated behind the call"},
		{"select without a state", session + restless + firstCall + shows, mute(vocab.StateUpdated), "EA-051=failed EA-072=failed", "no state.updated behind the call"},
		{"next with a state that shows nothing", session + "And agent A books up to a call of \"next\"\n" + shows, edit(vocab.StateUpdated, nothingNew(t)), "EA-054=failed", "none of them differs"},
		{"postMessage with a history that does not grow", session + restless + post + shows, edit(vocab.StateUpdated, set("messageHistory", []any{})), "EA-054=failed", "none of them differs"},
		{"postMessage, which is shown in uiSpec only", session + restless + post + shows, all(edit(vocab.StateUpdated, set("messageHistory", []any{})), edit(vocab.StateUpdated, set("uiSpec", object{"said": "x"}))), "EA-054=failed", ""},
		{"nobody has called", session + shows, nil, "EA-054=not-tested", "agent A has called no tool"},

		{"hears of a new state", session + firstCall + "Then agent A hears of a new state\n", nil, "EA-055=passed", ""},
		{"hears of none", session + firstCall + "Then agent A hears of a new state\n", mute(vocab.StateUpdated), "EA-055=failed", "nothing of the kind"},

		{"in step", session + restless + firstCall + "And agent A is in step\n", nil, "EA-072=passed EA-073=passed", ""},
		{"in step, with a clock that nobody has told of", session + restless + firstCall + "And agent A is in step\n", ticking(), "EA-072=passed EA-073=passed EA-054=not-tested", "not compared, as it changes by itself: uiSpec/clock"},
		{"a clock, and a state that says otherwise", session + restless + firstCall + "And agent A is in step\n", all(ticking(), edit(vocab.StateUpdated, func(p object) { p["uiSpec"].(object)["title"] = "x" })), "EA-073=failed", "at uiSpec/title\n"},
		{"a state that comes late", session + firstCall + "And agent A is in step\n", func() bad {
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
		{"no state since the session began", session + firstCall + "And agent A is in step\n", mute(vocab.StateUpdated), "EA-073=failed", "no state.updated since the session began"},
		{"a state that says otherwise", session + restless + firstCall + "And agent A is in step\n", still, "EA-072=failed EA-073=failed", "has another uiSpec"},
		{"a state with another history", session + restless + firstCall + "And agent A is in step\n", edit(vocab.StateUpdated, set("messageHistory", []any{"x"})), "EA-073=failed", "has another messageHistory"},
		{"a state with other tools", session + restless + firstCall + "And agent A is in step\n", edit(vocab.StateUpdated, set("toolSchema", []any{})), "EA-073=failed", "has another toolSchema"},
	})
}

// nothingNew gives every state the content of the first stage, once the ticket is chosen.
func nothingNew(t *testing.T) func(object) {
	t.Helper()
	f, err := loadFlow("")
	if err != nil {
		t.Fatal(err)
	}
	return func(p object) {
		if ui, ok := p["uiSpec"].(object); ok && ui["stage"] == "ticket" {
			ui := copied(f.Stages[0].UISpec).(object)
			ui["selected"] = []any{"m1"}
			p["uiSpec"], p["toolSchema"] = ui, f.Stages[0].ToolSchema
		}
	}
}

func TestBooking(t *testing.T) {
	runHosts(t, []hostRow{
		{"all the way", session + restless + booking, nil, "EA-007=passed EA-042=passed EA-054=passed EA-072=passed EA-075=passed EA-105=passed", ""},
		{"the tools change", session + booking + "Then the tools that are announced change on the way\n", nil, "EA-095=not-applicable", "3 different toolSchemas"},
		{"a quick uiSpec with less", session + booking, results(func(p object) {
			if p["uiSpec"] != nil {
				p["uiSpec"] = object{"stage": p["uiSpec"].(object)["stage"]}
			}
		}), "EA-075=passed", ""},
		{"a quick uiSpec that says otherwise", session + booking, results(func(p object) {
			if ui, ok := p["uiSpec"].(object); ok {
				ui["title"] = "Choose"
			}
		}), "EA-075=failed", `they differ at /title/: "Choose", and then`},
		{"no quick uiSpec at all", session + booking, results(unset("uiSpec")), "EA-075=not-tested EA-007=passed", ""},
		{"one call has no effect that is told", session + booking, edit(vocab.StateUpdated, func(p object) {
			if ui, ok := p["uiSpec"].(object); ok && ui["stage"] == "confirm" {
				ui["stage"] = "ticket"
			}
		}), "EA-072=failed EA-073=failed", "has another uiSpec"},
		{"a stage cannot be left", session + booking, to(vocab.ToolCall, func(_ *peerConn, asked *transcript.Record, out []any) []any {
			if payload(asked)["toolName"] != "next" {
				return out
			}
			return []any{envelope(vocab.ErrorMessage, "", field(asked, "id"), object{"code": "TOOL_EXECUTION_FAILED", "message": "m"})}
		}), "EA-007=passed EA-105=not-tested", "next, a call of the booking path, was refused"},
		{"no call of next was carried out", session + booking, to(vocab.ToolCall, func(_ *peerConn, asked *transcript.Record, out []any) []any {
			if payload(asked)["toolName"] != "next" {
				return out
			}
			return []any{envelope(vocab.ErrorMessage, "", field(asked, "id"), object{"code": "TOOL_EXECUTION_FAILED", "message": "m"})}
		}), "EA-054=not-tested EA-073=passed", ""},
	})
}

func TestEveryTool(t *testing.T) {
	code := func(tool, code string) bad {
		return to(vocab.ToolCall, func(_ *peerConn, asked *transcript.Record, out []any) []any {
			if payload(asked)["toolName"] != tool {
				return out
			}
			return []any{envelope(vocab.ErrorMessage, "", field(asked, "id"), object{"code": code, "message": "m"})}
		})
	}
	runHosts(t, []hostRow{
		{"all", session + every, nil, "EA-007=passed EA-046=passed EA-047=passed EA-080=passed EA-081=passed EA-049=passed EA-105=passed EA-053=not-applicable", ""},
		{"one fails while it runs", session + every, code("postMessage", "TOOL_EXECUTION_FAILED"), "EA-007=passed EA-080=passed EA-081=passed", ""},
		{"one is unknown", session + every, code("postMessage", "UNKNOWN_TOOL"), "EA-080=failed", "an announced tool that is known"},
		{"params are refused that nobody has made up", session + every, code("prev", "INVALID_PARAMS"), "EA-081=failed EA-080=passed", "params that keep to the announced schema accepted: {}"},
		{"params are refused that were made up", session + every, code("postMessage", "INVALID_PARAMS"), "EA-081=passed EA-080=passed", ""},
		{"one is not answered", session + every, to(vocab.ToolCall, func(_ *peerConn, asked *transcript.Record, out []any) []any {
			if payload(asked)["toolName"] == "postMessage" {
				return nil
			}
			return out
		}), "EA-007=failed EA-046=failed EA-047=failed", "an answer to postMessage, an announced tool"},
		{"nothing is announced", session + every, func() bad {
			return all(edit(vocab.SnapshotState, set("toolSchema", []any{})))
		}(), "EA-007=not-tested", "it is not announced at this stage"},
	})
}

func TestSpeaking(t *testing.T) {
	runHosts(t, []hostRow{
		{"not refused", session + saying + unchanged, nil, "EA-008=passed EA-008a=passed", ""},
		{"nothing comes of it", session + saying + unchanged, nothing(vocab.AgentMessage), "EA-008=passed EA-008a=passed", ""},
		{"it is refused", session + saying, refuses(vocab.AgentMessage, "INVALID_MESSAGE"), "EA-008=failed", "INVALID_MESSAGE"},
		{"it is refused without replyTo", session + saying, all(refuses(vocab.AgentMessage, "INVALID_MESSAGE"), to(vocab.AgentMessage, editEnvelope(vocab.ErrorMessage, unset("replyTo")))), "EA-008=failed", "INVALID_MESSAGE"},
		{"it is shown in uiSpec", session + saying + unchanged, func() bad {
			said := any(nil)
			return func(c *peerConn, asked *transcript.Record, out []any) []any {
				if asked != nil && kindOf(asked) == vocab.AgentMessage {
					said = payload(asked)["text"]
				}
				return edit(vocab.SnapshotState, func(p object) { p["uiSpec"].(object)["last"] = said })(c, asked, out)
			}
		}(), "EA-008=passed EA-008a=passed", ""},
		{"it is answered by a result", session + saying + unchanged, to(vocab.AgentMessage, func(_ *peerConn, asked *transcript.Record, out []any) []any {
			return append(out, envelope(vocab.ToolResult, "", field(asked, "id"), object{"ok": true}))
		}), "EA-008=passed EA-008a=failed", "tool.result"},
		{"it changes the flow", session + saying + unchanged, func() bad {
			spoken := false
			return func(c *peerConn, asked *transcript.Record, out []any) []any {
				spoken = spoken || asked != nil && kindOf(asked) == vocab.AgentMessage
				if spoken {
					return edit(vocab.SnapshotState, func(p object) { p["uiSpec"].(object)["stage"] = "ticket" })(c, asked, out)
				}
				return out
			}
		}(), "EA-008=passed EA-008a=failed", "uiSpec/stage has changed"},
		{"it changes the tools", session + saying + unchanged, func() bad {
			spoken := false
			return func(c *peerConn, asked *transcript.Record, out []any) []any {
				spoken = spoken || asked != nil && kindOf(asked) == vocab.AgentMessage
				if spoken {
					return edit(vocab.SnapshotState, set("toolSchema", []any{}))(c, asked, out)
				}
				return out
			}
		}(), "EA-008a=failed", "toolSchema has changed"},
		{"what looks like a call is carried out", session + upToNext + "When agent A says what looks like a call of \"prev\"\nThen agent A is not refused\n" + unchanged, to(vocab.AgentMessage, func(c *peerConn, asked *transcript.Record, out []any) []any {
			if payload(asked)["toolName"] == nil {
				return out
			}
			pl := c.of.sessions[c.session]
			pl.called("x", object{"toolName": "prev", "params": object{}}, func(string, string) []any { return nil })
			return out
		}), "EA-008=passed EA-008a=failed", "has changed"},
		{"the effect of a call before it shows late", session + upToNext + saying + unchanged, lateNext(), "EA-008=passed EA-008a=passed", ""},
		{"a clock that nobody has told of", session + restless + saying + unchanged, ticking(), "EA-008a=passed", ""},
		{"a clock, and another flow", session + restless + saying + unchanged, all(ticking(), behind(vocab.AgentMessage, edit(vocab.SnapshotState, func(p object) { p["uiSpec"].(object)["stage"] = "ticket" }))), "EA-008a=failed", "uiSpec/stage has changed"},
		{"the tools in another order", session + saying + unchanged, behind(vocab.AgentMessage, edit(vocab.SnapshotState, func(p object) { slices.Reverse(p["toolSchema"].([]any)) })), "EA-008a=passed", ""},
		{"it changes the flow a moment later", session + saying + unchanged, behind(vocab.AgentMessage, to(vocab.SnapshotGet, func(c *peerConn, _ *transcript.Record, out []any) []any {
			later := announced(c)
			later["payload"] = copied(later["payload"])
			later["payload"].(object)["toolSchema"] = []any{}
			return append(out, later)
		})), "EA-008a=failed", "toolSchema has changed"},
		{"no uiSpec was active before", session + saying + unchanged, func() bad {
			hidden := true
			return func(c *peerConn, asked *transcript.Record, out []any) []any {
				hidden = hidden && (asked == nil || kindOf(asked) != vocab.AgentMessage)
				if !hidden {
					return out
				}
				return edit(vocab.SnapshotState, set("uiSpec", nil))(c, asked, out)
			}
		}(), "EA-008a=not-tested", "no uiSpec was active before agent.message"},
		{"what looks like a call is refused as invalid", session + "When agent A says what looks like a call of \"next\"\nThen agent A is not refused\n", refuses(vocab.AgentMessage, "INVALID_MESSAGE"), "EA-008=not-tested", "with members of a tool.call is refused"},
		{"what looks like a call is refused otherwise", session + "When agent A says what looks like a call of \"next\"\nThen agent A is not refused\n", refuses(vocab.AgentMessage, "UNKNOWN_TOOL"), "EA-008=failed", "UNKNOWN_TOOL"},
		{"nobody has spoken", session + "Then agent A is not refused\n", nil, "EA-008=not-tested", "agent A has said nothing"},
		{"nobody has spoken, and nothing changes", session + unchanged, nil, "EA-008a=not-tested", "agent A has said nothing"},

		{"the participant is heard", session + speaking, nil, "EA-009=passed EA-060=passed EA-061=passed", ""},
		{"the participant is not heard", session + speaking, mute(vocab.UserMessage), "EA-009=failed EA-060=failed EA-061=not-tested", "nothing of the kind"},
		{"the participant is heard elsewhere", session + speaking, edit(vocab.UserMessage, func(p object) { p["content"] = p["text"]; delete(p, "text") }), "EA-009=passed EA-061=failed", "payload.text is null"},
		{"the participant is heard in part", session + speaking, edit(vocab.UserMessage, func(p object) { p["text"] = strings.TrimSuffix(p["text"].(string), "}") }), "EA-009=passed EA-061=failed", "payload.text is what the participant said"},
		{"the participant is heard with other characters", session + speaking, edit(vocab.UserMessage, func(p object) { p["text"] = strings.ReplaceAll(p["text"].(string), "😀", "\ufffd") }), "EA-009=passed EA-061=failed", "payload.text is what the participant said"},
		{"the participant is heard with markup escaped", session + speaking, edit(vocab.UserMessage, func(p object) { p["text"] = strings.ReplaceAll(p["text"].(string), "<", "&lt;") }), "EA-061=failed", "&lt;b"},
		{"the participant is heard with a line's end", session + speaking, edit(vocab.UserMessage, func(p object) { p["text"] = p["text"].(string) + "\n" }), "EA-009=passed EA-061=passed", ""},
		{"the participant is heard with a replyTo", session + speaking, func(c *peerConn, asked *transcript.Record, out []any) []any {
			return editEnvelope(vocab.UserMessage, set("replyTo", "req-n-1"))(c, asked, out)
		}, "EA-009=passed EA-060=failed", "user.message without replyTo"},
		{"a replyTo that is null is none", session + speaking, editEnvelope(vocab.UserMessage, set("replyTo", nil)), "EA-009=passed EA-060=passed", ""},
	})
}

// TestNobodySpeaks: without a hook the participant is silent, which is nobody's fault.
func TestNobodySpeaks(t *testing.T) {
	p := &peer{}
	got := perform(t, environment(t, vocab.Host, p), struct{ target.Running }{p}, "@EA-009", session+speaking)
	expect(t, got, "EA-009=not-tested", "hooks.user-says")
	got = perform(t, environment(t, vocab.Host, p), struct{ target.Running }{p}, "@EA-041", session+"When the participant speaks to agent A, where that can be had\n"+asksFor)
	expect(t, got, "EA-041=passed", "")
}
