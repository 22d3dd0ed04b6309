package externalagent

import (
	"testing"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// TestComingBackTooSoon checks that a party that has lost its connection retries, because it may briefly count as
// still connected, and that a new party must be admitted at once.
func TestComingBackTooSoon(t *testing.T) {
	const back = session + "When agent A loses its connection\nAnd agent A has joined\nThen agent A is still served\n"
	refusing := func(from, to int) bad { // the joins from one number to another
		n := 0
		return func(_ *peerConn, asked *transcript.Record, out []any) []any {
			if asked == nil || kindOf(asked) != vocab.RelayJoin {
				return out
			}
			if n++; n < from || n >= to {
				return out
			}
			return []any{error1(asked, "INVALID_MESSAGE")}
		}
	}
	for _, r := range []struct {
		reason string
		lines  string
		bad    bad
		want   string
	}{
		{"once refused", back, refusing(2, 3), "EA-028=passed EA-041=passed"},
		{"three times refused", back, refusing(2, 5), "EA-028=passed EA-041=passed"},
		{"refused for good", back, refusing(2, 1000), "EA-028=failed"},
		{"refused though it is new", "Given agent A has joined\n", refusing(1, 2), "EA-028=failed"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			p := &peer{bad: r.bad}
			env := environment(t, vocab.Host, p)
			binding.Of(env.Profile).Session = "r-{nonce}"
			env.Profile.Limits.Event.Duration = 500 * time.Millisecond
			expect(t, perform(t, env, p, tagsOf(r.want), r.lines), r.want, "")
		})
	}
}

const twoAgentsBoth = "Given the target lets several agents join a relay session\n" + session +
	"And agent B has joined\n"

var twoAgentsRows = []struct {
	reason, lines string
	bad           bad
	want, has     string
}{
	{"each gets its own", twoAgentsBoth +
		"Then agent A and agent B each ask for 3 snapshots at once, and each gets its own\n",
		nil, "EA-041=passed EA-077a=passed", ""},
	{"all get the answers of the first one", twoAgentsBoth +
		"Then agent A and agent B each ask for 3 snapshots at once, and each gets its own\n",
		to(vocab.SnapshotGet, func(c *peerConn, _ *transcript.Record, out []any) []any {
			if c.party == "B" {
				return nil
			}
			return out
		}), "EA-041=failed", "no answer whose replyTo is"},
	{"all agents get it", twoAgentsBoth + firstCall + "Then agent B receives a new state\n", nil, "EA-055=passed", ""},
	{"an agent that only listens is in sync", twoAgentsBoth + "And agent B knows what the host changes on its own\n" +
		firstCall +
		"Then agent B is in sync\n", nil, "EA-073=passed", ""},
	{"many requests at once", session + "Then agent A sends 12 requests of different kinds without waiting, and each " +
		"is answered\n", nil, "EA-041=passed EA-080=passed EA-023a=passed", ""},
	{"many requests at once, and the answers are mixed up", session +
		"Then agent A sends 12 requests of different kinds without waiting, and each is answered\n",
		to(vocab.ToolCall, func(_ *peerConn, asked *transcript.Record, _ []any) []any {
			return []any{envelope(vocab.SnapshotState, "", field(asked, vocab.ID), object{})}
		}), "EA-080=failed", "snapshot.state"},
	{"relay sessions do not mix", "Given the target has a host in every relay session\n" + session +
		"When agent B joins the relay session \"other\"\nAnd agent B is told that it has joined\nAnd agent B has a " +
		"session\nAnd agent B sends the participant a message\nAnd agent B's message is not refused\nThen agent A " +
		"receives nothing from agent B's relay session\n", nil, "EA-025=passed", ""},
	{"relay sessions mix", "Given the target has a host in every relay session\n" + session +
		"When agent B joins the relay session \"other\"\nAnd agent B is told that it has joined\nAnd agent B has a " +
		"session\nAnd agent B sends the participant a message\nAnd agent B's message is not refused\nThen agent A " +
		"receives nothing from agent B's relay session\n",
		func(c *peerConn, asked *transcript.Record, out []any) []any {
			if c.party == "B" && asked != nil && kindOf(asked) == vocab.AgentMessage {
				for _, v := range out {
					c.of.conns[0].say(mustEncode(v))
				}
			}
			return out
		}, "EA-025=failed", "state.updated"},
	{"relay sessions mix later", "Given the target has a host in every relay session\n" + session +
		"When agent B joins the relay session \"other\"\nAnd agent B is told that it has joined\nAnd agent B has a " +
		"session\nThen agent A receives nothing from agent B's relay session\nWhen agent B ends the session\n",
		func(c *peerConn, asked *transcript.Record, out []any) []any {
			if c.party == "B" && asked != nil && kindOf(asked) == vocab.SessionEnd {
				for _, v := range out {
					c.of.conns[0].say(mustEncode(v))
				}
			}
			return out
		}, "EA-025=failed", "session.ended"},
	{"nothing to be heard", "Given the target has a host in every relay session\n" + session +
		"Then agent A receives nothing from agent B's relay session\n", nil, "EA-025=passed EA-008=not-tested",
		"agent B has no study session of its own"},
}

func TestTwoAgents(t *testing.T) {

	rows := twoAgentsRows
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			p := &peer{bad: r.bad}
			env := environment(t, vocab.Host, p)
			env.Profile.Capabilities = []string{binding.TwoAgents, binding.RelaySessions}
			binding.Of(env.Profile).Session = "r-{nonce}"
			expect(t, perform(t, env, p, tagsOf(r.want), r.lines), r.want, r.has)
		})
	}
	for line, has := range map[string]string{
		"Given the target lets several agents join a relay session\n": "capability two-agents",
		"Given the target has a host in every relay session\n":        "names one relay session",
	} {
		p := &peer{}
		expect(t, perform(t, environment(t, vocab.Host, p), p, "@EA-025", line), "EA-025=not-applicable", has)
	}
}

// TestComingBack checks lost connections and restarted targets.
func TestComingBack(t *testing.T) {
	const counting = "Given agent A counts its requests from 1\n" + session + asksFor +
		"When agent A loses its connection\nAnd agent A counts its requests from 1\nAnd agent A has joined\nAnd agent A " +
		"has a session\n" + asksFor
	const back = session + "When agent A loses its connection\nAnd agent A has joined\n"
	runHosts(t, []hostRow{
		{"the session stays", back + "Then whether agent A's session has survived is recorded\nAnd agent A is still served\n",
			nil,
			"EA-073=not-tested EA-077a=passed", ""},
		{"the session goes", back + "Then whether agent A's session has survived is recorded\nAnd agent A is still served\n",
			to(vocab.RelayJoin, func(c *peerConn, _ *transcript.Record, out []any) []any {
				c.of.sessions = map[string]*play{}
				return out
			}), "EA-077a=passed", ""},
		{"it is not heard any more", back + "Then whether agent A's session has survived is recorded\n",
			func(c *peerConn, asked *transcript.Record, out []any) []any {
				if len(c.of.conns) > 1 && asked != nil && kindOf(asked) == vocab.SnapshotGet {
					return nil
				}
				return out
			}, "EA-077a=failed", "no answer whose replyTo is"},
		{"the target is restarted", session +
			"When the target is restarted\nAnd agent A has joined\nAnd agent A starts a session\nThen agent A is told that " +
			"the session has started\n" + asksFor, nil, "EA-028=passed EA-038=passed EA-041=passed", ""},
		{"a session left open earlier", joined +
			"When agent A starts a session\nThen agent A is told that the session has started\n",
			func() bad {
				left := true
				return func(_ *peerConn, asked *transcript.Record, out []any) []any {
					switch {
					case asked == nil || !left:
					case kindOf(asked) == vocab.SessionStart:
						return []any{error1(asked, "INVALID_MESSAGE")}
					case kindOf(asked) == vocab.SessionEnd:
						left = false
						return []any{envelope(vocab.SessionEnded, "", field(asked, vocab.ID),
							object{vocab.SessionID: "s-0", vocab.LogFile: "l", "stateReset": true})}
					}
					return out
				}
			}(), "EA-038=passed", ""},
		{"the same ids again", counting, nil, "EA-028=passed EA-041=passed", ""},
		{"the same id is taken for the same request", counting, func() bad {
			seen := map[string]bool{}
			return to(vocab.SnapshotGet, func(_ *peerConn, asked *transcript.Record, out []any) []any {
				if seen[field(asked, vocab.ID)] {
					return nil
				}
				seen[field(asked, vocab.ID)] = true
				return out
			})
		}(), "EA-041=failed", `no answer whose replyTo is "req-003"`},
		{"there is no connection", "When agent A loses its connection\n", nil, "EA-041=not-tested", "A has no connection"},
	})
}

// TestNoConnection checks that a target that refuses is reachable, and that an unreachable one is an environment
// error.
func TestNoConnection(t *testing.T) {
	for _, r := range []struct {
		reason, lines string
		err           error
		want          string
	}{
		{"refused", "When agent A connects\nThen agent A is connected\n",
			&driver.OpenError{URL: "u", Status: 404, Err: steps.NotTestedf("x")}, "EA-017=failed"},
		{"refused before a join", joined, &driver.OpenError{URL: "u", Status: 404, Err: steps.NotTestedf("x")},
			"EA-017=not-tested"},
	} {
		p := &peer{}
		expect(t, perform(t, environment(t, vocab.Host, refusing{p, r.err}), p, tagsOf(r.want), r.lines), r.want, "404")
	}
}
