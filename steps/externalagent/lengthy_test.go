package externalagent

import (
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// TestLongMessages checks that a target may refuse long messages, and that what it takes must be served.
func TestLongMessages(t *testing.T) {
	const long = session +
		"When agent A sends the participant 2 messages of 12 KB, if the target accepts that size\n" + asksFor
	isLong := func(asked *transcript.Record) bool {
		return asked != nil && kindOf(asked) == vocab.AgentMessage && len(asked.Bytes) > 11<<10
	}
	answering := func(out ...any) bad {
		return func(_ *peerConn, asked *transcript.Record, was []any) []any {
			if isLong(asked) {
				return out
			}
			return was
		}
	}
	runHosts(t, []hostRow{
		{"taken", long, nil, "EA-041=passed", ""},
		{"taken without an effect", long, answering(), "EA-041=passed", ""},
		{"refused", long, func(_ *peerConn, asked *transcript.Record, was []any) []any {
			if isLong(asked) {
				return []any{error1(asked, vocab.InvalidMessage)}
			}
			return was
		}, "EA-041=not-applicable", "does not take such long messages"},
		{"refused as unreadable", long, answering(envelope(vocab.ErrorMessage, "", "",
			object{"code": vocab.InvalidMessage, "message": "m"})), "EA-041=not-applicable", "does not take such long messages"},
		{"closed", long, func() bad {
			n := 0
			return func(_ *peerConn, asked *transcript.Record, was []any) []any {
				if isLong(asked) {
					if n++; n == 2 {
						return []any{hangUp{}}
					}
				}
				return was
			}
		}(), "EA-041=not-applicable", "closed by the target"},
		{"no snapshot of such a length", long, to(vocab.SnapshotGet,
			func(_ *peerConn, _ *transcript.Record, out []any) []any {
				if strings.Count(wjson.Compact(out), "较长") > 10 {
					return nil
				}
				return out
			}), "EA-041=failed", "no answer whose replyTo is"},
	})
}
