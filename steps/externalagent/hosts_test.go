package externalagent

import (
	"fmt"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

const (
	joined    = "Given agent A has joined\n"
	session   = "Given agent A has a session\n"
	restless  = "And agent A knows what the host changes on its own\n"
	asksFor   = "When agent A asks for a snapshot\nThen agent A gets a snapshot\n"
	firstCall = "When agent A makes the first call of the booking\nThen agent A is told that the call succeeded\n"
	booking   = "Then agent A books a ticket from the first movie to the confirmation\n"
	ending    = "When agent A ends the session\nThen agent A is told that the session has ended\n"
	noTool    = "When agent A calls a tool that does not exist\nThen agent A is refused with \"UNKNOWN_TOOL\"\n"
	upToNext  = "And agent A books up to the first call of \"next\"\nThen agent A is told that the call succeeded\n"
	shows     = "And agent A sees the effect of the call in a later state\n"
	saying    = "When agent A sends the participant a message\nThen agent A's message is not refused\n"
	unchanged = "And the booking flow has not changed for agent A\n"
	every     = "Then agent A calls every announced tool at every stage of the booking\n"
	others    = "Then agent A calls the tools of other stages at every stage of the booking, and each call is refused\n"
	speaking  = "When the participant speaks to agent A\nThen agent A receives the participant's message\n"
)

// hostRow is a host with a fault and the expected outcome of a scenario.
type hostRow struct {
	reason string
	lines  string
	bad    bad
	want   string // outcomes of the clauses that the scenario is tagged with
	has    string // text in the report
}

func set(member string, v any) func(object) { return func(p object) { p[member] = v } }

func unset(member string) func(object) { return func(p object) { delete(p, member) } }

// results changes the results of successful calls.
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
	const lines = "When agent A connects\nThen agent A is connected\nWhen agent A joins\nThen agent A is told that it " +
		"has joined\n"
	runHosts(t, []hostRow{
		{"joined", lines, nil, "EA-017=passed EA-028=passed EA-029=passed EA-030=passed EA-103=passed EA-106=passed", ""},
		{"members that no clause names", lines, edit(vocab.RelayJoined, set("peers", []any{})),
			"EA-028=passed EA-029=passed EA-030=passed", ""},
		{"another role", lines, edit(vocab.RelayJoined, set("role", "host")), "EA-028=passed EA-029=failed EA-030=passed",
			`payload.role is "host"`},
		{"no role", lines, edit(vocab.RelayJoined, unset("role")), "EA-028=passed EA-029=failed EA-030=passed",
			`payload.role is missing`},
		{"another relay session", lines, edit(vocab.RelayJoined, set("sessionId", "s-1")), "EA-029=passed EA-030=failed",
			`payload.sessionId is "s-1"`},
		{"no answer", lines, nothing(vocab.RelayJoin), "EA-028=failed EA-029=failed", `no answer whose replyTo is "req-n-1"`},
		{"an answer to nobody", lines, editEnvelope(vocab.RelayJoined, unset("replyTo")), "EA-028=failed",
			`relay.joined, whose replyTo is not "req-n-1"`},
		{"an answer with a replyTo that is null", lines, editEnvelope(vocab.RelayJoined, set("replyTo", nil)),
			"EA-028=failed", `relay.joined, whose replyTo is not "req-n-1"`},
		{"an answer to another request", lines, editEnvelope(vocab.RelayJoined, set("replyTo", "req-n-7")), "EA-028=failed",
			`relay.joined, whose replyTo is not "req-n-1"`},
		{"a refusal", lines, refuses(vocab.RelayJoin, "INVALID_MESSAGE"), "EA-028=failed EA-030=failed", "error {"},
		{"the end of the connection", lines, to(vocab.RelayJoin,
			func(*peerConn, *transcript.Record, []any) []any { return []any{hangUp{}} }), "EA-028=failed",
			"closed by the target"},
		{"the end of the connection with the session", session + ending + session + asksFor, hangsUp(vocab.SessionEnd),
			"EA-063=passed EA-041=passed", ""},
		{"the end of the connection in a session", session + "And agent A has joined\n", hangsUp(vocab.SessionStart),
			"EA-028=passed EA-016=failed", "a connection that stays for the next message"},
		{"without a request no answer is awaited", "Then agent A is told that it has joined\n", nil, "EA-028=not-tested",
			"A has not asked to join"},
	})
}

func TestSessions(t *testing.T) {
	const starting = joined + "When agent A starts a session\nThen agent A is told that the session has started\n"
	runHosts(t, []hostRow{
		{"a session", starting, nil, "EA-038=passed EA-025=passed EA-103=passed EA-040=not-applicable",
			"the form of s-YYYYMMDD-NNN"},
		{"another form of its id", starting, edit(vocab.SessionStarted, set("sessionId", "7")),
			"EA-038=passed EA-040=not-applicable", "another form than s-YYYYMMDD-NNN"},
		{"no answer", starting, nothing(vocab.SessionStart), "EA-038=failed EA-103=failed", "no answer whose replyTo is"},
		{"an answer to nobody", starting, editEnvelope(vocab.SessionStarted, unset("replyTo")), "EA-038=failed",
			"session.started, whose replyTo is not"},
		{"an answer of another type", starting, editEnvelope(vocab.SessionStarted, set("type", "session.opened")),
			"EA-038=failed", "session.opened {"},
		{"a refusal", starting, refuses(vocab.SessionStart, "INVALID_PARAMS"), "EA-038=failed", "INVALID_PARAMS"},
		{"no session was started", joined + "Then agent A is told that the session has started\n", nil, "EA-038=not-tested",
			"agent A has started no session"},

		{"a snapshot", session + asksFor, nil,
			"EA-004=passed EA-005=passed EA-006=passed EA-041=passed EA-042=passed EA-077a=passed", ""},
		{"a snapshot while no uiSpec is active", session + asksFor, edit(vocab.SnapshotState, set("uiSpec", nil)),
			"EA-004=passed EA-041=passed", ""},
		{"a snapshot without uiSpec", session + asksFor, edit(vocab.SnapshotState, unset("uiSpec")),
			"EA-004=failed EA-005=passed EA-006=passed EA-041=passed", "snapshot.state with uiSpec"},
		{"a snapshot without messageHistory", session + asksFor, edit(vocab.SnapshotState, unset("messageHistory")),
			"EA-004=passed EA-005=failed EA-006=passed", "snapshot.state with messageHistory"},
		{"a snapshot without toolSchema", session + asksFor, edit(vocab.SnapshotState, unset("toolSchema")),
			"EA-004=passed EA-005=passed EA-006=failed", "snapshot.state with toolSchema"},
		{"a snapshot of another session", session + asksFor, edit(vocab.SnapshotState, set("sessionId", "default")),
			"EA-041=passed EA-042=failed", `payload.sessionId is "default"`},
		{"a snapshot of no session", session + asksFor, edit(vocab.SnapshotState, unset("sessionId")), "EA-042=failed",
			"payload.sessionId is missing"},
		{"no snapshot", session + asksFor, nothing(vocab.SnapshotGet),
			"EA-004=failed EA-041=failed EA-077a=failed EA-042=not-tested", "no answer whose replyTo is"},
		{"a snapshot for nobody", session + asksFor, editEnvelope(vocab.SnapshotState, unset("replyTo")), "EA-041=failed",
			"snapshot.state, whose replyTo is not"},
		{"a state in place of a snapshot", session + asksFor, editEnvelope(vocab.SnapshotState,
			set("type", vocab.StateUpdated)), "EA-041=failed", "state.updated {"},
		{"no snapshot was requested", session + "Then agent A gets a snapshot\n", nil, "EA-041=not-tested",
			"agent A has asked for no snapshot"},

		{"an end", session + ending, nil, "EA-063=passed EA-064=passed EA-067=passed EA-066=not-applicable",
			"the form of logs/study"},
		{"an end of another session", session + ending, edit(vocab.SessionEnded, set("sessionId", "s-0")),
			"EA-063=passed EA-064=failed EA-067=passed", `payload.sessionId is "s-0"`},
		{"an end that resets nothing", session + ending, edit(vocab.SessionEnded, set("stateReset", false)),
			"EA-064=passed EA-067=failed", "payload.stateReset is false"},
		{"an end with another log", session + ending, edit(vocab.SessionEnded, set("logFile", "/var/log/a")),
			"EA-066=not-applicable", "another form than logs/study"},
		{"no end", session + ending, nothing(vocab.SessionEnd), "EA-063=failed EA-064=not-tested",
			"no answer whose replyTo is"},
		{"a refused end", session + ending, refuses(vocab.SessionEnd, "SESSION_NOT_ACTIVE"), "EA-063=failed",
			"SESSION_NOT_ACTIVE"},
		{"no session was ended", session + "Then agent A is told that the session has ended\n", nil, "EA-063=not-tested",
			"agent A has ended no session"},
	})
}

// keepsMessages is a host that does not forget messages of earlier sessions.
func keepsMessages() bad {
	said := []any{}
	return func(_ *peerConn, asked *transcript.Record, out []any) []any {
		if asked != nil && kindOf(asked) == vocab.AgentMessage {
			said = append(said, object{"role": "agent", "text": payload(asked)[vocab.Text]})
		}
		for i, v := range out {
			if is(vocab.SnapshotState, v) || is(vocab.StateUpdated, v) {
				env := copied(v).(object)
				env[vocab.Payload].(object)[vocab.MessageHistory] = append([]any{}, said...)
				out[i] = env
			}
		}
		return out
	}
}

const aNewSessionIsCleanLines = "Given the states of a session are known\n" +
	"And agent A fills its session with messages and tool calls\n" +
	ending +
	"And agent A has a new session that contains nothing of the old one\n"

var aNewSessionIsCleanClock = 0

// aNewSessionIsCleanFrom changes what a host shows from the n-th study session on.
var aNewSessionIsCleanFrom = func(n int, f func(c *peerConn, p object)) bad {
	return func(c *peerConn, asked *transcript.Record, out []any) []any {
		if c.of.count < n {
			return out
		}
		return edit(vocab.SnapshotState, func(p object) { f(c, p) })(c, asked, out)
	}
}

var aNewSessionIsCleanFirst = func(p object) object {
	if ui, ok := p[vocab.Spec].(object); ok && ui["stage"] == "movie" {
		return ui
	}
	return object{}
}

var aNewSessionIsCleanRows = []hostRow{
	{"clean", aNewSessionIsCleanLines, nil, "EA-011=passed", ""},
	{"a clock in its uiSpec", aNewSessionIsCleanLines, edit(vocab.SnapshotState, func(p object) {
		aNewSessionIsCleanClock++
		if ui, ok := p[vocab.Spec].(object); ok {
			ui["clock"] = wjson.Number(fmt.Sprint(aNewSessionIsCleanClock))
		}
	}), "EA-011=passed", "not compared, as it changes on its own: uiSpec/clock"},
	{"its own id in its uiSpec", aNewSessionIsCleanLines, edit(vocab.SnapshotState, func(p object) {
		if ui, ok := p[vocab.Spec].(object); ok {
			ui["session"] = p[vocab.SessionID]
		}
	}), "EA-011=passed", "uiSpec/session"},
	{"what was said is left", aNewSessionIsCleanLines, keepsMessages(), "EA-011=failed", "it is still there: word-n-"},
	{"what the participant said is left", aNewSessionIsCleanLines, func() bad {
		said := any("")
		return func(c *peerConn, asked *transcript.Record, out []any) []any {
			if asked == nil && len(out) > 0 && is(vocab.UserMessage, out[0]) {
				said = out[0].(object)[vocab.Payload].(object)[vocab.Text]
			}
			return aNewSessionIsCleanFrom(4, func(_ *peerConn, p object) {
				p[vocab.MessageHistory] = []any{object{"role": "user", "text": said}}
			})(c, asked, out)
		}
	}(), "EA-011=failed", "it is still there: word-n-"},
	{"the first choice is left from the start", aNewSessionIsCleanLines, aNewSessionIsCleanFrom(2,
		func(_ *peerConn, p object) { aNewSessionIsCleanFirst(p)["selected"] = []any{"m1"} }), "EA-011=failed",
		"uiSpec/selected is unchanged from the previous session"},
	{"a choice is left of the calls that led nowhere", aNewSessionIsCleanLines,
		aNewSessionIsCleanFrom(4, func(_ *peerConn, p object) { aNewSessionIsCleanFirst(p)["selected"] = []any{"m3"} }),
		"EA-011=failed", "another uiSpec"},
	{"a note of them is left in the history", aNewSessionIsCleanLines, aNewSessionIsCleanFrom(4,
		func(_ *peerConn, p object) { p[vocab.MessageHistory] = []any{"x"} }), "EA-011=failed", "another messageHistory"},
	{"the tools are others", aNewSessionIsCleanLines, aNewSessionIsCleanFrom(4, func(_ *peerConn,
		p object) {
		p[vocab.ToolSchema] = append(p[vocab.ToolSchema].([]any), object{"name": "undo"})
	}), "EA-011=failed",
		"another toolSchema"},
	{"the second session is different", aNewSessionIsCleanLines,
		aNewSessionIsCleanFrom(2, func(_ *peerConn, p object) { p[vocab.ToolSchema] = []any{} }),
		"EA-011=failed", "a session in which the booking proceeds as in the previous one"},
	{"the last session is different", aNewSessionIsCleanLines, aNewSessionIsCleanFrom(4, func(_ *peerConn, p object) {
		p[vocab.ToolSchema] = []any{}
	}),
		"EA-011=failed", "a session in which the booking proceeds as in the previous one"},
	{"no session goes", aNewSessionIsCleanLines, edit(vocab.SnapshotState, set("toolSchema", []any{})),
		"EA-011=not-tested",
		"the booking path does not match the host"},
	{"a tool is not answered", aNewSessionIsCleanLines, to(vocab.ToolCall,
		func(_ *peerConn, asked *transcript.Record, out []any) []any {
			if payload(asked)[vocab.ToolName] == vocab.PostMessage {
				return nil
			}
			return out
		}), "EA-011=not-tested", "postMessage was not answered"},
}

func TestANewSessionIsClean(t *testing.T) {
	runHosts(t, aNewSessionIsCleanRows)
}

var callsRows = []hostRow{
	{"carried out", session + firstCall, nil,
		"EA-007=passed EA-046=passed EA-047=passed EA-048=passed EA-049=passed EA-050=not-applicable EA-074=passed", ""},
	{"without a quick uiSpec", session + firstCall, results(unset("uiSpec")),
		"EA-046=passed EA-050=not-applicable EA-052=not-applicable", "the result of select has a uiSpec: false"},
	{"without toolName", session + firstCall, results(unset("toolName")), "EA-046=passed EA-049=failed",
		"payload.toolName is missing"},
	{"with another toolName", session + firstCall, results(set("toolName", "next")), "EA-049=failed",
		`payload.toolName is "next"`},
	{"ok is a text", session + firstCall, results(set("ok", "true")),
		"EA-007=failed EA-046=failed EA-047=passed EA-048=failed", `payload.ok is "true"`},
	{"no ok", session + firstCall, results(unset("ok")), "EA-046=failed EA-048=failed", "payload.ok is null"},
	{"no answer", session + firstCall, nothing(vocab.ToolCall), "EA-007=failed EA-046=failed EA-047=failed",
		"no answer whose replyTo is"},
	{"a state is no answer", session + firstCall, mute(vocab.ToolResult), "EA-046=failed EA-047=failed",
		"no answer whose replyTo is"},
	{"an answer to nobody", session + firstCall, editEnvelope(vocab.ToolResult, unset("replyTo")),
		"EA-046=failed EA-047=failed", "tool.result, whose replyTo is not"},
	{"an answer of another type", session + firstCall, editEnvelope(vocab.ToolResult, set("type", "tool.done")),
		"EA-046=failed", "tool.done {"},
	{"refused as unknown", session + firstCall, refuses(vocab.ToolCall, "UNKNOWN_TOOL"),
		"EA-007=failed EA-080=failed EA-006=failed", "the call of an announced tool carried out"},
	{"refused while a session is active", session + firstCall, refuses(vocab.ToolCall, "SESSION_NOT_ACTIVE"),
		"EA-007=failed EA-046=failed", "SESSION_NOT_ACTIVE"},
	{"refused while a uiSpec is active", session + firstCall, refuses(vocab.ToolCall, "NO_ACTIVE_SPEC"),
		"EA-007=failed EA-046=failed", "NO_ACTIVE_SPEC"},
	{"it fails while it runs", session + firstCall, refuses(vocab.ToolCall, "TOOL_EXECUTION_FAILED"),
		"EA-007=not-tested EA-046=not-tested", "a call of the booking path, was refused"},
	{"it fails by a result", session + firstCall, results(func(p object) {
		p[vocab.OK], p[vocab.Code] = false,
			"TOOL_EXECUTION_FAILED"
	}), "EA-007=not-tested", "was refused: tool.result"},
	{"tools that are not understood", session + firstCall, edit(vocab.SnapshotState, set("toolSchema", []any{7})),
		"EA-007=not-tested", "toolSchema is not understood: item 0"},
	{"the path is not announced", session + firstCall, edit(vocab.SnapshotState, set("toolSchema", []any{})),
		"EA-007=not-tested", "select: it is not announced at this stage"},
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
	{"an effect that shows later", session +
		"And agent A books up to the first call of \"setQuantity\"\nThen agent A is told that the call succeeded\n",
		lateNext(),
		"EA-007=passed EA-046=passed", ""},
	{"the path needs what uiSpec does not have", session + firstCall, edit(vocab.SnapshotState, set("uiSpec", object{})),
		"EA-007=not-tested", "the uiSpec has nothing at /items/0/id"},
	{"the path breaks the schema", session + firstCall, edit(vocab.SnapshotState, func(p object) {
		p[vocab.ToolSchema] = []any{object{"name": "select", "parameters": object{"itemId": object{"type": "integer"}}}}
	}), "EA-007=not-tested", "the booking path does not match the host"},
	{"no call was made", session + "Then agent A is told that the call succeeded\n", nil, "EA-007=not-tested",
		"agent A has called no tool"},
	{"no such call on the path", session + "When agent A books up to the first call of \"fly\"\n", nil,
		"EA-007=passed EA-054=not-applicable", `no call of "fly"`},
	{"a tool that is not announced now", session + "When agent A calls \"prev\"\n", nil, "EA-007=not-applicable",
		`does not announce "prev" at this stage`},

	{"ok alone", session + upToNext, results(func(p object) { delete(p, "toolName") }),
		"EA-105=passed EA-053=not-applicable", "the result of next has a uiSpec: false"},
	{"ok and the tool", session + upToNext, nil, "EA-105=passed EA-049=passed", ""},
	{"ok and another tool", session + upToNext, results(func(p object) {
		if p[vocab.ToolName] == "next" {
			p[vocab.ToolName] = "prev"
		}
	}), "EA-105=failed EA-049=failed", `payload.toolName is "prev"`},
}

func TestCalls(t *testing.T) {
	runHosts(t, callsRows)
}

// lateNext is a host that enters the next stage a moment after its result: the first snapshot after it is
// unchanged.
func lateNext() bad {
	var was object
	late := false
	return func(c *peerConn, asked *transcript.Record, out []any) []any {
		switch {
		case asked == nil:
		case kindOf(asked) == vocab.ToolCall && payload(asked)[vocab.ToolName] == vocab.Next && is(vocab.ToolResult, out[0]):
			late = true
			return out[:1]
		case kindOf(asked) == vocab.SnapshotGet && late:
			late = false
			return []any{envelope(vocab.SnapshotState, "", field(asked, vocab.ID), was), announced(c)}
		case kindOf(asked) == vocab.SnapshotGet && len(out) > 0 && is(vocab.SnapshotState, out[0]):
			was = copied(out[0].(object)[vocab.Payload]).(object)
		}
		return out
	}
}

// TestStrictResults checks that under --strict a result with ok alone lacks the toolName.
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
