package orchestrator

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	proto "parley/protocol/sessionruntime"
)

func TestLimits(t *testing.T) { playAll(t, limitsScripts) }

var limitsScripts = []script{
	{name: "turns in flight, and those whose CANCEL is", o: Options{Limits: Limits{Turns: 1}}, lines: speaking + `
		> ui input t2
		< ui ERROR OVERLOADED t2
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> a final t1 x
		< ui AGENT_OUTPUT t1 x
		> ui input t2
		< ui ERROR OVERLOADED t2
		> a stop t1
		< ui CANCELED t1 a COMPLETED
		> ui input t2
		< a USER_INPUT t2
		< ui TURN_ACCEPTED t2 a`},
	{name: "finished turns are forgotten", o: Options{Limits: Limits{Finished: 1}}, lines: speaking + `
		> a final t1 x
		< ui AGENT_OUTPUT t1 x
		> ui input t1
		< ui ERROR INVALID_MESSAGE
		> ui input t2
		< a USER_INPUT t2
		< ui TURN_ACCEPTED t2 a
		> time 10s
		< ui ERROR ROUTE_TIMEOUT t2 a
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a`},
	{name: "transactions", o: Options{Limits: Limits{Transactions: 1}}, lines: `
		> ui open
		< sm REQUEST_SESSION_OPEN
		> ui remove b
		< ui ERROR OVERLOADED
		> sm SESSION_OPENED
		< ui SESSION_OPENED
		> ui remove b
		< ui AGENT_REMOVING b
		< sm REQUEST_REMOVE_AGENT b`},
	{name: "agents", o: Options{Agents: []string{"a"}, Active: "a", Limits: Limits{Agents: 2}}, lines: `
		> ui invite b x1
		< sm REQUEST_ADD_AGENT b
		< ui ADDING_AGENT b
		> ui invite c x2
		< sm REQUEST_ADD_AGENT c
		< ui ADDING_AGENT c
		> sm ADD_AGENT_DONE - x1
		< ui AGENT_ADDED b
		> sm ADD_AGENT_DONE - x2
		< ui ERROR OVERLOADED c
		> ui invite d
		< ui ERROR OVERLOADED`},
	{name: "output", o: Options{Limits: Limits{Output: 2 * (64 + 3)}}, lines: speaking + `
		> a chunk t1 two
		< ui AGENT_OUTPUT t1 two
		> a chunk t1 six
		< ui AGENT_OUTPUT t1 six
		> a handover t1 b
		< ui HANDOVER_UI_PROMPT a b [two six]
		> a chunk t1 ` + strings.Repeat("x", 200) + `
		< ui AGENT_OUTPUT t1 ` + strings.Repeat("x", 200) + `
		> ui confirm
		< sm SWITCH_AGENT a b HANDOVER_CONFIRM
		< b HANDOVER_CONTEXT a b [two six]`},
}

func TestSeenIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Options{Limits: Limits{Seen: 3}})
		heard := func(id string) bool { return len(s.send(proto.Message{ID: id, Event: "ERROR", Sender: "a"})) > 0 }
		for i, c := range []struct {
			id    string
			heard bool
		}{{"1", true}, {"2", true}, {"3", true}, {"1", false}, {"4", true}, {"2", false}, {"1", true}, {"3", false},
			{"2", true}} {
			if heard(c.id) != c.heard {
				t.Errorf("message %d, id %s: heard is %v", i, c.id, !c.heard)
			}
		}
		if len(s.m.seen.set) != 3 || len(s.m.seen.order) != 3 {
			t.Errorf("%d ids are remembered", len(s.m.seen.set))
		}
	})
}

// State stays bounded whatever is sent.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limits{Turns: 5, Finished: 10, Transactions: 4, Seen: 20, Output: 10_000}
		s := newStage(t, Options{Limits: l})
		text := strings.Repeat("x", 1000)
		for i := range 2000 {
			turn := fmt.Sprint("t", i)
			s.act([]string{"ui", "input", turn})
			s.act([]string{"a", "chunk", turn, text})
			s.act([]string{"a", "handover", turn, "b"})
			s.act([]string{"ui", "cancel", turn})
			if i%2 == 0 {
				s.act([]string{"a", "final", turn, text})
			}
			if i%7 == 0 {
				s.pass(3 * time.Second)
			}
		}
		m := s.m
		if len(m.open) > 5 || len(m.finished) > 10 || len(m.turns) > 15 || len(m.txs) > 4 || len(m.seen.set) > 20 ||
			m.collected.bytes > 10_000 || len(m.collected.pieces) > 10_000/64 || len(m.speaking) > 5 {
			t.Errorf("kept: %d, %d, %d, %d, %d, %d", len(m.open), len(m.finished), len(m.turns), len(m.txs), len(m.seen.set),
				m.collected.bytes)
		}
	})
}
