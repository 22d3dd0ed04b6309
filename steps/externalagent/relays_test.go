package externalagent

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// spoilt makes a relay change the messages of one type, passed on or its own.
func spoilt(
	kind string, f func(from, to *carried, env object) []any,
) func(from, to *carried, asked *transcript.Record, body []byte) [][]byte {
	return func(from, to *carried, _ *transcript.Record, body []byte) [][]byte {
		v, _, _ := wjson.Decode(body)
		env, _ := v.(object)
		if kindOfObject(env) != kind {
			return [][]byte{body}
		}
		var out [][]byte
		for _, m := range f(from, to, env) {
			out = append(out, mustEncode(m))
		}
		return out
	}
}

// lost drops the messages of one type.
func lost(kind string) func(from, to *carried, asked *transcript.Record, body []byte) [][]byte {
	return spoilt(kind, func(*carried, *carried, object) []any { return nil })
}

// changed changes the payloads of one type.
func changed(kind string, f func(object)) func(from, to *carried, asked *transcript.Record, body []byte) [][]byte {
	return spoilt(kind, func(_, _ *carried, env object) []any {
		f(env[vocab.Payload].(object))
		return []any{env}
	})
}

// TestRelayNoticesLate checks that a message right after the loss of the host may still be sent to the former host.
func TestRelayNoticesLate(t *testing.T) {
	p := &carrier{slow: 2}
	got := perform(t, environment(t, vocab.Relay, p), p, tagsOf("EA-079a=passed"), session+"When the host leaves\n"+
		"And agent A makes a call\nThen agent A is refused with \"SESSION_NOT_ACTIVE\" or \"INVALID_MESSAGE\"\n")
	expect(t, got, "EA-079a=passed", "")

	p = &carrier{slow: 1, bad: func(from, _ *carried, asked *transcript.Record, body []byte) [][]byte {
		if from.role == vocab.HostRole && asked.Event == nil {
			from.hangUp()
			return nil
		}
		return [][]byte{body}
	}}
	env := environment(t, vocab.Relay, p)
	env.Profile.Limits.Event.Duration = patience
	began := time.Now()
	got = perform(t, env, p, tagsOf("EA-038=passed"), session+"When the host sends the relay malformed JSON\n"+
		"And agent A is still served\nAnd agent A starts a session\nThen agent A is told that the session has started\n")
	expect(t, got, "EA-038=passed", "")
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it took %v", took)
	}
}

// TestRelayOneByOne: a relay that takes its time for each message, one after the other, is not asked so often whether a
// host has left that what follows comes too late.
func TestRelayOneByOne(t *testing.T) {
	t.Parallel()
	p := &carrier{each: 450 * time.Millisecond}
	env := environment(t, vocab.Relay, p)
	env.Profile.Limits.Event.Duration = 2 * time.Second
	got := perform(t, env, p, tagsOf("EA-038=passed"), session+"When the host leaves\nAnd another host joins\n"+
		"And agent A starts a session\nThen agent A is told that the session has started\n")
	expect(t, got, "EA-038=passed", "")
}

const relaysPassed = "Then the relay has passed on every message of agent A and its host unchanged\n"

const relaysNews = session + "When the host announces a new state\nThen agent A receives a new state\n"

const relaysOddly = session + "When the host sends JSON that decoding and encoding would change\n" + relaysPassed

const relaysGone = session + "When the host leaves\nAnd agent A makes a call\nThen agent A is refused with " +
	"\"SESSION_NOT_ACTIVE\" or \"INVALID_MESSAGE\"\n"

const relaysHost = "When the host connects and joins\nThen the host is told that it has joined\n"

const relaysNameless = session + "When agent A sends the participant a message without an id\n" + relaysPassed

const relaysLong = session + "When the host announces a long state\nThen agent A receives a new state\n" + relaysPassed

const relaysSecond = session + "When a second host joins\nAnd agent A has a session\n" + asksFor

const relaysNonsense = session + "When the host sends the relay malformed JSON\nAnd agent A is still served\nAnd " +
	"agent A " +
	"starts a session\nThen agent A is told that the session has started\n"

var relaysTwice = func(kind string) func(from, to *carried, asked *transcript.Record, body []byte) [][]byte {
	return spoilt(kind, func(_, _ *carried, env object) []any { return []any{env, env} })
}

var relaysHeld = map[*carried][]byte{}

var relaysRows = []struct {
	reason, lines string
	bad           func(from, to *carried, asked *transcript.Record, body []byte) [][]byte
	want, has     string
}{
	{"a host joins", relaysHost, nil, "EA-025=not-tested EA-028=passed EA-029=passed EA-030=passed", ""},
	{"a host gets another role in the answer", relaysHost, changed(vocab.RelayJoined, set("role", "agent")),
		"EA-028=passed EA-029=failed",
		`payload.role is "agent"`},
	{"a host is not let in", session, lost(vocab.RelayJoined), "EA-025=failed EA-028=failed",
		"relay.joined with replyTo"},
	{"all passes", session + firstCall + speaking + noTool + ending + relaysPassed, nil,
		"EA-007=passed EA-008=passed EA-009=passed EA-038=passed EA-046=passed EA-055=passed EA-060=passed EA-063=passed " +
			"EA-068=passed", ""},
	{"session.start is lost", session, lost(vocab.SessionStart), "EA-038=failed", "no answer whose replyTo is"},
	{"session.started is lost", session, lost(vocab.SessionStarted), "EA-038=failed", "no answer whose replyTo is"},
	{"replyTo is lost", session, spoilt(vocab.SessionStarted,
		func(_, _ *carried, env object) []any { delete(env, "replyTo"); return []any{env} }), "EA-038=failed",
		"session.started, whose replyTo is not"},
	{"a state is lost", relaysNews, lost(vocab.StateUpdated), "EA-055=failed", "no such message"},
	{"a state comes", relaysNews, nil, "EA-055=passed", ""},
	{"the participant is lost", session + speaking, lost(vocab.UserMessage), "EA-009=failed", "no such message"},
	{"a message of the agent is lost", session + relaysPassed, lost(vocab.AgentMessage), "EA-008=failed",
		"agent.message received by the host"},
	{"a user.message is lost", session + relaysPassed, lost(vocab.UserMessage), "EA-009=failed",
		"user.message received by agent A"},
	{"a result is changed", session + firstCall + relaysPassed, changed(vocab.ToolResult, unset("uiSpec")),
		"EA-046=failed",
		"once, in order and unchanged"},
	{"a snapshot is changed", session + asksFor + relaysPassed, changed(vocab.SnapshotState, set("extra", 1)),
		"EA-041=failed",
		"once, in order and unchanged"},
	{"a call gets a member more beside its payload", session + firstCall + relaysPassed,
		spoilt(vocab.ToolCall, func(_, _ *carried, env object) []any {
			env["from"] = "A"
			return []any{env}
		}), "EA-007=passed", ""},
	{"a call gets a member more in its payload", session + firstCall + relaysPassed,
		changed(vocab.ToolCall, set("from", "A")),
		"EA-007=failed", "once, in order and unchanged"},
	{"a call loses its id", session + firstCall + relaysPassed,
		spoilt(vocab.ToolCall, func(_, _ *carried, env object) []any {
			delete(env, "id")
			return []any{env}
		}), "EA-007=failed", ""},
	{"a state arrives twice", session + firstCall + relaysPassed, relaysTwice(vocab.StateUpdated),
		"EA-055=failed EA-041=passed",
		"it has come twice: state.updated"},
	{"the relay adds a message of its own", session + relaysPassed,
		spoilt(vocab.UserMessage, func(_, _ *carried, env object) []any {
			return []any{env, object{"v": vocab.Version, "type": vocab.StateUpdated, vocab.Payload: object{}}}
		}), "EA-009=passed", ""},
	{"the relay adds one of a type that no clause names", session + firstCall + relaysPassed,
		func(_, to *carried, _ *transcript.Record, body []byte) [][]byte {
			if to.role == vocab.HostRole { // see TestPlayAsAHostOnly
				return [][]byte{body}
			}
			return [][]byte{body, []byte(`{"v":"mvp-0.2","type":"relay.presence","payload":{}}`)}
		}, "EA-046=passed EA-055=passed", ""},
	{"encoded anew", session + firstCall + relaysPassed, func(_, _ *carried, _ *transcript.Record, body []byte) [][]byte {
		return [][]byte{bytes.ReplaceAll(body, []byte(`":`), []byte(`" : `))}
	}, "EA-007=passed EA-046=passed EA-055=passed", ""},
	{"numbers and escapes", relaysOddly, nil, "EA-055=passed", ""},
	{"numbers are rounded", relaysOddly, func(_, _ *carried, _ *transcript.Record, body []byte) [][]byte {
		return [][]byte{bytes.ReplaceAll(body, []byte("9007199254740991"), []byte("9007199254740990"))}
	}, "EA-055=failed", "9007199254740990"},
	{"members of the envelope that it does not know are lost", relaysOddly,
		spoilt(vocab.StateUpdated, func(_, _ *carried, env object) []any {
			delete(env, "parley")
			return []any{env}
		}), "EA-055=passed", ""},
	{"members of the payload that it does not know are lost", relaysOddly,
		changed(vocab.StateUpdated, unset("parleyUnknown")),
		"EA-055=failed", "state.updated"},
	{"out of order", session + firstCall + relaysPassed, func(_, to *carried, _ *transcript.Record, body []byte) [][]byte {
		if strings.Contains(string(body), `"tool.result"`) {
			relaysHeld[to] = body
			return nil
		}
		if late := relaysHeld[to]; late != nil {
			delete(relaysHeld, to)
			return [][]byte{body, late}
		}
		return [][]byte{body}
	}, "EA-046=failed", "once, in order and unchanged"},
	{"no host", relaysGone, nil, "EA-079a=passed", ""},
	{"no host, and no answer", relaysGone, lost(vocab.ErrorMessage), "EA-079a=warned", "no answer whose replyTo is"},
	{"no host, and an answer without replyTo", relaysGone, spoilt(vocab.ErrorMessage,
		func(_, _ *carried, env object) []any { delete(env, "replyTo"); return []any{env} }), "EA-079a=warned",
		"error, whose replyTo is not"},
	{"no host, and another code", relaysGone, changed(vocab.ErrorMessage, set("code", "UNKNOWN_TOOL")), "EA-079a=warned",
		"UNKNOWN_TOOL"},
	{"another host", session + "When the host loses its connection\nAnd another host joins\nAnd agent A starts a " +
		"session\nThen agent A is told that the session has started\n", nil, "EA-038=passed", ""},
	{"the state is not as the host has it", session + firstCall, changed(vocab.SnapshotState, set("toolSchema", []any{})),
		"EA-004=failed EA-006=failed EA-007=failed EA-041=failed",
		"the host's state, in which select can be called"},
	{"params are changed", session + firstCall, changed(vocab.ToolCall, set("params", object{"itemId": "m9"})),
		"EA-007=failed", "INVALID_PARAMS"},
	{"another tool is called", session + upToNext, changed(vocab.ToolCall, func(p object) {
		if p[vocab.ToolName] == "next" {
			p[vocab.ToolName] = "fly"
		}
	}), "EA-007=failed", "UNKNOWN_TOOL"},
	{"another tool is called that cannot be executed yet", session + firstCall,
		changed(vocab.ToolCall, func(p object) { p[vocab.ToolName], p[vocab.Params] = "next", object{} }), "EA-007=failed",
		"TOOL_EXECUTION_FAILED"},
	{"a message without an id", relaysNameless, nil, "EA-008=passed", ""},
	{"a message without an id is lost", relaysNameless, spoilt(vocab.AgentMessage, func(_, _ *carried, env object) []any {
		if env[vocab.ID] == nil {
			return nil
		}
		return []any{env}
	}), "EA-008=failed", "once, in order and unchanged"},
	{"a message without an id is given one", relaysNameless,
		spoilt(vocab.AgentMessage, func(_, _ *carried, env object) []any {
			if env[vocab.ID] == nil {
				env[vocab.ID] = "r-1"
			}
			return []any{env}
		}), "EA-008=failed", "once, in order and unchanged"},
	{"a long state", relaysLong, nil, "EA-055=passed", ""},
	{"a long state is lost", relaysLong, func(_, _ *carried, _ *transcript.Record, body []byte) [][]byte {
		if len(body) > 64<<10 {
			return nil
		}
		return [][]byte{body}
	}, "EA-055=failed", ""},
	{"a long state is shortened", relaysLong, changed(vocab.StateUpdated, func(p object) {
		if ui, ok := p[vocab.Spec].(object); ok {
			if items, ok := ui["items"].([]any); ok && len(items) > 1000 {
				ui["items"] = items[:1000]
			}
		}
	}), "EA-055=failed", "once, in order and unchanged"},
	{"a second host", relaysSecond, nil, "EA-038=passed EA-041=passed", ""},
	{"a second host that is refused", relaysSecond, spoilt(vocab.RelayJoined, func(_, to *carried, env object) []any {
		if to.party == "host2" {
			to.session = ""
			return []any{envelope(vocab.ErrorMessage, "", env[vocab.ReplyTo].(string),
				object{"code": "INVALID_MESSAGE", "message": "m"})}
		}
		return []any{env}
	}), "EA-041=passed", "a second host is not let in"},
	{"a second host, after which no host is heard", relaysSecond, func(from, to *carried, _ *transcript.Record,
		body []byte) [][]byte {
		if from != to && slices.ContainsFunc(from.of.conns, func(c *carried) bool { return c.party == "host2" }) {
			return nil
		}
		return [][]byte{body}
	}, "EA-038=failed", "no answer whose replyTo is"},
	{"a host that sends no JSON", relaysNonsense, nil, "EA-038=passed EA-041=passed EA-077a=passed",
		"the relay answers its host: error"},
	{"a host that sends no JSON, passed on", relaysNonsense, func(from, to *carried, asked *transcript.Record,
		body []byte) [][]byte {
		if from.role == vocab.HostRole && asked.Event == nil {
			return nil
		}
		return [][]byte{body}
	}, "EA-041=passed", "the relay answers its host: nothing"},
	{"a host that sends no JSON, and the relay breaks", relaysNonsense,
		func() func(from, to *carried, asked *transcript.Record, body []byte) [][]byte {
			over := false
			return func(from, _ *carried, asked *transcript.Record, body []byte) [][]byte {
				if over = over || from.role == vocab.HostRole && asked.Event == nil; over {
					return nil
				}
				return [][]byte{body}
			}
		}(), "EA-041=failed EA-077a=failed", "no answer whose replyTo is"},
	{"a host that sends no JSON is sent away", relaysNonsense, func(from, to *carried, asked *transcript.Record,
		body []byte) [][]byte {
		if from.role == vocab.HostRole && asked.Event == nil {
			from.hangUp()
			return nil
		}
		return [][]byte{body}
	}, "EA-038=passed EA-041=passed", ""},
	{"no play to look at", "Given no host is present\nAnd agent A has joined\nWhen the host announces a new state\n", nil,
		"EA-055=not-tested", "no host is in the relay session of agent A"},
}

func TestRelays(t *testing.T) {

	for _, r := range relaysRows {
		t.Run(r.reason, func(t *testing.T) {
			p := &carrier{bad: r.bad}
			env := environment(t, vocab.Relay, p)
			env.Profile.Limits.Event.Duration = patience
			if strings.Contains(r.want, "failed") || strings.Contains(r.want, "warned") {
				env.Profile.Limits.Event.Duration = 500 * time.Millisecond
			}
			got := perform(t, env, p, tagsOf(r.want), r.lines)
			expect(t, got, r.want, r.has)
			if b := broken(got); got.Outcome == verdict.Passed && len(b) > 0 && !strings.Contains(r.reason, "of its own") {
				t.Errorf("monitors find %v broken", b)
			}
		})
	}
}
