package externalagent

import (
	"fmt"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// untold is a host that announces no state when a session starts, as nothing has changed yet.
func untold() bad {
	return to(vocab.SessionStart, mute(vocab.StateUpdated))
}

// accepts executes and moves on by any call that names a tool, whatever is announced and whatever the params are.
func accepts(tool string) bad {
	return to(vocab.ToolCall, func(c *peerConn, asked *transcript.Record, out []any) []any {
		if payload(asked)[vocab.ToolName] != tool || !is(vocab.ErrorMessage, out[0]) {
			return out
		}
		pl := c.of.sessions[c.session]
		pl.ui = put(copied(pl.ui), "/touched", field(asked, vocab.ID))
		return []any{envelope(vocab.ToolResult, "", field(asked, "id"), object{"ok": true, "toolName": tool}), announced(c)}
	})
}

// booksInTheHistory is a host whose last next shows in messageHistory only.
func booksInTheHistory() bad {
	var last object
	return func(c *peerConn, asked *transcript.Record, out []any) []any {
		pl := c.of.sessions[c.session]
		if pl == nil || pl.at < len(pl.flow.Stages) {
			last = nil
			if pl != nil {
				last = pl.state()
			}
		}
		if pl == nil || pl.at < len(pl.flow.Stages) || last == nil {
			return out
		}
		show := func(p object) {
			p[vocab.Spec], p[vocab.ToolSchema] = last[vocab.Spec], last[vocab.ToolSchema]
			p[vocab.MessageHistory] = append([]any{}, append(p[vocab.MessageHistory].([]any),
				object{"role": "assistant", "text": "booked"})...)
		}
		return all(edit(vocab.SnapshotState, show), edit(vocab.StateUpdated, show))(c, asked, out)
	}
}

// settlesLate is a host whose form is complete only some snapshots after the session has started.
func settlesLate(f func(ui object)) bad {
	asked := 0
	return func(c *peerConn, r *transcript.Record, out []any) []any {
		switch {
		case r == nil:
		case kindOf(r) == vocab.SessionStart:
			asked = 0
		case kindOf(r) == vocab.SnapshotGet:
			asked++
		}
		if asked > 1 {
			return out
		}
		return edit(vocab.SnapshotState, func(p object) {
			if ui, ok := p[vocab.Spec].(object); ok {
				f(ui)
			}
		})(c, r, out)
	}
}

const oddAndRightInStep = "And agent A is in sync\n"

const oddAndRightWrong = session + restless +
	"Then agent A calls every announced tool with a param missing, and each call is refused\n"

const oddAndRightUntyped = session +
	"When agent A sends a snapshot.get with %s\nThen agent A's message is refused as invalid\nAnd agent A is still " +
	"served\n"

var oddAndRightStill = 0

var oddAndRightRows = []hostRow{
	// Nothing is due while nothing has changed.
	{"no state is sent while every call is refused", oddAndRightWrong,
		all(untold(), to(vocab.ToolCall, func(_ *peerConn, _ *transcript.Record, out []any) []any { return out })),
		"EA-074=passed EA-081=passed EA-072=passed", ""},
	{"no state, and nothing done", session + oddAndRightInStep, untold(), "EA-072=not-tested EA-073=not-tested", ""},
	{"no state, and a refused call", session + restless + noTool + oddAndRightInStep, untold(),
		"EA-072=not-tested EA-073=not-tested EA-080=passed", ""},
	{"no state, and a call that has changed something", session + restless + firstCall + oddAndRightInStep,
		mute(vocab.StateUpdated),
		"EA-072=failed EA-073=failed", "no state.updated since the session began, and another uiSpec than in its first " +
			"snapshot"},
	{"no state, and a refused call that has changed something", session + restless + noTool + oddAndRightInStep,
		all(mute(vocab.StateUpdated), behind(vocab.ToolCall, edit(vocab.SnapshotState,
			func(p object) { p[vocab.Spec].(object)["n"] = true }))), "EA-073=failed", "at uiSpec/n"},

	// An accepted call is not a refusal.
	{"a call that breaks its schema is accepted, and moves on", oddAndRightWrong, accepts("select"),
		"EA-081=failed EA-074=passed",
		"tool.result"},
	{"a tool of another stage is accepted, and moves on", session + restless + others, accepts("setQuantity"),
		"EA-080=failed EA-074=passed", "tool.result"},

	// An envelope without a type cannot be answered with its id.
	{"no type, and no replyTo", fmt.Sprintf(oddAndRightUntyped, "no type"),
		editEnvelope(vocab.ErrorMessage, unset("replyTo")),
		"EA-068=not-applicable EA-078=passed EA-041=passed", "names its id: false"},
	{"no type, and a replyTo", fmt.Sprintf(oddAndRightUntyped, "no type"), nil, "EA-068=not-applicable EA-078=passed",
		"names its id: true"},
	{"a type that is a number, and no replyTo", fmt.Sprintf(oddAndRightUntyped, "type that is a number"),
		editEnvelope(vocab.ErrorMessage, unset("replyTo")), "EA-068=not-applicable EA-078=passed", ""},
	{"an unknown type, and no replyTo", fmt.Sprintf(oddAndRightUntyped, "an unknown type"),
		editEnvelope(vocab.ErrorMessage, unset("replyTo")), "EA-068=failed EA-078=passed", "error with replyTo"},

	// There is no screen after the last stage.
	{"the last next shows in the history", session + restless + booking, booksInTheHistory(),
		"EA-054=passed EA-072=passed", ""},
	{"the first next shows in the history", session + restless + upToNext + shows, func() bad {
		was := object{}
		return func(c *peerConn, asked *transcript.Record, out []any) []any {
			if asked != nil && kindOf(asked) == vocab.ToolCall && payload(asked)[vocab.ToolName] == vocab.Next {
				return append(out[:1], envelope(vocab.StateUpdated, "", "",
					object{"source": "host", vocab.Spec: was[vocab.Spec], vocab.ToolSchema: was[vocab.ToolSchema],
						vocab.MessageHistory: []any{"next"}}))
			}
			if pl := c.of.sessions[c.session]; pl != nil {
				was = copied(pl.state()).(object)
			}
			return out
		}
	}(), "EA-054=failed", "none differs"},

	// A single change has come late and does not happen by itself.
	{"a form that is completed late hides nothing", session + restless + firstCall + oddAndRightInStep,
		all(settlesLate(func(ui object) { ui["selected"] = "…" }), edit(vocab.StateUpdated, func(p object) {
			if ui, ok := p[vocab.Spec].(object); ok {
				ui["selected"] = "other"
			}
		})), "EA-073=failed", "uiSpec/selected"},
	{"a change after a call hides nothing", session + restless + firstCall + oddAndRightInStep,
		behind(vocab.ToolCall, edit(vocab.SnapshotState, func(p object) {
			oddAndRightStill++
			p[vocab.Spec].(object)["step"] = wjson.Number(fmt.Sprint(min(oddAndRightStill, 3)))
		})), "EA-073=failed", "uiSpec/step"},
}

// TestOddAndRight checks that what no clause forbids does not fail, and that a fault is charged to its own clause
// only.
func TestOddAndRight(t *testing.T) {

	runHosts(t, oddAndRightRows)
}

// TestObserver checks that changes by themselves are looked for in an idle session, if one can be had.
func TestObserver(t *testing.T) {
	const lines = session + firstCall + "And agent A is in sync\n"
	// slowly is a clock that advances every few snapshots, in sessions whose names have the given ending.
	slowly := func(session string, each int) bad {
		n := 0
		return func(c *peerConn, asked *transcript.Record, out []any) []any {
			if asked != nil && kindOf(asked) == vocab.SnapshotGet {
				n++
			}
			if !strings.HasSuffix(c.session, session) {
				return out
			}
			tick := func(p object) {
				if ui, ok := p[vocab.Spec].(object); ok {
					ui["clock"] = wjson.Number(fmt.Sprint(n / each))
				}
			}
			return all(edit(vocab.SnapshotState, tick), edit(vocab.StateUpdated, tick))(c, asked, out)
		}
	}
	for _, r := range []struct {
		reason       string
		bad          bad
		capabilities []string
		want, has    string
	}{
		{"a clock in every session", slowly("", 2), []string{binding.RelaySessions}, "EA-072=passed EA-073=passed",
			"changes on its own: uiSpec/clock"},
		{"a clock that a call has started", behind(vocab.ToolCall, slowly("n", 1)), []string{binding.RelaySessions},
			"EA-073=failed", "uiSpec/clock"},
		{"a clock, and no other session", slowly("", 2), nil, "EA-073=failed", "uiSpec/clock"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			p := &peer{bad: r.bad}
			env := environment(t, vocab.Host, p)
			env.Profile.Capabilities, binding.Of(env.Profile).Session = r.capabilities, "{nonce}"
			expect(t, perform(t, env, p, tagsOf(r.want), lines), r.want, r.has)
		})
	}
}

// losesChoice is a host that undoes what select has chosen, as one that is still resetting does.
func losesChoice() bad {
	return to(vocab.ToolCall, func(c *peerConn, asked *transcript.Record, out []any) []any {
		if payload(asked)[vocab.ToolName] != "select" || !is(vocab.ToolResult, out[0]) {
			return out
		}
		pl := c.of.sessions[c.session]
		pl.ui = copied(pl.flow.Stages[pl.at].UISpec)
		return append(out, announced(c))
	})
}

// fallsBack is a host that returns to its first stage after each next.
func fallsBack() bad {
	return to(vocab.ToolCall, func(c *peerConn, asked *transcript.Record, out []any) []any {
		if payload(asked)[vocab.ToolName] != vocab.Next || !is(vocab.ToolResult, out[0]) {
			return out
		}
		pl := c.of.sessions[c.session]
		pl.at, pl.ui = 0, copied(pl.flow.Stages[0].UISpec)
		return append(out, announced(c))
	})
}

// TestALostChoice checks that the booking path is not blamed for what a host has lost.
func TestALostChoice(t *testing.T) {
	runHosts(t, []hostRow{
		{"a choice is gone", session + upToNext, losesChoice(), "EA-054=not-tested",
			`the effect of select was lost: uiSpec/selected was ["m1"] in record `},
		{"a stage is gone", session + "And agent A books up to the first call of \"setQuantity\"\nThen agent A is told " +
			"that the call succeeded\n", fallsBack(), "EA-054=not-tested",
			`setQuantity cannot be called at stage "movie": the effect of next was lost: uiSpec`},
		{"a path of another host", session + "And agent A books up to the first call of \"setQuantity\"\nThen agent A is " +
			"told that the call succeeded\n", edit(vocab.SnapshotState, func(p object) {
			if ui, ok := p[vocab.Spec].(object); ok && ui["stage"] == "ticket" {
				p[vocab.ToolSchema] = []any{}
			}
		}), "EA-054=not-tested", "the booking path does not match the host (external-agent.booking in the profile): " +
			"setQuantity: it " +
			"is not announced"},
	})
}

// draws is a host without a uiSpec for a moment after next, until some requests have come; refuses says whether it
// refuses calls then.
func draws(refuses bool) bad {
	left := 0
	return func(c *peerConn, asked *transcript.Record, out []any) []any {
		if asked == nil || len(out) == 0 {
			return out
		}
		pl := c.of.sessions[c.session]
		began := kindOf(asked) == vocab.ToolCall && payload(asked)[vocab.ToolName] == vocab.Next &&
			is(vocab.ToolResult, out[0]) && left == 0
		if began && pl.at < len(pl.flow.Stages) {
			left = 4
		}
		if left == 0 {
			return out
		}
		if kindOf(asked) == vocab.ToolCall && !began && refuses {
			if is(vocab.ToolResult, out[0]) {
				pl.undo()
			}
			out = []any{error1(asked, "NO_ACTIVE_SPEC")}
		}
		hide := func(p object) { p[vocab.Spec], p[vocab.ToolSchema] = nil, []any{} }
		out = all(edit(vocab.SnapshotState, hide), edit(vocab.StateUpdated, hide))(c, asked, out)
		if left--; left == 0 {
			out = append(out, announced(c))
		}
		return out
	}
}

// TestNoSpecForAMoment checks that a call while no uiSpec is active must be refused, however briefly that lasts.
func TestNoSpecForAMoment(t *testing.T) {
	const lines = session + "Then agent A calls a tool whenever no uiSpec is active during the booking, and each call " +
		"is refused\n"
	never := edit(vocab.StateUpdated, func(p object) {
		if p[vocab.Spec] == nil {
			p[vocab.Spec] = object{"stage": "done"}
		}
	})
	runHosts(t, []hostRow{
		{"at the end alone", lines, nil, "EA-082=passed EA-104=passed", ""},
		{"for a moment", lines, draws(true), "EA-082=passed", ""},
		{"for a moment, and calls are carried out", lines, draws(false), "EA-082=failed", "tool.result"},
		{"at the end, and calls are carried out", lines, carriesOut, "EA-082=failed", "tool.result"},
		{"another code", lines, codes("NO_ACTIVE_SPEC", "UNKNOWN_TOOL"), "EA-082=failed", "UNKNOWN_TOOL"},
		{"never", lines, all(never, edit(vocab.SnapshotState, func(p object) {
			if p[vocab.Spec] == nil {
				p[vocab.Spec] = object{"stage": "done"}
			}
		})), "EA-082=not-applicable", "uiSpec is never null during the booking"},
	})
}
