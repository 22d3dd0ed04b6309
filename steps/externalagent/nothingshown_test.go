package externalagent

import (
	"testing"
	"testing/synctest"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

var takesNothingOldFrame = func(dir transcript.Dir, kind string, payload object) transcript.Record {
	b := mustEncode(envelope(kind, "", "", payload))
	return transcript.Record{Conn: "agent1", Dir: dir, Kind: transcript.Frame, Bytes: b}
}

var takesNothingOldTold = func(ui any) transcript.Record {
	return takesNothingOldFrame(transcript.Sent, vocab.StateUpdated,
		object{"source": "host", vocab.Spec: ui, vocab.MessageHistory: []any{},
			vocab.ToolSchema: []any{object{"name": "select", "note": "announced"}}})
}

var takesNothingOldSays = func(kind string, payload object) transcript.Record {
	return takesNothingOldFrame(transcript.Received, kind, payload)
}

var takesNothingOldCalls = func(item string) transcript.Record {
	return takesNothingOldSays(vocab.ToolCall, object{vocab.ToolName: "select", vocab.Params: object{"itemId": item}})
}

var takesNothingOldMark = func(r remark) transcript.Record {
	return transcript.Record{Dir: transcript.Noted, Kind: transcript.Remark, Label: string(r)}
}

// takesNothingOldWhile stands for time that passes.
var takesNothingOldWhile = transcript.Record{Label: "a while"}

var takesNothingOldBegin = []transcript.Record{{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Open},
	takesNothingOldTold(object{"items": []any{"old", "listed"}}), takesNothingOldCalls("old"),
	takesNothingOldMark(planning)}

var takesNothingOldShown = []transcript.Record{takesNothingOldWhile, takesNothingOldMark(planned),
	takesNothingOldTold(object{"items": []any{"new"}})}

var takesNothingOldJoin = func(lists ...[]transcript.Record) (out []transcript.Record) {
	for _, l := range append([][]transcript.Record{takesNothingOldBegin}, lists...) {
		out = append(out, l...)
	}
	return out
}

var takesNothingOldOne = func(r ...transcript.Record) []transcript.Record { return r }

var takesNothingOldPassed, takesNothingOldFailed, takesNothingOldOpen = "EA-051=passed EA-072=passed EA-077=passed",
	"EA-051=failed EA-072=failed EA-077=failed",
	"EA-051=not-tested EA-072=not-tested EA-077=not-tested"

var takesNothingOldRows = []struct {
	reason    string
	t         []transcript.Record
	want, has string
}{
	{"it waits", takesNothingOldJoin(takesNothingOldOne(takesNothingOldTold(nil)), takesNothingOldShown,
		takesNothingOldOne(takesNothingOldCalls("new"))), takesNothingOldPassed, ""},
	{"it takes what was shown", takesNothingOldJoin(takesNothingOldOne(takesNothingOldTold(nil),
		takesNothingOldCalls("old")), takesNothingOldShown, takesNothingOldOne(takesNothingOldCalls("new"))),
		takesNothingOldFailed,
		`a call with "old", which only an earlier uiSpec contains`},
	{"it uses what the flow lists", takesNothingOldJoin(takesNothingOldOne(takesNothingOldTold(nil),
		takesNothingOldCalls("listed")), takesNothingOldShown, takesNothingOldOne(takesNothingOldCalls("new"))),
		takesNothingOldOpen,
		"nor used a value that only an earlier one had"},
	{"it takes what is still announced", takesNothingOldJoin(takesNothingOldOne(takesNothingOldTold(nil),
		takesNothingOldCalls("announced")), takesNothingOldShown, takesNothingOldOne(takesNothingOldCalls("new"))),
		takesNothingOldOpen,
		"nor used a value that only an earlier one had"},
	{"it takes what was announced and shown",
		takesNothingOldJoin(takesNothingOldOne(takesNothingOldTold(object{"items": []any{"announced"}}),
			takesNothingOldTold(nil),
			takesNothingOldCalls("announced")), takesNothingOldShown, takesNothingOldOne(takesNothingOldCalls("new"))),
		takesNothingOldOpen, "nor used a value that only an earlier one had"},
	{"it ends its session meanwhile", takesNothingOldJoin(takesNothingOldOne(takesNothingOldTold(nil),
		takesNothingOldSays(vocab.SessionEnd, object{"reason": "no more"})), takesNothingOldShown),
		takesNothingOldPassed, ""},
	{"it only talks", takesNothingOldJoin(takesNothingOldOne(takesNothingOldTold(nil)), takesNothingOldShown,
		takesNothingOldOne(takesNothingOldSays(vocab.AgentMessage, object{"text": "what now?"}))), takesNothingOldOpen,
		"the agent neither continues nor ends its session"},
	{"it takes longer than it was given", takesNothingOldJoin(takesNothingOldOne(takesNothingOldTold(nil)),
		takesNothingOldShown, takesNothingOldOne(takesNothingOldWhile, takesNothingOldWhile, takesNothingOldCalls("new"))),
		takesNothingOldOpen,
		"in which nothing was shown: its silence may be due to that"},
	{"its calls cross the messages to it", takesNothingOldJoin(takesNothingOldOne(takesNothingOldCalls("listed"),
		takesNothingOldTold(nil), takesNothingOldCalls("old"), takesNothingOldWhile, takesNothingOldWhile),
		takesNothingOldShown,
		takesNothingOldOne(takesNothingOldCalls("listed"), takesNothingOldWhile, takesNothingOldWhile, takesNothingOldWhile,
			takesNothingOldCalls("new"))), takesNothingOldPassed, ""},
	{"it sends calls ahead, and takes what was shown",
		takesNothingOldJoin(takesNothingOldOne(takesNothingOldCalls("listed"), takesNothingOldTold(nil), takesNothingOldWhile,
			takesNothingOldWhile, takesNothingOldWhile,
			takesNothingOldCalls("old")), takesNothingOldShown, takesNothingOldOne(takesNothingOldCalls("new"))),
		takesNothingOldFailed, `a call with "old"`},
	{"it sends calls ahead, the latest from before", takesNothingOldJoin(takesNothingOldOne(takesNothingOldCalls("listed"),
		takesNothingOldTold(nil)), takesNothingOldShown, takesNothingOldOne(takesNothingOldCalls("listed"))),
		takesNothingOldOpen, "the agent neither continues nor ends its session"},
	{"something was shown all the time", takesNothingOldJoin(takesNothingOldShown,
		takesNothingOldOne(takesNothingOldCalls("new"))), takesNothingOldOpen, "the host was never without a uiSpec"},
}

// TestTakesNothingOld checks that an agent makes no call with a value from an earlier uiSpec while none is active,
// and that its next act must show that it was still there.
func TestTakesNothingOld(t *testing.T) {
	f, err := loadFlow("")
	if err != nil {
		t.Fatal(err)
	}

	for _, r := range takesNothingOldRows {
		t.Run(r.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := within(t, vocab.Agent, tagsOf(r.want), func(s *suite) error {
					s.wire.Agent.Pace.Duration = time.Second
					s.agent = &callee{ended: make(chan struct{}), planned: 1, play: newPlay(s.T, f, s.Nonce)}
					s.agent.listed.Store(&[]string{"listed"})
					for _, rec := range r.t {
						if rec.Label == takesNothingOldWhile.Label {
							time.Sleep(100 * time.Millisecond)
							continue
						}
						s.T.Append(rec)
					}
					return s.takesNothingOld(t.Context())
				})
				expect(t, got, r.want, r.has)
			})
		})
	}
}
