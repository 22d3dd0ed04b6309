package model

import (
	"slices"
	"strings"
	"testing"

	"parley/steps/obligation"
)

// TestUncalled checks which messages of sessions a connection must not receive, and what their absence shows.
func TestUncalled(t *testing.T) {
	const (
		bad    = `A > chat {"agent_id":"red","content":["[[echo x-7]]"]}` + "\n"
		always = "SC-001 SC-002 SC-045 SC-055"
	)
	for _, r := range []struct {
		reason, in, agent string
		after             int
		at                int // the message; 0: there is none
		clauses           string
	}{
		{"nothing", "A open", "", 0, 0, always},
		{"a session that nobody has asked for", "A open\nA < system red s-1: ", "", 0, 2, always},
		{"a chat was sent before", ask1 + "A < system red s-1: ", "", 0, 0, always},
		{"a chat was sent later", "A < system red s-1: \n" + ask1, "", 0, 1, always},
		{"another connection has sent a chat", "B > chat red: Hi\nA < system red s-1: ", "", 0, 2, always},
		{"before the record", "A < system red s-1: \nA open", "", 2, 0, always},
		{"another session", "A < system red s-1: ", "blue", 0, 0, always},
		{"after a ping", "A > ping {}\nA < system red s-1: ", "", 0, 2, always + " SC-037"},
		{"after an interrupt", "A > interrupt red: \nA < system red s-1: ", "", 0, 2, always + " SC-035"},
		{"a session that an interrupt starts", "A > interrupt red: \nA < result red s-1: ", "", 0, 2, always + " SC-035"},
		{"the end of the turn of another connection, which was interrupted",
			"B > chat red: Hi\nA > interrupt red: \nA < result red s-1: ", "", 0, 0, always + " SC-035"},
		{"its words", "B > chat red: Hi\nA > interrupt red: \nA < stream red s-1: x", "", 0, 3, always + " SC-035"},
		{"the end of the turn of the connection before, which was interrupted",
			ask1 + "A closed\nA open\nA > interrupt red: \nA < result red s-1: ", "", 0, 0, always + " SC-035 SC-054"},
		{"the end of a turn that the connection before interrupted",
			ask1 + "A > interrupt red: \nA closed\nA open\nA < result red s-1: ", "", 0, 5, always + " SC-035 SC-054"},
		{"over the second connection", "A open\nA closed\nA open\nA < system red s-1: ", "", 0, 4, always + " SC-054"},
		{"a session of the connection before", "A open\n" + whole1 + "A closed\nA open\nA < system red s-1: ", "", 0, 7,
			always + " SC-054"},
		{"after an incomplete chat", bad + "A < system red s-1: ", "", 0, 2, always + " SC-031"},
		{"the words of an incomplete chat in a known session", ask1 + bad + "A < stream red s-1: [[echo x-7]]", "", 0, 3,
			always + " SC-031"},
		{"other words in a known session", ask1 + bad + "A < stream red s-1: [[echo x-77]]", "", 0, 0, always + " SC-031"},
		{"without an agent_id, and of a known session",
			ask1 + "A < system red s-1: \n" + `A < system {"session_id":"s-1"}`, "", 0, 0, always},
		{"the same, where that is known later", ask1 + `A < system {"session_id":"s-1"}` + "\nA < system red s-1: ", "", 0, 0,
			always},
		{"without an agent_id", `A < system {"session_id":"s-1"}`, "", 0, 1, always},
		{"a session_id in a message of a type outside of turns", `A < hello {"session_id":"s"}`, "", 0, 0, always},
		{"a session_id in a message without a type", `A < - {"session_id":"s"}`, "", 0, 1, always},
		{"a session_id that is not a string", `A < result {"session_id":7}`, "", 0, 1, always},
		{"a piece", `A < stream {"session_id":null}`, "", 0, 1, always},
		{"an answer", `A < assistant {}`, "", 0, 1, always},
		{"a result of no session", `A < result {}`, "", 0, 0, always},
		{"a greeting", `A < system {"agent_id":null,"session_id":null}`, "", 0, 0, always},
		{"an empty session_id", `A < system {"session_id":""}`, "", 0, 0, always},
		{"an error", `A < error {"agent_id":"red","session_id":null}`, "", 0, 0, always},
		{"a pong", `A < pong {"session_id":"s"}`, "", 0, 0, always},
	} {
		t.Run(r.reason, func(t *testing.T) {
			m := New(obligation.Ours)
			for _, rec := range script(t, r.in) {
				m.Take(rec)
			}
			f := m.Uncalled("A", r.agent, r.after)
			if f.OK != (r.at == 0) || f.At != r.at {
				t.Errorf("found in record %d: %+v, want %d", f.At, f, r.at)
			}
			slices.Sort(f.Clauses)
			want := strings.Fields(r.clauses)
			if slices.Sort(want); !slices.Equal(f.Clauses, want) {
				t.Errorf("clauses %v, want %v", f.Clauses, want)
			}
		})
	}
}
