package externalagent

import (
	"slices"
	"testing"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/transport/transcript"
)

// error1 returns an error with a code that answers a message.
func error1(asked *transcript.Record, code string) object {
	return envelope(vocab.ErrorMessage, "", field(asked, vocab.ID), object{"code": code, "message": "m"})
}

// codes replaces one error code by another.
func codes(from, to string) bad {
	return edit(vocab.ErrorMessage, func(p object) {
		if p[vocab.Code] == from {
			p[vocab.Code] = to
		}
	})
}

// asResults turns the failures of calls into results that are not ok.
func asResults(place string) bad {
	return to(vocab.ToolCall, func(_ *peerConn, asked *transcript.Record, out []any) []any {
		for i, v := range out {
			if is(vocab.ErrorMessage, v) {
				code := v.(object)[vocab.Payload].(object)[vocab.Code]
				body := object{"ok": false, vocab.ToolName: payload(asked)[vocab.ToolName]}
				if place == "error" {
					body["error"] = object{"code": code}
				} else {
					body[place] = code
				}
				out[i] = envelope(vocab.ToolResult, "", field(asked, vocab.ID), body)
			}
		}
		return out
	})
}

// carriesOut answers calls that should be refused as if they had succeeded.
func carriesOut(_ *peerConn, asked *transcript.Record, out []any) []any {
	if asked == nil || kindOf(asked) != vocab.ToolCall {
		return out
	}
	for i, v := range out {
		if is(vocab.ErrorMessage, v) {
			out[i] = envelope(vocab.ToolResult, "", field(asked, vocab.ID),
				object{"ok": true, vocab.ToolName: payload(asked)[vocab.ToolName]})
		}
	}
	return out
}

// quietly changes what snapshots show after calls refused with a code, without a state.updated.
func quietly(code string, f func(payload object)) bad {
	touched := false
	return func(c *peerConn, asked *transcript.Record, out []any) []any {
		touched = touched || asked != nil && kindOf(asked) == vocab.ToolCall && is(vocab.ErrorMessage, out[0]) &&
			out[0].(object)[vocab.Payload].(object)[vocab.Code] == code
		if !touched {
			return out
		}
		return edit(vocab.SnapshotState, f)(c, asked, out)
	}
}

// ofStage announces the tools of one stage, whatever may be called.
func ofStage(n int) bad {
	f := func(p object) {
		if flow, err := loadFlow(""); err == nil {
			p[vocab.ToolSchema] = flow.Stages[n].ToolSchema
		}
	}
	return all(edit(vocab.SnapshotState, f), edit(vocab.StateUpdated, f))
}

// touching refuses calls with a code, but still changes what is shown.
func touching(code string, f func(payload object)) bad {
	touched := false
	return func(c *peerConn, asked *transcript.Record, out []any) []any {
		if asked != nil && kindOf(asked) == vocab.ToolCall && len(out) == 1 && is(vocab.ErrorMessage, out[0]) &&
			out[0].(object)[vocab.Payload].(object)[vocab.Code] == code {
			touched = true
			out = append(out, announced(c))
		}
		if !touched {
			return out
		}
		return all(edit(vocab.SnapshotState, f), edit(vocab.StateUpdated, f))(c, asked, out)
	}
}

const refusalsWrong = session + "Then agent A calls every announced tool with a param missing, and each call is " +
	"refused\n"

const refusalsShapeless = session + "Then agent A calls a tool with params that are missing, null, a list, a string " +
	"and a number, and each call is refused\n"

const refusalsAfterEnd = session + ending +
	"And agent A makes every call of the booking, and each is refused with \"SESSION_NOT_ACTIVE\"\n"

var refusalsEnded = session + ending +
	"When agent A makes a call\nThen agent A is refused with \"SESSION_NOT_ACTIVE\"\n"

var refusalsRows = []hostRow{
	{"a tool that does not exist", session + noTool, nil, "EA-080=passed EA-068=passed EA-104=passed EA-074=passed", ""},
	{"by a result that is not ok", session + noTool, asResults("code"), "EA-080=passed EA-104=passed EA-068=not-tested",
		""},
	{"by a result with its code in an error", session + noTool, asResults("error"), "EA-080=passed EA-104=passed", ""},
	{"by a result with its code elsewhere", session + noTool, asResults("reason"), "EA-080=failed", "tool.result"},
	{"with another code", session + noTool, codes("UNKNOWN_TOOL", "INVALID_PARAMS"),
		"EA-080=failed EA-096=not-applicable EA-104=not-tested", "INVALID_PARAMS"},
	{"with a code in small letters", session + noTool, codes("UNKNOWN_TOOL", "unknown_tool"), "EA-080=failed",
		"unknown_tool"},
	{"without a code", session + noTool, edit(vocab.ErrorMessage, unset("code")), "EA-080=failed", "error {"},
	{"without replyTo", session + noTool, editEnvelope(vocab.ErrorMessage, unset("replyTo")),
		"EA-068=failed EA-104=failed EA-080=failed", "error, whose replyTo is not"},
	{"with a replyTo that is null", session + noTool, editEnvelope(vocab.ErrorMessage, set("replyTo", nil)),
		"EA-068=failed", "error, whose replyTo is not"},
	{"not at all", session + noTool, nothing(vocab.ToolCall), "EA-068=failed EA-104=failed EA-080=failed",
		"no answer whose replyTo is"},
	{"it is carried out", session + noTool, carriesOut, "EA-080=failed EA-068=not-tested EA-104=not-tested",
		"tool.result"},
	{"nothing was asked", session + "When agent A loses its connection\nThen agent A is refused with \"UNKNOWN_TOOL\"\n",
		nil, "EA-080=not-tested", "agent A has sent no request"},

	{"a call after the end", refusalsEnded, nil, "EA-079=passed", ""},
	{"a call after the end is accepted", refusalsEnded, carriesOut, "EA-079=warned", "tool.result"},
	{"a call after the end is unknown", refusalsEnded, codes("SESSION_NOT_ACTIVE", "UNKNOWN_TOOL"), "EA-079=warned",
		"UNKNOWN_TOOL"},

	{"tools of other stages", session + others, nil, "EA-080=passed EA-096=passed", ""},
	{"tools of other stages are taken", session + others, carriesOut, "EA-080=failed", "tool.result"},
	{"all stages announce the same", session + others, func() bad {
		f, _ := loadFlow("")
		var tools []any
		for _, st := range f.Stages {
			tools = append(tools, st.ToolSchema...)
		}
		return edit(vocab.SnapshotState, set("toolSchema", tools))
	}(), "EA-080=not-applicable", "every stage of the booking announces the same tools"},

	{"all are refused since no uiSpec is active", session + noTool,
		all(edit(vocab.StateUpdated, set("uiSpec", nil)), codes("UNKNOWN_TOOL", "NO_ACTIVE_SPEC")), "EA-080=not-tested",
		"no uiSpec is active, so that every call is refused"},
	{"all are refused as if no uiSpec were active", session + noTool, codes("UNKNOWN_TOOL", "NO_ACTIVE_SPEC"),
		"EA-080=failed", "NO_ACTIVE_SPEC"},
	{"all are refused though no uiSpec is active, with another code", session + noTool,
		all(edit(vocab.StateUpdated, set("uiSpec", nil)), codes("UNKNOWN_TOOL", "TOOL_EXECUTION_FAILED")), "EA-080=failed",
		"TOOL_EXECUTION_FAILED"},
	{"every call after the end", refusalsAfterEnd, nil, "EA-079=passed EA-104=passed", ""},
	{"every call after the end, and one is accepted", refusalsAfterEnd,
		func(c *peerConn, asked *transcript.Record, out []any) []any {
			if asked != nil && payload(asked)[vocab.ToolName] == "setQuantity" {
				return carriesOut(c, asked, out)
			}
			return out
		}, "EA-079=warned", "tool.result"},

	{"a missing param", refusalsWrong, nil, "EA-081=passed EA-074=passed EA-072=passed", ""},
	{"a missing param, refused and executed", refusalsWrong, touching("INVALID_PARAMS", func(p object) {
		if ui, ok := p[vocab.Spec].(object); ok {
			ui["selected"] = []any{"m3"}
		}
	}), "EA-074=failed", "another uiSpec"},
	{"a missing param, refused and executed without a state.updated", refusalsWrong,
		quietly(vocab.InvalidParams, func(p object) {
			if ui, ok := p[vocab.Spec].(object); ok {
				ui["selected"] = []any{"m3"}
			}
		}), "EA-074=failed EA-072=not-tested EA-073=not-tested", "another uiSpec"},
	{"a missing param, and other tools after it", refusalsWrong,
		touching("INVALID_PARAMS", func(p object) {
			p[vocab.ToolSchema] = append(p[vocab.ToolSchema].([]any),
				object{"name": "undo"})
		}), "EA-074=failed", "another toolSchema"},
	{"a missing param, mentioned in the history", refusalsWrong,
		touching("INVALID_PARAMS", func(p object) { p[vocab.MessageHistory] = []any{"a param is missing"} }),
		"EA-074=passed EA-081=passed", ""},
	{"a tool of another stage, refused and carried out", session + others, touching("UNKNOWN_TOOL", func(p object) {
		if ui, ok := p[vocab.Spec].(object); ok {
			ui["quantities"] = object{"adult": 1}
		}
	}), "EA-074=failed", "refused calls without effect"},
	{"the tools of another stage are announced", session +
		"Then agent A calls every announced tool at every stage of the booking\n", ofStage(1),
		"EA-080=failed EA-081=not-tested", "an announced tool that is known"},
	{"a missing param, and the call is accepted", refusalsWrong, carriesOut, "EA-081=failed", "tool.result"},
	{"a missing param, and another code", refusalsWrong, codes("INVALID_PARAMS", "TOOL_EXECUTION_FAILED"),
		"EA-081=failed", "TOOL_EXECUTION_FAILED"},
	{"no schema has such a rule", session +
		"Then agent A calls every announced tool with a param below the minimum, and each call is refused\n",
		edit(vocab.SnapshotState, func(p object) {
			for _, item := range p[vocab.ToolSchema].([]any) {
				item.(object)["parameters"] = object{}
			}
		}), "EA-081=not-applicable", "no announced schema is broken by a param below the minimum"},
	{"params that are a list", refusalsShapeless, nil, "EA-081=passed", ""},
	{"params that are a list, an invalid message", refusalsShapeless, codes("INVALID_PARAMS", "INVALID_MESSAGE"),
		"EA-081=passed EA-078=passed", ""},
	{"params that are a list, taken", refusalsShapeless, carriesOut, "EA-081=failed", "tool.result"},
	{"params that are a list, unanswered", refusalsShapeless, to(vocab.ToolCall,
		func(_ *peerConn, asked *transcript.Record, out []any) []any {
			if payload(asked)[vocab.Params] == nil || is(vocab.ToolResult, out[0]) {
				return out
			}
			return nil
		}), "EA-081=failed", "no answer whose replyTo is"},
	{"no tool needs a param", refusalsShapeless, edit(vocab.SnapshotState, func(p object) {
		for _, item := range p[vocab.ToolSchema].([]any) {
			item.(object)["parameters"] = object{}
		}
	}), "EA-081=not-applicable", "no announced tool requires a param"},

	{"while no uiSpec is active", session +
		"When agent A makes the calls after which no uiSpec is active\nThen agent A is refused with \"NO_ACTIVE_SPEC\"\n",
		nil, "EA-082=passed", ""},
	{"while no uiSpec is active, and unknown", session +
		"When agent A makes the calls after which no uiSpec is active\nThen agent A is refused with \"NO_ACTIVE_SPEC\"\n",
		codes("NO_ACTIVE_SPEC", "UNKNOWN_TOOL"), "EA-082=failed", "UNKNOWN_TOOL"},
	{"a uiSpec stays active", session + "When agent A makes the calls after which no uiSpec is active\n",
		edit(vocab.SnapshotState, func(p object) {
			if p[vocab.Spec] == nil {
				p[vocab.Spec] = object{}
			}
		}), "EA-082=not-tested", "a uiSpec is still active"},
	{"it fails while it runs", session + "When agent A makes the calls that make a tool fail at run time\nThen agent A " +
		"is refused with \"TOOL_EXECUTION_FAILED\"\n", nil, "EA-083=passed", ""},
	{"it does not fail", session + "When agent A makes the calls that make a tool fail at run time\nThen agent A is " +
		"refused with \"TOOL_EXECUTION_FAILED\"\n", carriesOut, "EA-083=failed", "tool.result"},
	{"the failing call is not announced", session + "When agent A makes the calls that make a tool fail at run time\n",
		edit(vocab.SnapshotState, set("toolSchema", []any{})), "EA-083=not-tested", "next is not announced like that"},
}

func TestRefusals(t *testing.T) {

	runHosts(t, refusalsRows)
}

// TestEveryWayOfBeingWrong checks that a host that refuses by the schema passes, for each way of being wrong in the
// features.
func TestEveryWayOfBeingWrong(t *testing.T) {
	for how := range ways {
		p := &peer{}
		got := perform(t, environment(t, vocab.Host, p), p, "@EA-081",
			session+"Then agent A calls every announced tool with a param "+how+", and each call is refused\n")
		expect(t, got, "EA-081=passed", "")
	}
	p := &peer{}
	got := perform(t, environment(t, vocab.Host, p), p, "@EA-081",
		session+"Then agent A calls every announced tool with a param that is strange, and each call is refused\n")
	if got.Outcome != verdict.HarnessError {
		t.Errorf("a way that no step knows: %s: %s", got.Outcome, got.Reason)
	}
}

// TestProvocations checks that what cannot be provoked by the profile is not applicable.
func TestProvocations(t *testing.T) {
	for _, line := range []string{"When agent A makes the calls that make a tool fail at run time\n",
		"When agent A makes the calls after which no uiSpec is active\n"} {
		p := &peer{}
		env := environment(t, vocab.Host, p)
		binding.Of(env.Profile).Provoke = binding.Provocations{}
		expect(t, perform(t, env, p, "@EA-082 @EA-083", session+line), "EA-082=not-applicable EA-083=not-applicable",
			"the profile declares that it cannot be provoked")
	}
}

// toSpoilt changes the answers to invalid messages.
func toSpoilt(f func(asked *transcript.Record) []any) bad {
	return func(_ *peerConn, asked *transcript.Record, out []any) []any {
		if asked == nil || len(out) == 0 || !is(vocab.ErrorMessage, out[0]) {
			return out
		}
		return f(asked)
	}
}

func TestInvalidMessages(t *testing.T) {
	const junk = session + "When agent A sends malformed JSON\nThen agent A's message is refused as invalid\nAnd agent " +
		"A is still served\n"
	const version = session + "When agent A sends a snapshot.get with v of an older version\nThen agent A's message is " +
		"refused as invalid, or its connection is closed\nAnd agent A is still served\n"
	const shape = session + "When agent A sends a snapshot.get with no payload\nThen agent A's message is refused as " +
		"invalid, or its connection is closed\n"
	const early = session + "And agent B connects\nWhen agent B makes a call\nThen agent B's call is refused, or its " +
		"connection is closed\n"
	silent := toSpoilt(func(*transcript.Record) []any { return nil })
	closes := toSpoilt(func(*transcript.Record) []any { return []any{hangUp{}} })
	runHosts(t, []hostRow{
		{"no JSON", junk, nil, "EA-078=passed", ""},
		{"no JSON, with its id", junk, toSpoilt(func(*transcript.Record) []any {
			return []any{envelope(vocab.ErrorMessage, "", "req-n-3", object{"code": "INVALID_MESSAGE", "message": "m"})}
		}), "EA-078=passed", ""},
		{"no JSON, with another code", junk, codes("INVALID_MESSAGE", "INVALID_PARAMS"), "EA-078=failed", "INVALID_PARAMS"},
		{"no JSON, and no answer", junk, silent, "EA-078=failed", "no such message"},
		{"no JSON, and the end of the connection", junk, closes, "EA-078=failed", "closed by the target"},
		{"no JSON, and an error about something else", junk, toSpoilt(func(*transcript.Record) []any {
			return []any{envelope(vocab.ErrorMessage, "", "req-n-2", object{"code": "INVALID_MESSAGE", "message": "m"})}
		}), "EA-078=failed", "no such message"},
		{"no JSON, and no replyTo", junk, editEnvelope(vocab.ErrorMessage, unset("replyTo")),
			"EA-078=passed EA-068=not-tested", ""},
		{"another version", version, nil, "EA-020=passed EA-068=passed", ""},
		{"another version, and no replyTo", version, editEnvelope(vocab.ErrorMessage, unset("replyTo")),
			"EA-020=passed EA-068=failed", `error with replyTo "req-n-`},
		{"another version, and the end of the connection", version, closes, "EA-020=passed", ""},
		{"another version, served", version, toSpoilt(func(asked *transcript.Record) []any {
			return []any{envelope(vocab.SnapshotState, "", field(asked, vocab.ID), object{})}
		}), "EA-020=warned", "snapshot.state"},
		{"another version, and no answer", version, silent, "EA-020=warned", "no such message"},
		{"no payload", shape, nil, "EA-024a=passed", ""},
		{"no payload, and another code", shape, codes("INVALID_MESSAGE", "INVALID_PARAMS"), "EA-024a=warned",
			"INVALID_PARAMS"},
		{"before the join", early, nil, "EA-079b=passed", ""},
		{"before the join, an invalid message", early, codes("SESSION_NOT_ACTIVE", "INVALID_MESSAGE"), "EA-079b=passed", ""},
		{"before the join, and the end of the connection", early, closes, "EA-079b=passed", ""},
		{"before the join, and no answer", early, silent, "EA-079b=warned", "no such message"},
		{"before the join, and taken", early, carriesOut, "EA-079b=warned", "tool.result"},
		{"before the join, and unknown", early, codes("SESSION_NOT_ACTIVE", "UNKNOWN_TOOL"), "EA-079b=warned",
			"UNKNOWN_TOOL"},
		{"it cannot go on", session + "When agent A sends malformed JSON\nAnd agent A is still served\n", func() bad {
			over := false
			return func(_ *peerConn, asked *transcript.Record, out []any) []any {
				over = over || asked != nil && asked.Event == nil
				if over {
					return nil
				}
				return out
			}
		}(), "EA-041=failed", "no answer whose replyTo is"},
		{"nothing was sent", session + "When agent A loses its connection\nThen agent A's message is refused as invalid\n",
			nil, "EA-078=not-tested", "agent A has sent nothing"},
	})
}

// TestEveryFault checks that each spoilt message can be sent to a host, and that behaviour that is only noted does not
// fail.
func TestEveryFault(t *testing.T) {
	for fault := range faults {
		kind := vocab.SnapshotGet
		switch fault {
		case "no role", "an unknown role", "no sessionId", "a sessionId that is a number":
			kind = vocab.RelayJoin
		case "no toolName", "a toolName that is a number", "no reason":
			kind = vocab.ToolCall
		}
		t.Run(fault, func(t *testing.T) {
			for _, b := range []bad{nil, hangsUpAtOdd} {
				p := &peer{bad: b}
				got := perform(t, environment(t, vocab.Host, p), p, "@EA-022",
					session+"When agent A sends a "+kind+" with "+fault+"\nThen the answer to agent A's message is recorded\nAnd "+
						"agent A is still served\n")
				expect(t, got, "EA-022=not-applicable", "answered by")
				if len(got.Failures) > 0 || len(got.Notes) == 0 {
					t.Errorf("%s, with the notes %q", got.Outcome, got.Notes)
				}
			}
		})
	}
}

// hangsUpAtOdd ends the connection after an invalid message.
func hangsUpAtOdd(_ *peerConn, asked *transcript.Record, out []any) []any {
	if asked != nil && len(out) > 0 && is(vocab.ErrorMessage, out[0]) {
		return []any{hangUp{}}
	}
	return out
}

func TestEveryJunk(t *testing.T) {
	for _, what := range []string{"malformed JSON", "an empty text", "a JSON array", "a JSON string", "a JSON number",
		"a JSON null", "two JSON values", "half an envelope"} {
		p := &peer{}
		got := perform(t, environment(t, vocab.Host, p), p, "@EA-078",
			session+"When agent A sends "+what+"\nThen agent A's message is refused as invalid\nAnd agent A is still served\n")
		expect(t, got, "EA-078=passed", "")
		if !slices.ContainsFunc(got.Records, func(r transcript.Record) bool { return r.Label == what && r.Event == nil }) {
			t.Errorf("%s was not sent", what)
		}
	}
}

func TestAHostThatSendsWhatNoStepSends(t *testing.T) {
	p := &carrier{}
	env := environment(t, vocab.Relay, p)
	env.Profile.Limits.Event.Duration = patience
	if got := perform(t, env, p, "@EA-038",
		session+"When the host sends the relay a smile\n"); got.Outcome != verdict.HarnessError {
		t.Errorf("%s: %s", got.Outcome, got.Reason)
	}
}

// TestUnknownWords checks that a feature with an unknown fault is our own mistake, not a failure of the target.
func TestUnknownWords(t *testing.T) {
	p := &peer{}
	got := perform(t, environment(t, vocab.Host, p), p, "@EA-020",
		session+"When agent A sends a snapshot.get with a smile\n")
	if got.Outcome != verdict.HarnessError {
		t.Errorf("%s: %s", got.Outcome, got.Reason)
	}
}

// TestUnnamedRefusalFirst: of a refusal that is there, but names no request, the clause about replyTo is told first;
// where nothing came, the clause of the code is.
func TestUnnamedRefusalFirst(t *testing.T) {
	for first, bad := range map[string]bad{
		"EA-068": editEnvelope(vocab.ErrorMessage, unset("replyTo")), "EA-080": nothing(vocab.ToolCall),
	} {
		p := &peer{bad: bad}
		res := perform(t, environment(t, vocab.Host, p), p, tagsOf("EA-080=failed EA-104=failed EA-068=failed"),
			session+noTool)
		if len(res.Failures) < 3 || res.Failures[0].Clause != first { // a monitor tells EA-068, too
			t.Errorf("%s is not told first: %+v", first, res.Failures)
		}
	}
}
