package steps

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// TestFollow: after a model's first deviation its findings decide nothing (RULINGS 9). AS-001 and AS-005 are binding,
// AS-002 is a SHOULD.
func TestFollow(t *testing.T) {
	f := func(ok bool, at int, model string, clauses ...string) verdict.Finding {
		return verdict.Finding{Clauses: clauses, OK: ok, Expected: "e", Observed: fmt.Sprintf("o%d", at), At: at,
			Model: model}
	}
	follows := func(f verdict.Finding) verdict.Finding { f.Follows = true; return f }
	rows := []struct {
		reason   string
		checks   []verdict.Finding // of steps, at record 3 where they have one
		findings []verdict.Finding
		want     []string
		under    []string // findings kept under each failure
	}{
		{"the second deviation of a model follows from the first", nil,
			findings{f(false, 1, "s1", "AS-001"), f(false, 2, "s1", "AS-005")},
			[]string{"AS-001 failed at 1", "AS-005 follow from AS-001: o1"}, []string{"AS-001 at 1: AS-005 at 2"}},
		{"in any order of findings", nil,
			findings{f(false, 2, "s1", "AS-005"), f(false, 1, "s1", "AS-001")},
			[]string{"AS-001 failed at 1", "AS-005 follow from AS-001: o1"}, []string{"AS-001 at 1: AS-005 at 2"}},
		{"a clause kept only by later records is not kept", nil,
			findings{f(false, 1, "s1", "AS-001"), f(true, 2, "s1", "AS-005")},
			[]string{"AS-001 failed at 1", "AS-005 follow from AS-001: o1"}, nil},
		{"a clause kept by an earlier record stays kept", nil,
			findings{f(true, 1, "s1", "AS-005"), f(false, 2, "s1", "AS-001"), f(false, 3, "s1", "AS-005")},
			[]string{"AS-001 failed at 2", "AS-005 kept"}, []string{"AS-001 at 2: AS-005 at 3"}},
		{"at the record of the deviation everything counts", nil,
			findings{f(false, 1, "s1", "AS-001"), f(false, 1, "s1", "AS-005")},
			[]string{"AS-001 failed at 1", "AS-005 failed at 1"}, nil},
		{"unless the finding says that it follows", nil,
			findings{f(false, 1, "s1", "AS-001"), follows(f(false, 1, "s1", "AS-005"))},
			[]string{"AS-001 failed at 1", "AS-005 follow from AS-001: o1"}, []string{"AS-001 at 1: AS-005 at 1"}},
		{"which needs an earlier deviation", nil,
			findings{follows(f(false, 1, "s1", "AS-005"))}, []string{"AS-005 failed at 1"}, nil},
		{"another model is not affected", nil,
			findings{f(false, 1, "s1", "AS-001"), f(false, 2, "s10", "AS-005")},
			[]string{"AS-001 failed at 1", "AS-005 failed at 2"}, nil},
		{"a part of the model is affected", nil,
			findings{f(false, 1, "s1", "AS-001"), f(false, 2, "s1/t1", "AS-005")},
			[]string{"AS-001 failed at 1", "AS-005 follow from AS-001: o1"}, []string{"AS-001 at 1: AS-005 at 2"}},
		{"the whole is not affected by a part", nil,
			findings{f(false, 1, "s1/t1", "AS-001"), f(false, 2, "s1", "AS-005")},
			[]string{"AS-001 failed at 1", "AS-005 failed at 2"}, nil},
		{"a check of one record always counts", nil,
			findings{f(false, 1, "s1", "AS-001"), f(false, 2, "", "AS-005")},
			[]string{"AS-001 failed at 1", "AS-005 failed at 2"}, nil},
		{"and does not end a model", nil,
			findings{f(false, 1, "", "AS-001"), f(false, 2, "s1", "AS-005")},
			[]string{"AS-001 failed at 1", "AS-005 failed at 2"}, nil},
		{"a warning hides no failure", nil,
			findings{f(false, 1, "s1", "AS-002"), f(false, 2, "s1", "AS-005")},
			[]string{"AS-002 warned at 1", "AS-005 failed at 2"}, nil},
		{"a step found the first deviation, at a record of the model",
			findings{{Clauses: []string{"AS-001"}, Observed: "o", At: 3}},
			findings{f(false, 2, "A", "AS-002"), f(false, 4, "A", "AS-005"), f(false, 4, "B", "AS-001")},
			[]string{"AS-001 failed at 4", "AS-002 warned at 2", "AS-005 follow from AS-001: o"},
			[]string{"AS-001 at 3: AS-005 at 4"}},
		{"or at none, and names the model", findings{{Clauses: []string{"AS-001"}, Observed: "o", Model: "B"}},
			findings{f(false, 6, "A", "AS-001"), f(false, 6, "B", "AS-005")},
			[]string{"AS-001 failed at 6", "AS-005 follow from AS-001: o"}, []string{"AS-001 at 0: AS-005 at 6"}},
		{"later findings of steps follow too, and decide nothing",
			findings{{Clauses: []string{"AS-001", "AS-002"}, Observed: "o", At: 1, Model: "B"},
				{Clauses: []string{"AS-005"}, Observed: "p", At: 2, Model: "B/1"},
				{Clauses: []string{"AS-005"}, OK: true, At: 3, Model: "B"},
				{Clauses: []string{"AS-005"}, Observed: "q", At: 4}, {Clauses: []string{"AS-005"}, Observed: "r", At: 5,
					Model: "C"}},
			nil, nil, []string{"AS-001 at 1: AS-005 at 2"}},
		{"what a step reports too is reported once, and is a deviation",
			findings{{Clauses: []string{"AS-001"}, Expected: "e", Observed: "o5", At: 5}},
			findings{f(false, 5, "C", "AS-001"), f(false, 6, "C", "AS-005")},
			[]string{"AS-005 follow from AS-001: o5"}, []string{"AS-001 at 5: AS-005 at 6"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			w := world(t, false, all...)
			for range 5 {
				w.T.Append(transcript.Record{Conn: "A"})
			}
			_ = w.Judge(r.checks...)
			m := monitor.Monitor{Name: "m", Clauses: []string{"AS-001", "AS-002", "AS-005"},
				Check: func([]transcript.Record) []verdict.Finding { return r.findings },
				Of:    func(r transcript.Record) string { return r.Conn }}
			var got, under []string
			keep := func(f Failure) {
				for _, next := range f.Following {
					under = append(under, fmt.Sprintf("%s at %d: %s at %d", f.Clause, f.At, next.Clause, next.At))
				}
			}
			res := w.sumUpResult([]monitor.Monitor{m}, nil)
			for _, x := range res.Monitors {
				switch x.Outcome {
				case verdict.Passed:
					got = append(got, x.Clause+" kept")
				case verdict.NotTested:
					got = append(got, x.Clause+" "+strings.TrimPrefix(x.Reason, "the findings "))
				default:
					got = append(got, fmt.Sprintf("%s %s at %d", x.Clause, x.Outcome, failureOf(res, x).At))
				}
			}
			for _, f := range res.Failures {
				keep(f)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
			if diff := cmp.Diff(r.under, under); diff != "" {
				t.Errorf("under the failures, want(-) got(+):\n%s", diff)
			}
		})
	}
}

// failureOf returns the failure for a monitor's judgement of a broken clause.
func failureOf(res Result, j verdict.Judgement) Failure {
	i := slices.IndexFunc(res.Failures, func(f Failure) bool { return f.Clause == j.Clause && f.Monitor == j.Monitor })
	return res.Failures[i]
}

// TestFollowingIsBounded: a model may be wrong at every further record.
func TestFollowingIsBounded(t *testing.T) {
	f := &Failure{Clause: "AS-001", Outcome: verdict.Failed}
	for i := range maxFollowing + 5 {
		f.addConsequence(Failure{Clause: "AS-005", Finding: verdict.Finding{At: i}})
	}
	if len(f.Following) != maxFollowing || f.MoreFollowing != 5 {
		t.Errorf("%d are kept and %d counted, want %d and 5", len(f.Following), f.MoreFollowing, maxFollowing)
	}
}

// ended is a model that says whether it has ended.
type ended struct {
	obligation.Model
	over bool
}

func (e *ended) End() { e.over = true }

func (e *ended) Findings() []verdict.Finding {
	return []verdict.Finding{{Clauses: []string{"AS-001", "AS-005"}, OK: e.over, At: 1}}
}

// TestMonitorReadsModel: a monitor of a model reads that of the scenario at its end, and folds no record again.
func TestMonitorReadsModel(t *testing.T) {
	w := world(t, false, "@AS-001", "@AS-005")
	w.Model = func() obligation.Model { return &ended{} }
	m := monitor.Monitor{Name: "m", Clauses: []string{"AS-001"}}.FromModel(func() obligation.Model {
		t.Error("the records are folded again")
		return nil
	})
	got := w.sumUpResult([]monitor.Monitor{m}, nil).Monitors
	if len(got) != 1 || got[0].Clause != "AS-001" || got[0].Outcome != verdict.Passed {
		t.Errorf("the monitor says %+v", got)
	}
}
