package model

import (
	"fmt"
	"testing"

	"parley/steps/obligation"
)

// TestDues checks what is found about the chats of our own clients: the record that settles what they are owed, and
// whether that is right.
func TestDues(t *testing.T) {
	const (
		open    = "A open\n" // so that ask1 is record 2
		held    = "A > chat red: [[hold x-1]]\n"
		stop    = `A > interrupt {"agent_id":"red"}` + "\n"
		said    = "A < stream red s-1: [[echo x-1]]\n"
		saidX2  = "A < stream red s-1: [[echo x-2]] \n"
		dated   = `A < result {"agent_id":"red","session_id":"s-1","timestamp":"t1","message":{"subtype":"success"}}` + "\n"
		heldX2  = "A > chat red: [[hold x-2]]\nA < stream red s-1: holding x-2 \n"
		failsX2 = "A > chat red: [[fail x-2 500]]\n"
		vain    = "- " + InVain + "2: no such message within 2 s\n"
	)
	for _, r := range []struct {
		reason, in string
		chat       int
		what       Due
		at         int // the record that settles it; 0: it is open, or missing
		ok         bool
	}{
		{"an answer", open + ask1 + said, 2, Answer, 3, true},
		{"in portions that split its nonce", open + ask1 + "A < stream red s-1: [[echo x-\nA < stream red s-1: 1]]\n", 2,
			Answer, 4, true},
		{"behind the end", open + ask1 + success + said, 2, Answer, 0, false},
		{"on another connection", open + ask1 + "B open\nB < stream red s-1: [[echo x-1]]\n", 2, Answer, 0, false},
		{"under another agent_id", open + ask1 + "A < stream blue s-1: [[echo x-1]]\n", 2, Answer, 0, false},
		{"an end", open + ask1 + said + success, 2, End, 4, true},
		{"none", open + ask1 + said + vain, 2, End, 0, false},
		{"an end that may repeat the one before", open + whole1 + ask2 + success, 5, End, 0, false},
		{"and does, as the next one shows", open + whole1 + ask2 + success + saidX2 + success, 5, End, 8, true},
		{"and does not, as no other comes",
			open + whole1 + ask2 + success + "- " + InVain + "5: no such message within 2 s\n", 5, End, 6, true},
		{"a copy of the end before, while the model waits", open + ask1 + said + dated + heldX2 + dated, 5, Running, 0, true},
		{"and the end after that", open + ask1 + said + dated + heldX2 + dated + success, 5, End, 8, true},
		{"a copy of the end before, while the model fails", open + ask1 + said + dated + failsX2 + dated, 5, End, 0, false},
		{"an end like the one before, without its time", open + ask1 + said + success + heldX2 + success, 5, Running, 7,
			false},
		{"one that ends otherwise", open + whole1 + ask2 + interrupted, 5, End, 6, true},
		{"that of an error", open + "A > chat red: [[fail x-1 500]]\n" + `A < error {"agent_id":"red"}`, 2, End, 3, true},
		{"the end of an interrupted turn", open + held + stop + interrupted, 2, Stop, 4, true},
		{"before the interrupt", open + held + interrupted + stop, 2, Stop, 3, false},
		{"on the connection of the interrupt",
			open + held + "B open\n" + `B > interrupt {"agent_id":"red"}` + "\nB < result red s-1: \n", 2, Stop, 5, true},
		{"on both connections",
			open + held + "B open\n" + `B > interrupt {"agent_id":"red"}` + "\nB < result red s-1: \nA < result red s-1: \n", 2,
			Stop, 6, true},
		{"a turn beside an interrupt, cut short",
			open + held + `A > interrupt {"agent_id":"blue"}` + "\nA < stream red s-1: holding x-1\n" + success, 2, End, 5,
			false},
		{"a turn beside an interrupt, to its last word",
			open + held + `A > interrupt {"agent_id":"blue"}` + "\nA < stream red s-1: released x-1\n" + success, 2, End, 5,
			true},
		{"a turn that runs", open + held, 2, Running, 0, true},
		{"a turn that does not", open + held + success, 2, Running, 3, false},
		{"the model was not asked", open + held + success, 2, Asking, 3, false},
		{"a message while it runs", open + held + "A < system red s-1: \n", 2, Streaming, 3, true},
		{"its end alone", open + held + success, 2, Streaming, 3, false},
		{"two chats at once", open + held + ask2 + success, 3, End, 0, false},
		{"two chats at once, and the end of the first", open + held + ask2 + success, 2, End, 4, true},
		{"one that replaces the first", open + held + ask2 + saidX2 + success, 2, End, 5, true},
		{"a lost connection", open + held + "A closed\nA open\n" + success, 2, End, 0, false},
		{"all pieces", open + "A > chat red: [[stream x-1 2]]\nA < stream red s-1: stream x-1 1/2 stream x-1 2/2\n" + success,
			2, InOrder, 4, true},
		{"one of two pieces", open + "A > chat red: [[stream x-1 2]]\nA < stream red s-1: stream x-1 1/2 \n" + success,
			2, InOrder, 4, false},
		{"the words of the model", open + ask1 + said + success, 2, Unchanged, 4, true},
		{"other words", open + ask1 + "A < stream red s-1: [[ECHO x-1]]\n" + success, 2, Unchanged, 4, false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			m := New(obligation.Ours)
			for _, rec := range script(t, r.in) {
				m.Take(rec)
			}
			c := m.Chat(r.chat)
			if c == nil {
				t.Fatal("no such chat")
			}
			if at, f := c.Settled(r.what), c.Found(r.what); at != r.at || f.OK != r.ok || !f.OK && f.Expected == "" {
				t.Errorf("settled by record %d, want %d; found: %+v, want OK %v", at, r.at, f, r.ok)
			}
		})
	}
}

// TestWhole checks which turns the history of a session has.
func TestWhole(t *testing.T) {
	const stop = `A > interrupt {"agent_id":"red"}` + "\n"
	for _, r := range []struct {
		reason, in string
		want       bool
	}{
		{"whole", whole1, true},
		{"running", ask1, false},
		{"interrupted", ask1 + stop + interrupted, false},
		{"interrupted behind its end", whole1 + stop, true},
		{"failed", "A > chat red: [[fail x-1 500]]\n" + success, false},
		{"its connection is lost", ask1 + "A closed", false},
		{"its connection is lost behind its end", whole1 + "A closed", true},
		{"without words of the harness's model", "A > chat red: Hi\n" + success, false},
		{"replaced by a second chat", ask1 + ask2 + "A < assistant red s-1: x-2\n" + success, false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			m := New(obligation.Ours)
			for _, rec := range script(t, "A open\n"+r.in) {
				m.Take(rec)
			}
			if got := m.Chat(2).Whole(); got != r.want {
				t.Errorf("whole: %v", got)
			}
		})
	}
}

// TestRefusal checks what refuses a message that must be refused.
func TestRefusal(t *testing.T) {
	for _, r := range []struct {
		reason, in string
		at         int // the refusal; 0: there is none
		observed   string
	}{
		{"an error about the session", `A < error {"agent_id":"red"}`, 3, ""},
		{"an error about no session", "A < error {}", 3, ""},
		{"a close for unsupported data", "A closed 1003", 3, ""},
		{"a close for invalid text", "A closed 1007", 3, ""},
		{"a close for a policy violation", "A closed 1008", 3, ""},
		{"an ordinary close", "A closed 1000\n- " + InVain + "2: closed", 0, "closed"},
		{"a close because of the server", "A closed 1011", 0, ""},
		{"a result", "A < result red s-1: ", 0, "it was accepted: result"},
		{"a pong", "A < pong {}", 0, ""},
		{"what is no message", "A junk", 0, "what came is not recognised as a refusal: "},
		{"an error on another connection", "B open\nB < error {}", 0, ""},
		{"what the harness sent", "A > error {}", 0, ""},
	} {
		t.Run(r.reason, func(t *testing.T) {
			m := New(obligation.Ours)
			for _, rec := range script(t, "A open\n"+`A > chat {"agent_id":"red"}`+"\n"+r.in) {
				m.Take(rec)
			}
			f := m.Refusal(2)
			got := fmt.Sprintf("%.*s", len(r.observed), f.Observed)
			if f.OK != (r.at > 0) || f.OK && f.At != r.at || got != r.observed {
				t.Errorf("%+v, want one in record %d, %q", f, r.at, r.observed)
			}
		})
	}
}
