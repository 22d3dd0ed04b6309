package orchestrator

import (
	"fmt"
	"strings"
	"testing"

	proto "parley/protocol/sessionruntime"
)

// Which messages are handled, by sender and target.
func TestTakes(t *testing.T) {
	input, ack := userInput("x", object{"turn_id": "t1"}), byAgent("a", "ack", "t0", "")
	receipt := proto.Message{Event: "CONTROL", Subtype: "REMOVE_AGENT_DONE", Sender: "session_manager",
		Payload: object{"agent_id": "c"}}
	to := func(msg proto.Message, target string) proto.Message { msg.Target = target; return msg }
	from := func(msg proto.Message, sender string) proto.Message { msg.Sender = sender; return msg }
	for _, c := range []struct {
		name  string
		msg   proto.Message
		heard bool
	}{
		{"input to SYSTEM", to(input, "SYSTEM"), true},
		{"input to SESSION", to(input, "SESSION"), true},
		{"input on BROADCAST is observed", to(input, "BROADCAST"), false},
		{"input to an agent", to(input, "AGENT"), false},
		{"input to the frontend", to(input, "FRONTEND"), false},
		{"input to an unknown target", to(input, "system"), false},
		{"input of the orchestrator itself", from(input, "session"), false},
		{"input of the logger", from(input, "logger"), false},
		{"input without a sender", from(input, ""), false},
		{"input of an agent", from(input, "b"), false},
		{"input of SessionManager", from(input, "session_manager"), false},
		{"input of another session", proto.Message{SessionID: "s2", Event: "USER_INPUT", Sender: "frontend"}, false},
		{"ack to SYSTEM", to(ack, "SYSTEM"), true},
		{"ack on BROADCAST", to(ack, "BROADCAST"), true},
		{"ack to the frontend", to(ack, "FRONTEND"), false},
		{"ack of the frontend", from(ack, "frontend"), true}, // an ERROR: a frontend can't send it
		{"ack, the subtype in metadata",
			proto.Message{Event: "CONTROL", Sender: "a", Metadata: object{"subtype": "INPUT_ACK", "turn_id": "t0"}}, true},
		{"ack as an EVENT",
			proto.Message{Event: "EVENT", Subtype: "INPUT_ACK", Sender: "a", Metadata: object{"turn_id": "t0"}}, false},
		{"receipt to SYSTEM", receipt, true},
		{"receipt on BROADCAST is observed", to(receipt, "BROADCAST"), false},
		{"receipt of an agent", from(receipt, "b"), false},
		{"unknown event", proto.Message{Event: "X", Sender: "frontend"}, false},
		{"unknown subtype of an agent", proto.Message{Event: "CONTROL", Subtype: "X", Sender: "a"}, false},
		{"unknown subtype of the frontend", proto.Message{Event: "CONTROL", Subtype: "X", Sender: "frontend"}, true},
		{"no subtype of the frontend", proto.Message{Event: "CONTROL", Sender: "frontend"}, true},
		{"nothing", proto.Message{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(s *stage) {
				s.send(userInput("x", object{"turn_id": "t0"}))
				s.send(control("REMOVE_AGENT", object{"agent_id": "c"}, nil))
				if out := s.send(c.msg); (len(out) > 0) != c.heard {
					t.Errorf("published %q", lines(out))
				}
			})
		})
	}
}

// A message that arrives through two subscriptions is handled once. A message that was only observed was not handled.
func TestTheSameMessageTwice(t *testing.T) {
	inBubble(t, func(s *stage) {
		msg := proto.Message{ID: "m1", Event: "USER_INPUT", Sender: "frontend", Target: "BROADCAST"}
		for i, want := range []int{0, 2, 0, 0} {
			if i > 0 {
				msg.Target = "SYSTEM"
			}
			if out := s.send(msg); len(out) != want {
				t.Errorf("delivery %d: published %q", i, lines(out))
			}
		}
		msg.Sender = "a"
		msg.Event = "ERROR"
		for i, want := range []int{1, 0} {
			if out := s.send(msg); len(out) != want {
				t.Errorf("delivery %d of another sender: published %q", i, lines(out))
			}
		}
	})
}

func TestMalformedIDs(t *testing.T) {
	long := strings.Repeat("x", 1<<10+1)
	inBubble(t, func(s *stage) {
		for _, metadata := range []object{{"turn_id": 7.0}, {"trace_id": object{}}, {"tx_id": []any{}}, {"turn_id": long},
			{"trace_id": long}, {"tx_id": long}} {
			for _, msg := range []proto.Message{userInput("x", metadata), control("CANCEL", nil, metadata)} {
				out := s.send(msg)
				if got := fmt.Sprint(lines(out)); got != "[ui ERROR INVALID_MESSAGE]" {
					t.Errorf("%v: published %s", metadata, got)
				}
			}
			for _, msg := range []proto.Message{byAgent("a", "ack", "", ""), byAgent("a", "stop", "", ""),
				byAgent("a", "chunk", "", "x"), byAgent("a", "error", "", "")} {
				msg.Metadata = metadata
				for _, out := range s.send(msg) {
					if out.Event != "ERROR" {
						t.Errorf("%v: published %q", metadata, lines([]proto.Message{out}))
					}
				}
			}
		}
		out := s.send(proto.Message{Event: "CONTROL", Subtype: "HANDOVER_REQUEST", Sender: "a", Payload: object{"to": "b"},
			Metadata: object{"tx_id": long}})
		if tx, _ := only(t, out, "HANDOVER_UI_PROMPT").Metadata["tx_id"].(string); tx == "" || tx == long {
			t.Errorf("tx_id %q", tx)
		}
	})
}

// A tx_id that is in use is not given to another transaction.
func TestTxIDIsUnique(t *testing.T) {
	inBubble(t, func(s *stage) {
		ids := map[any]bool{}
		for _, agent := range []string{"b", "c"} {
			out := s.send(control("REMOVE_AGENT", object{"agent_id": agent}, object{"tx_id": "x1"}))
			ids[only(t, out, "REQUEST_REMOVE_AGENT").Metadata["tx_id"]] = true
		}
		if len(ids) != 2 || !ids["x1"] {
			t.Errorf("ids: %v", ids)
		}
	})
}

func TestValidate(t *testing.T) {
	long := strings.Repeat("x", 1<<10+1)
	for _, c := range []struct {
		name string
		o    Options
		ok   bool
	}{
		{"agents", Options{SessionID: "s", Agents: []string{"a", "b"}, Active: "b", Default: "a"}, true},
		{"nobody", Options{SessionID: "s"}, true},
		{"no id", Options{}, false},
		{"long id", Options{SessionID: long}, false},
		{"absent active agent", Options{SessionID: "s", Agents: []string{"a"}, Active: "b"}, false},
		{"absent default agent", Options{SessionID: "s", Agents: []string{"a"}, Default: "b"}, false},
		{"twice", Options{SessionID: "s", Agents: []string{"a", "a"}}, false},
		{"empty agent", Options{SessionID: "s", Agents: []string{""}}, false},
		{"long agent", Options{SessionID: "s", Agents: []string{long}}, false},
		{"another party", Options{SessionID: "s", Agents: []string{"session_manager"}}, false},
		{"too many", Options{SessionID: "s", Agents: []string{"a", "b"}, Limits: Limits{Agents: 1}}, false},
		{"negative time", Options{SessionID: "s", InputAck: -1}, false},
	} {
		if err := c.o.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if m := New(Options{Agents: []string{"a", "a"}, Active: "x"}); m.Active() != "" || len(m.Agents()) != 1 {
		t.Errorf("a machine of faulty options: %v, active %q", m.Agents(), m.Active())
	}
}
