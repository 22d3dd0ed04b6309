package externalagent

import (
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

const cameBack = session + restless + saying + firstCall +
	"When agent A loses its connection\nAnd agent A has joined\n" +
	"Then agent A finds its session as it left it, if the session has survived\n"

// afterwards changes the snapshots that a party gets on its second connection, by their number from 1.
func afterwards(f func(c *peerConn, n int, p object)) bad {
	n := 0
	return to(vocab.SnapshotGet, func(c *peerConn, _ *transcript.Record, out []any) []any {
		if len(c.of.conns) > 1 {
			n++
			edit(vocab.SnapshotState, func(p object) { f(c, n, p) })(c, nil, out)
		}
		return out
	})
}

// asAtFirst restores the uiSpec with which the session began in some snapshots of a second connection.
func asAtFirst(which func(n int) bool) bad {
	var first any
	keep := edit(vocab.StateUpdated, func(p object) {
		if first == nil {
			first = copied(p[vocab.Spec])
		}
	})
	return all(keep, afterwards(func(_ *peerConn, n int, p object) {
		if which(n) {
			p[vocab.Spec] = first
		}
	}))
}

// TestFindingASession checks what an agent must find that comes back to its session.
func TestFindingASession(t *testing.T) {
	news := func(c *peerConn, _ *transcript.Record, out []any) []any {
		if len(c.of.conns) > 1 {
			out = append(out, announced(c))
		}
		return out
	}
	runHosts(t, []hostRow{
		{"as it was", cameBack, nil, "EA-073=passed", ""},
		{"the session is gone", cameBack, to(vocab.RelayJoin, func(c *peerConn, _ *transcript.Record, out []any) []any {
			if len(c.of.conns) > 1 {
				c.of.sessions = map[string]*play{}
			}
			return out
		}), "EA-073=not-tested", "the session ended with the agent's connection"},
		{"another session", cameBack, afterwards(func(_ *peerConn, _ int, p object) {
			p[vocab.SessionID], p[vocab.MessageHistory] = "s-1", []any{}
		}), "EA-042=failed EA-073=not-tested", "another session"},
		{"the first snapshot is old", cameBack, asAtFirst(func(n int) bool { return n == 1 }), "EA-073=failed",
			"uiSpec is again as in record"},
		{"every snapshot is old", cameBack, asAtFirst(func(int) bool { return true }), "EA-073=failed",
			"uiSpec is again as in record"},
		{"an announced change", cameBack, all(asAtFirst(func(int) bool { return true }), to(vocab.RelayJoin, news)),
			"EA-073=not-tested", "the host has announced a state"},
		{"the history is lost", cameBack, afterwards(func(_ *peerConn, _ int, p object) { p["messageHistory"] = []any{} }),
			"EA-073=failed", "messageHistory has 0 entries, and had 1"},
		{"the history is loaded late", cameBack, afterwards(func(_ *peerConn, n int, p object) {
			if n == 1 {
				p[vocab.MessageHistory] = []any{}
			}
		}), "EA-073=passed", ""},
		{"the host remarks it", cameBack, afterwards(func(_ *peerConn, _ int, p object) {
			history, _ := p[vocab.MessageHistory].([]any)
			p[vocab.MessageHistory] = append(history, object{"role": "system", "text": "the agent is back"})
			p[vocab.Spec].(object)["connections"] = wjson.Number("2")
		}), "EA-073=passed", "the state is not as before the connection was lost"},
		{"a clock", cameBack, ticking(), "EA-073=passed", ""},
		{"nothing was left", session + "Then agent A finds its session as it left it, if the session has survived\n", nil,
			"EA-073=not-tested", ""},
	})
}

const pendingCalls = session + "Then agent A makes 2 calls of announced tools without waiting, and each is answered " +
	"under its own id\n"

// held keeps the result of a call back until the next call.
func held(next func(first, second []any) []any) bad {
	var first []any
	return to(vocab.ToolCall, func(_ *peerConn, _ *transcript.Record, out []any) []any {
		if first == nil {
			first = out
			return nil
		}
		return next(first, out)
	})
}

// TestPendingCalls checks calls that are sent together.
func TestPendingCalls(t *testing.T) {
	id := func(out []any) any { return out[0].(object)[vocab.ReplyTo] }
	named := func(out []any, id any) []any { out[0].(object)[vocab.ReplyTo] = id; return out }
	const right = "EA-046=passed EA-047=passed EA-049=passed"
	runHosts(t, []hostRow{
		{"one after the other", pendingCalls, nil, right, ""},
		{"the second first", pendingCalls, held(func(a, b []any) []any { return append(b, a...) }), right, ""},
		{"the second is refused", pendingCalls, func() bad {
			n := 0
			return to(vocab.ToolCall, func(_ *peerConn, asked *transcript.Record, out []any) []any {
				if n++; n == 2 {
					return []any{error1(asked, vocab.ToolExecutionFailed)}
				}
				return out
			})
		}(), "EA-046=passed EA-047=passed", ""},
		{"both under the second's id", pendingCalls, held(func(a, b []any) []any {
			return append(named(a, id(b)), b...)
		}), "EA-046=failed EA-047=failed", "the id of call 1 of 2 that were sent together"},
		{"under each other's id", pendingCalls, held(func(a, b []any) []any {
			x, y := id(a), id(b)
			return append(named(a, y), named(b, x)...)
		}), "EA-047=passed EA-049=failed", ""},
		{"no tool", pendingCalls, edit(vocab.SnapshotState, set("toolSchema", []any{})), "EA-047=not-tested",
			"no tool, except those that lead to another stage"},
	})
}

// TestAnotherStart checks that a session can be started once the one before has ended, also where a session that
// somebody else has left open would be ended first.
func TestAnotherStart(t *testing.T) {
	const elsewhere = "When agent A joins the relay session \"other\"\nAnd agent A is told that it has joined\n"
	for _, relay := range []string{"default", "r-{nonce}"} {
		for _, r := range []struct{ reason, lines, want string }{
			{"again", session + ending + session, "EA-011=failed EA-038=failed"},
			{"elsewhere", session + ending + elsewhere + session, "EA-011=not-tested"},
		} {
			t.Run(r.reason+" in "+relay, func(t *testing.T) {
				ends := 0 // a session stays open until it is ended twice
				p := &peer{bad: func(_ *peerConn, asked *transcript.Record, out []any) []any {
					switch {
					case asked == nil:
					case kindOf(asked) == vocab.SessionEnd:
						ends++
					case kindOf(asked) == vocab.SessionStart && ends == 1:
						return []any{error1(asked, vocab.InvalidMessage)}
					}
					return out
				}}
				env := environment(t, vocab.Host, p)
				binding.Of(env.Profile).Session = relay
				expect(t, perform(t, env, p, tagsOf(r.want), r.lines), r.want, "")
			})
		}
	}
}
