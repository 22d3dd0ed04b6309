package externalagent

import (
	"slices"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/target"
	"parley/transport/transcript"
)

var speakingRows = []hostRow{
	{"not refused", session + saying + unchanged, nil, "EA-008=passed EA-008a=passed", ""},
	{"it has no effect", session + saying + unchanged, nothing(vocab.AgentMessage), "EA-008=passed EA-008a=passed",
		""},
	{"it is refused", session + saying, refuses(vocab.AgentMessage, "INVALID_MESSAGE"), "EA-008=failed",
		"INVALID_MESSAGE"},
	{"it is refused without replyTo", session + saying, all(refuses(vocab.AgentMessage, "INVALID_MESSAGE"),
		to(vocab.AgentMessage, editEnvelope(vocab.ErrorMessage, unset("replyTo")))), "EA-008=failed", "INVALID_MESSAGE"},
	{"it is shown in uiSpec", session + saying + unchanged, func() bad {
		said := any(nil)
		return func(c *peerConn, asked *transcript.Record, out []any) []any {
			if asked != nil && kindOf(asked) == vocab.AgentMessage {
				said = payload(asked)[vocab.Text]
			}
			return edit(vocab.SnapshotState, func(p object) { p[vocab.Spec].(object)["last"] = said })(c, asked, out)
		}
	}(), "EA-008=passed EA-008a=passed", ""},
	{"it is answered by a result", session + saying + unchanged,
		to(vocab.AgentMessage, func(_ *peerConn, asked *transcript.Record, out []any) []any {
			return append(out, envelope(vocab.ToolResult, "", field(asked, vocab.ID), object{"ok": true}))
		}), "EA-008=passed EA-008a=failed", "tool.result"},
	{"it changes the flow", session + saying + unchanged, func() bad {
		spoken := false
		return func(c *peerConn, asked *transcript.Record, out []any) []any {
			spoken = spoken || asked != nil && kindOf(asked) == vocab.AgentMessage
			if spoken {
				return edit(vocab.SnapshotState, func(p object) { p[vocab.Spec].(object)["stage"] = "ticket" })(c, asked, out)
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
	{"what looks like a call is carried out", session + upToNext +
		"When agent A sends the participant a message that looks like a call of \"prev\"\nThen agent A's message is not " +
		"refused\n" + unchanged,
		to(vocab.AgentMessage, func(c *peerConn, asked *transcript.Record, out []any) []any {
			if payload(asked)[vocab.ToolName] == nil {
				return out
			}
			pl := c.of.sessions[c.session]
			pl.called("x", object{vocab.ToolName: "prev", vocab.Params: object{}}, func(string, string) []any { return nil })
			return out
		}), "EA-008=passed EA-008a=failed", "has changed"},
	{"the effect of a call before it shows late", session + upToNext + saying + unchanged, lateNext(),
		"EA-008=passed EA-008a=passed", ""},
	{"an undeclared clock", session + restless + saying + unchanged, ticking(), "EA-008a=passed", ""},
	{"a clock, and another flow", session + restless + saying + unchanged,
		all(ticking(), behind(vocab.AgentMessage, edit(vocab.SnapshotState,
			func(p object) { p[vocab.Spec].(object)["stage"] = "ticket" }))), "EA-008a=failed", "uiSpec/stage has changed"},
	{"the tools in another order", session + saying + unchanged,
		behind(vocab.AgentMessage, edit(vocab.SnapshotState, func(p object) {
			slices.Reverse(p[vocab.ToolSchema].([]any))
		})), "EA-008a=passed", ""},
	{"it changes the flow a moment later", session + saying + unchanged,
		behind(vocab.AgentMessage, to(vocab.SnapshotGet, func(c *peerConn, _ *transcript.Record, out []any) []any {
			later := announced(c)
			later[vocab.Payload] = copied(later[vocab.Payload])
			later[vocab.Payload].(object)[vocab.ToolSchema] = []any{}
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
	{"what looks like a call is refused as invalid", session +
		"When agent A sends the participant a message that looks like a call of \"next\"\nThen agent A's message is not " +
		"refused\n",
		refuses(vocab.AgentMessage, "INVALID_MESSAGE"), "EA-008=not-tested", "with members of a tool.call is refused"},
	{"what looks like a call is refused with another code", session +
		"When agent A sends the participant a message that looks like a call of \"next\"\nThen agent A's message is not " +
		"refused\n",
		refuses(vocab.AgentMessage, "UNKNOWN_TOOL"), "EA-008=failed", "UNKNOWN_TOOL"},
	{"no message was sent", session + "Then agent A's message is not refused\n", nil, "EA-008=not-tested",
		"agent A has sent no message"},
	{"no message was sent, and nothing changes", session + unchanged, nil, "EA-008a=not-tested",
		"agent A has sent no message"},

	{"the participant is heard", session + speaking, nil, "EA-009=passed EA-060=passed EA-061=passed", ""},
	{"the participant is not heard", session + speaking, mute(vocab.UserMessage),
		"EA-009=failed EA-060=failed EA-061=not-tested", "no such message"},
	{"the participant is heard elsewhere", session + speaking,
		edit(vocab.UserMessage, func(p object) { p["content"] = p[vocab.Text]; delete(p, "text") }),
		"EA-009=passed EA-061=failed", "payload.text is null"},
	{"the participant is heard in part", session + speaking,
		edit(vocab.UserMessage, func(p object) { p[vocab.Text] = strings.TrimSuffix(p[vocab.Text].(string), "}") }),
		"EA-009=passed EA-061=failed", "payload.text is what the participant said"},
	{"the participant is heard with other characters", session + speaking,
		edit(vocab.UserMessage, func(p object) { p[vocab.Text] = strings.ReplaceAll(p[vocab.Text].(string), "😀", "\ufffd") }),
		"EA-009=passed EA-061=failed", "payload.text is what the participant said"},
	{"the participant is heard with markup escaped", session + speaking, edit(vocab.UserMessage, func(p object) {
		p[vocab.Text] = strings.ReplaceAll(p[vocab.Text].(string), "<", "&lt;")
	}), "EA-061=failed", "&lt;b"},
	{"the participant is heard with a line's end", session + speaking,
		edit(vocab.UserMessage, func(p object) { p["text"] = p["text"].(string) + "\n" }), "EA-009=passed EA-061=passed",
		""},
	{"the participant is heard with a replyTo", session + speaking,
		func(c *peerConn, asked *transcript.Record, out []any) []any {
			return editEnvelope(vocab.UserMessage, set("replyTo", "req-n-1"))(c, asked, out)
		}, "EA-009=passed EA-060=failed", "user.message without replyTo"},
	{"a null replyTo counts as absent", session + speaking, editEnvelope(vocab.UserMessage, set("replyTo", nil)),
		"EA-009=passed EA-060=passed", ""},
}

func TestSpeaking(t *testing.T) {
	runHosts(t, speakingRows)
}

// TestNobodySpeaks checks that without a hook the participant is silent, which breaks no clause.
func TestNobodySpeaks(t *testing.T) {
	p := &peer{}
	got := perform(t, environment(t, vocab.Host, p), struct{ target.Running }{p}, "@EA-009", session+speaking)
	expect(t, got, "EA-009=not-tested", "hooks.user-says")
	got = perform(t, environment(t, vocab.Host, p), struct{ target.Running }{p}, "@EA-041",
		session+"When the participant speaks to agent A, if the target supports it\n"+asksFor)
	expect(t, got, "EA-041=passed", "")
}
