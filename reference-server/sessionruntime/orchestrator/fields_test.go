package orchestrator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/sessionruntime"
)

// bare returns a message without its variable parts.
func bare(msg proto.Message) proto.Message {
	msg.ID, msg.Timestamp = "", ""
	return msg
}

// published checks the common parts of the messages, and returns the messages without them.
func (s *stage) published(msgs []proto.Message) (all []proto.Message) {
	s.t.Helper()
	ids := map[string]bool{}
	for _, msg := range msgs {
		at, err := time.Parse(time.RFC3339, msg.Timestamp)
		if err != nil || time.Since(at).Abs() >= time.Second || at.Location() != time.UTC {
			s.t.Errorf("timestamp %q: %v", msg.Timestamp, err)
		}
		if msg.ID == "" || ids[msg.ID] || msg.Sender != "session" || msg.SessionID != "s" || msg.Metadata == nil {
			s.t.Errorf("envelope: %+v", msg)
		}
		ids[msg.ID] = true
		all = append(all, bare(msg))
	}
	return all
}

func (s *stage) wants(got []proto.Message, want ...proto.Message) {
	s.t.Helper()
	for i := range want {
		want[i].Sender, want[i].SessionID = "session", "s"
	}
	if diff := cmp.Diff(want, s.published(got)); diff != "" {
		s.t.Errorf("published (-want +got):\n%s", diff)
	}
}

func inBubble(t *testing.T, f func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newStage(t, Options{})) })
}

func userInput(payload any, metadata object) proto.Message {
	return proto.Message{Event: "USER_INPUT", Sender: "frontend", Payload: payload, Metadata: metadata}
}

func control(subtype string, payload any, metadata object) proto.Message {
	return proto.Message{Event: "CONTROL", Subtype: subtype, Sender: "frontend", Payload: payload, Metadata: metadata}
}

// The agent gets the input as sent, with the same ids.
func TestInputIsPassedOn(t *testing.T) {
	inBubble(t, func(s *stage) {
		payload := object{"text": "x", "parts": []any{object{"n": 1.5}, nil, true}}
		metadata := object{"trace_id": "tr", "turn_id": "t1", "subtype": "MENTION", "mentioned_agent_id": "b",
			"own": object{"k": []any{"v"}}}
		s.wants(s.send(userInput(payload, metadata)),
			proto.Message{Event: "CONTROL", Subtype: "SWITCH_AGENT", Target: "SYSTEM",
				Payload:  object{"from": "a", "to": "b", "reason": "the user mentioned the agent", "trigger": "MENTION"},
				Metadata: object{"trace_id": "tr", "turn_id": "t1", "visibility": "both"}},
			proto.Message{Event: "USER_INPUT", Target: "AGENT", TargetID: "b", Payload: payload, Metadata: metadata},
			proto.Message{Event: "EVENT", Subtype: "TURN_ACCEPTED", Target: "FRONTEND",
				Payload:  object{"turn_id": "t1", "trace_id": "tr", "target_agent": "b"},
				Metadata: object{"trace_id": "tr", "turn_id": "t1"}},
		)
		if len(metadata) != 5 {
			t.Errorf("the sender's metadata were changed: %v", metadata)
		}
	})
}

func TestIDsAreCompleted(t *testing.T) {
	inBubble(t, func(s *stage) {
		out := s.send(userInput("x", object{"trace_id": nil, "turn_id": ""}))
		routed, accepted := only(t, out, "USER_INPUT"), only(t, out, "TURN_ACCEPTED")
		trace, turn := routed.Metadata["trace_id"], routed.Metadata["turn_id"]
		if trace == "" || trace == nil || turn == "" || turn == nil || trace == turn {
			t.Errorf("ids: %v", routed.Metadata)
		}
		if diff := cmp.Diff(routed.Metadata, accepted.Metadata); diff != "" {
			t.Errorf("the messages differ in their ids:\n%s", diff)
		}
		again := only(t, s.send(userInput("x", nil)), "USER_INPUT")
		if again.Metadata["turn_id"] == turn || again.Metadata["trace_id"] == trace {
			t.Errorf("ids are used again: %v", again.Metadata)
		}
		inPayload := only(t, s.send(userInput(object{"turn_id": "t1", "trace_id": "tr", "user_id": "u"}, nil)),
			"TURN_ACCEPTED")
		if diff := cmp.Diff(object{"turn_id": "t1", "trace_id": "tr"}, inPayload.Metadata); diff != "" {
			t.Errorf("ids in the payload:\n%s", diff)
		}
		if turn, _ := s.m.Turn("t1"); turn.RequestedBy != "u" || turn.Agent != "a" || !turn.CreatedAt.Equal(time.Now()) {
			t.Errorf("record: %+v", turn)
		}
	})
}

// The frontend gets the output as sent.
func TestOutputIsPassedOn(t *testing.T) {
	inBubble(t, func(s *stage) {
		s.play("> ui input t1\n< a USER_INPUT t1\n< ui TURN_ACCEPTED t1 a\n> a ack t1\n< ui AGENT_STARTED t1 a")
		payload := []any{"x", object{"k": nil}}
		metadata := object{"turn_id": "t1", "stream": object{"is_chunk": true, "seq": 7.0, "final": false}, "own": []any{1.0}}
		s.wants(s.send(proto.Message{Event: "AGENT_OUTPUT", Subtype: "TEXT", Sender: "a", Target: "BROADCAST",
			Payload: payload, Metadata: metadata}),
			proto.Message{Event: "AGENT_OUTPUT", Subtype: "TEXT", Target: "FRONTEND", Payload: payload, Metadata: metadata})
		s.wants(s.send(proto.Message{Event: "ERROR", Subtype: "MODEL", Sender: "a", Payload: "x",
			Metadata: object{"turn_id": "t1", "k": "v"}}),
			proto.Message{Event: "ERROR", Subtype: "MODEL", Target: "FRONTEND", Payload: "x",
				Metadata: object{"turn_id": "t1", "k": "v"}})
		s.wants(s.send(proto.Message{Event: "ERROR", Sender: "session_manager", Payload: object{"k": "v"}}),
			proto.Message{Event: "ERROR", Target: "FRONTEND", Payload: object{"k": "v"}, Metadata: object{}})
	})
}

func TestReportsNameNoTurnOfAnother(t *testing.T) {
	inBubble(t, func(s *stage) {
		s.play(speaking)
		out := s.act([]string{"b", "chunk", "t1", "x"})
		if msg := out[0]; msg.Metadata["turn_id"] != nil || payloadOf(msg)["claimed_turn_id"] != "t1" ||
			payloadOf(msg)["code"] != "UNEXPECTED_OUTPUT" {
			t.Errorf("report: %+v", msg)
		}
		out = s.send(userInput("x", object{"turn_id": "t1"}))
		if msg := out[0]; msg.Metadata["turn_id"] != nil || payloadOf(msg)["message_id"] == nil {
			t.Errorf("refusal: %+v", msg)
		}
	})
}

func TestCancelFields(t *testing.T) {
	inBubble(t, func(s *stage) {
		s.play("> ui input t1\n< a USER_INPUT t1\n< ui TURN_ACCEPTED t1 a\n> a chunk t1 one\n< ui AGENT_STARTED t1 a\n" +
			"< ui AGENT_OUTPUT t1 one")
		turn, _ := s.m.Turn("t1")
		ids := object{"trace_id": turn.TraceID, "turn_id": "t1", "tx_id": "x1"}
		about := object{"turn_id": "t1", "agent_id": "a"}
		s.wants(s.send(control("CANCEL", object{"reason": "enough"}, object{"tx_id": "x1"})),
			proto.Message{Event: "CONTROL", Subtype: "CANCEL", Target: "AGENT", TargetID: "a",
				Payload: withMembers(about, object{"reason": "enough"}), Metadata: ids},
			proto.Message{Event: "EVENT", Subtype: "CANCEL_SENT", Target: "FRONTEND", Payload: about, Metadata: ids})
		s.wants(s.send(proto.Message{Event: "CONTROL", Subtype: "CANCEL_ACK", Sender: "a", Payload: object{"tx_id": "x1"}}),
			proto.Message{Event: "EVENT", Subtype: "CANCELED", Target: "FRONTEND",
				Payload: withMembers(about, object{"status": "CANCELED"}), Metadata: ids})
	})
}

func TestRemoveFields(t *testing.T) {
	inBubble(t, func(s *stage) {
		ids := object{"trace_id": "tr", "tx_id": "x1"}
		s.wants(s.send(control("REMOVE_AGENT", object{"agent_id": "a", "reason": "rude"}, ids)),
			proto.Message{Event: "EVENT", Subtype: "AGENT_REMOVING", Target: "FRONTEND", Payload: object{"agent_id": "a"},
				Metadata: ids},
			proto.Message{Event: "CONTROL", Subtype: "REQUEST_REMOVE_AGENT", Target: "SYSTEM",
				Payload: object{"session_id": "s", "agent_id": "a", "reason": "rude"}, Metadata: ids},
			proto.Message{Event: "CONTROL", Subtype: "SWITCH_AGENT", Target: "SYSTEM",
				Payload:  object{"from": "a", "to": "b", "reason": "the active agent was removed", "trigger": "REMOVE_AGENT"},
				Metadata: withMembers(ids, object{"visibility": "both"})})
		s.wants(s.send(proto.Message{Event: "CONTROL", Subtype: "REMOVE_AGENT_DONE", Sender: "session_manager",
			Payload: object{"tx_id": "x1"}}),
			proto.Message{Event: "EVENT", Subtype: "AGENT_REMOVED", Target: "FRONTEND",
				Payload: object{"tx_id": "x1", "agent_id": "a", "agents": []any{"b", "c"}}, Metadata: ids})
		out := s.send(control("REMOVE_AGENT", object{"agent_id": "b"}, nil))
		request := only(t, out, "REQUEST_REMOVE_AGENT")
		if tx := request.Metadata["tx_id"]; tx == nil || tx == "" || payloadOf(request)["reason"] == "" {
			t.Errorf("request: %+v", request)
		}
	})
}

func TestInviteFields(t *testing.T) {
	specs := []struct {
		name    string
		payload any
		want    object
		refused bool
	}{
		{"a spec", object{"agent_spec": object{"agent_id": "d", "model": "m"}},
			object{"agent_id": "d", "agent_spec": object{"agent_id": "d", "model": "m"}}, false},
		{"a spec that has an id", object{"agent_spec": object{"id": "d"}},
			object{"agent_id": "d", "agent_spec": object{"id": "d"}}, false},
		{"the id beside the spec", object{"agent_spec": object{"m": "x"}, "agent_id": "d"},
			object{"agent_id": "d", "agent_spec": object{"m": "x"}}, false},
		{"a name", object{"agent_spec": "d"}, object{"agent_id": "d", "agent_spec": "d"}, false},
		{"no id", object{"agent_spec": []any{"x"}}, object{"agent_spec": []any{"x"}}, false},
		{"the payload is the spec", object{"agent_id": "d"}, object{"agent_id": "d", "agent_spec": object{"agent_id": "d"}},
			false},
		{"nothing", nil, nil, true},
		{"an empty text", "", nil, true},
		{"a spec that is null", object{"agent_spec": nil}, nil, true},
		{"an agent already in the session", object{"agent_spec": "a"}, nil, true},
	}
	for _, c := range specs {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(s *stage) {
				out := s.send(control("INVITE_AGENT", c.payload, object{"tx_id": "x1"}))
				if c.refused {
					only(t, out, "INVALID_MESSAGE")
					return
				}
				s.wants(out[:1], proto.Message{Event: "CONTROL", Subtype: "REQUEST_ADD_AGENT", Target: "SYSTEM",
					Payload: withMembers(c.want, object{"session_id": "s"}), Metadata: object{"tx_id": "x1"}})
			})
		})
	}
}

func TestHandoverFields(t *testing.T) {
	inBubble(t, func(s *stage) {
		s.play(speaking)
		turn, _ := s.m.Turn("t1")
		request := object{"target_agent": "b", "reason": "r", "summary": "sum", "more": []any{"x"}}
		context := withMembers(request,
			object{"from_agent": "a", "tx_id": "x1", "turn_id": "t1", "last_output": []any{"one"}})
		ids := object{"trace_id": turn.TraceID, "turn_id": "t1", "tx_id": "x1"}
		s.wants(s.send(proto.Message{Event: "CONTROL", Subtype: "HANDOVER_REQUEST", Sender: "a", Payload: request,
			Metadata: ids}),
			proto.Message{Event: "CONTROL", Subtype: "HANDOVER_UI_PROMPT", Target: "FRONTEND", Payload: context, Metadata: ids})
		s.wants(s.send(control("HANDOVER_CONFIRM", object{"tx_id": "x1"}, nil)),
			proto.Message{Event: "CONTROL", Subtype: "SWITCH_AGENT", Target: "SYSTEM",
				Payload:  object{"from": "a", "to": "b", "reason": "r", "trigger": "HANDOVER_CONFIRM"},
				Metadata: withMembers(ids, object{"visibility": "both"})},
			proto.Message{Event: "CONTROL", Subtype: "HANDOVER_CONTEXT", Target: "AGENT", TargetID: "b", Payload: context,
				Metadata: ids})
	})
}

func TestHeirForms(t *testing.T) {
	for _, name := range []string{"target_agent_id", "target_agent", "to_agent_id", "to_agent", "to", "target",
		"agent_id"} {
		if got := handoverTarget(proto.Message{Payload: object{name: "b"},
			Metadata: object{"agent_id": "a"}}); got != "b" {
			t.Errorf("payload.%s: %q", name, got)
		}
	}
	if got := handoverTarget(proto.Message{Metadata: object{"target_agent_id": "b"}}); got != "b" {
		t.Errorf("metadata.target_agent_id: %q", got)
	}
	if got := handoverTarget(proto.Message{Payload: object{"to": 7.0}, Metadata: object{"agent_id": "a"}}); got != "" {
		t.Errorf("nobody: %q", got)
	}
}

// The first of two handovers is confirmed, and the second rejected.
func TestHandoversAreToldApart(t *testing.T) {
	inBubble(t, func(s *stage) {
		for _, tx := range []string{"x1", "x2"} {
			to := map[string]string{"x1": "b", "x2": "c"}[tx]
			s.send(proto.Message{Event: "CONTROL", Subtype: "HANDOVER_REQUEST", Sender: "a", Payload: object{"to": to},
				Metadata: object{"tx_id": tx}})
		}
		s.play(`
			> ui confirm x3
			< ui ERROR INVALID_MESSAGE
			> ui reject x2
			> ui confirm x1
			< sm SWITCH_AGENT a b HANDOVER_CONFIRM
			< b HANDOVER_CONTEXT a b []`)
	})
}

func TestSessionFields(t *testing.T) {
	inBubble(t, func(s *stage) {
		s.wants(s.send(control("SESSION_OPEN", object{"user": "u"}, object{"tx_id": "x1"})),
			proto.Message{Event: "CONTROL", Subtype: "REQUEST_SESSION_OPEN", Target: "SYSTEM",
				Payload: object{"user": "u", "session_id": "s"}, Metadata: object{"tx_id": "x1"}})
		failed := s.send(proto.Message{Event: "CONTROL", Subtype: "SESSION_FAILED", Sender: "session_manager",
			Payload: object{"reason": "disk"}, Metadata: object{"tx_id": "x1"}})
		s.wants(failed,
			proto.Message{Event: "ERROR", Subtype: "SESSION_FAILED", Target: "FRONTEND", Metadata: object{"tx_id": "x1"},
				Payload: object{
					"code": "SESSION_FAILED", "message": "SessionManager could not do it: disk", "reason": "disk",
					"request": "SESSION_OPEN", "session_id": "s",
				}})
	})
}

var asMention = object{"subtype": "MENTION"}

var mentionFormsRows = []struct {
	name string
	msg  proto.Message
	to   string // "": an error
}{
	{"payload, no subtype", userInput(object{"mentioned_agent_id": "b"}, nil), "b"},
	{"payload, subtype in metadata", userInput(object{"mentioned_agent_id": "b"}, asMention), "b"},
	{"payload, another subtype",
		proto.Message{Event: "USER_INPUT", Subtype: "TEXT", Sender: "frontend", Payload: object{"mentioned_agent_id": "b"}},
		"b"},
	{"metadata.mentioned_agent_id", userInput("x", withMembers(asMention, object{"mentioned_agent_id": "b"})), "b"},
	{"metadata.target_agent_id", userInput("x", withMembers(asMention, object{"target_agent_id": "b"})), "b"},
	{"metadata.agent_id", userInput("x", withMembers(asMention, object{"agent_id": "b"})), "b"},
	{"own subtype, metadata",
		proto.Message{Event: "USER_INPUT", Subtype: "MENTION", Sender: "frontend", Metadata: object{"agent_id": "b"}}, "b"},
	{"own subtype is another, metadata says MENTION",
		proto.Message{Event: "USER_INPUT", Subtype: "TEXT", Sender: "frontend",
			Metadata: withMembers(asMention, object{"agent_id": "b"})}, "b"},
	{"GUI: selected_agent_id", userInput(object{"selected_agent_id": "b"}, asMention), "b"},
	{"GUI: agent_id", userInput(object{"agent_id": "b"}, asMention), "b"},
	{"target_id", proto.Message{Event: "USER_INPUT", Sender: "frontend", TargetID: "b", Payload: "x", Metadata: asMention},
		"b"},
	{"@b text", userInput("@b do it", asMention), "b"},
	{"@b, text", userInput("  @b, do it", asMention), "b"},
	{"@b，text", userInput("@b，你好", asMention), "b"},
	{"@b", userInput("@b", asMention), "b"},
	{"@b.", userInput("@b.", asMention), "b"},
	{"payload before metadata",
		userInput(object{"mentioned_agent_id": "b"}, withMembers(asMention, object{"agent_id": "c"})),
		"b"},
	{"absent in payload, present in metadata",
		userInput(object{"mentioned_agent_id": nil}, withMembers(asMention, object{"agent_id": "c"})), "c"},

	{"no asMention: plain text", userInput("@b do it", nil), "a"},
	{"no asMention: target_id", proto.Message{Event: "USER_INPUT", Sender: "frontend", TargetID: "b"}, "a"},
	{"no asMention: agent_id without subtype", userInput(object{"agent_id": "b"}, object{"agent_id": "b"}), "a"},
	{"no asMention: null", userInput(object{"mentioned_agent_id": nil}, nil), "a"},
	{"no asMention: empty", userInput(object{"mentioned_agent_id": ""}, nil), "a"},

	{"nobody", userInput("do it", asMention), ""},
	{"no name after the @", userInput("@", asMention), ""},
	{"a number", userInput(object{"mentioned_agent_id": 7.0}, nil), ""},
	{"an absent agent", userInput("@d do it", asMention), ""},
	{"a name with an agent's name as prefix", userInput("@b-2 do it", asMention), ""},
}

// What makes a message a mention, and of which agent.
func TestMentionForms(t *testing.T) {
	for _, c := range mentionFormsRows {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(s *stage) {
				out := s.send(c.msg)
				if c.to == "" {
					if len(out) != 1 || out[0].Event != "ERROR" || len(s.m.Turns()) != 0 || s.m.Active() != "a" {
						t.Fatalf("published %q", lines(out))
					}
					return
				}
				routed := only(t, out, "TURN_ACCEPTED")
				if to := payloadOf(routed)["target_agent"]; to != c.to || s.m.Active() != c.to {
					t.Errorf("went to %v, active is %s; want %s", to, s.m.Active(), c.to)
				}
			})
		})
	}
}

func TestIsFinal(t *testing.T) {
	for _, c := range []struct {
		stream any
		final  bool
	}{
		{nil, true},
		{"x", true},
		{object{}, true},
		{object{"final": true}, true},
		{object{"final": true, "is_chunk": true}, true},
		{object{"final": false}, false},
		{object{"is_chunk": true}, false},
		{object{"is_chunk": true, "final": false}, false},
		{object{"is_chunk": false}, true},
		{object{"is_chunk": false, "final": false}, true},
		{object{"is_chunk": "yes", "final": "no"}, true},
	} {
		if got := IsFinal(proto.Message{Metadata: object{"stream": c.stream}}); got != c.final {
			t.Errorf("stream %v: final is %v", c.stream, got)
		}
	}
}
