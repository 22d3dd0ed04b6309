package model

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/steps/obligation"
	"parley/steps/obligation/obligationtest"
)

// TestDuties: duties.yaml has the obligations that arise in the transcripts of these tests, with their clauses.
func TestDuties(t *testing.T) {
	duties := obligation.Duties{}
	optional := row{in: "A open\n" + `A > chat {"agent_id":"red","content":"Hi","options":{"model":"m","x":1}}`}
	for o, rows := range map[obligation.Observer][]row{obligation.Ours: append(rows, optional),
		obligation.Foreign: foreign} {
		for _, r := range rows {
			m := New(o)
			m.duties = duties
			for _, rec := range script(t, r.in) {
				m.Take(rec)
			}
		}
	}
	obligationtest.Duties(t, duties.List(), obligationtest.OfChart(Chart))
}

// TestChart: every clause of a life cycle is one that the model judges.
func TestChart(t *testing.T) {
	judged := append(slices.Clone(unanswered), "SC-016a") // of a session that is resumed; see resumed
	for _, m := range slices.Concat(All(), Foreign()) {
		judged = append(judged, m.Clauses...)
	}
	obligationtest.Moves(t, machines, judged)
}

// TestReached: what arose is counted, and what became of it.
func TestReached(t *testing.T) {
	m := New(obligation.Ours)
	for _, rec := range script(t, "A open\n"+ask1+"A < assistant red s-1: x-1\n"+success+ask2+
		`A > interrupt {"agent_id":"red"}`+"\n"+interrupted+"A > ping {}\n- "+InVain+"5: no such message within 2 s\n") {
		m.Take(rec)
	}
	want := []obligation.Reached{
		{On: "client: chat", Owes: "answer under its agent_id",
			Coverage: obligation.Coverage{Owed: 2, Settled: 1, Missing: 1}},
		{On: "client: chat", Owes: "result", Coverage: obligation.Coverage{Owed: 2, Settled: 1}},
		{On: "client: interrupt", Owes: "result of the interrupted turn",
			Coverage: obligation.Coverage{Owed: 1, Settled: 1}},
		{On: "client: ping", Owes: "pong", Coverage: obligation.Coverage{Owed: 1}},
	}
	if diff := cmp.Diff(want, m.Reached()); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}
