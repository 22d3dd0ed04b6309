package steps

import (
	"slices"
	"testing"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// TestExplainedBy checks that a check that a fault explains leaves its clause not tested and never passed, that the
// fault is a failure whatever the scenario's tags, and that without one the check counts. AS-001 and AS-005 are
// binding, AS-002 is a SHOULD.
func TestExplainedBy(t *testing.T) {
	shape := monitor.Monitor{Name: "shape", Clauses: []string{"AS-001", "AS-002"},
		Check: func([]transcript.Record) []verdict.Finding { return nil }}
	fault := func(clause string) verdict.Finding {
		return verdict.Finding{Clauses: []string{clause}, Expected: "a form", Observed: "no form", At: 3}
	}
	for _, row := range []struct {
		reason  string
		monitor string
		fault   verdict.Finding
		checks  []verdict.Finding // before
		want    verdict.Outcome   // of AS-005
		fails   []string
	}{
		{"a fault explains a check", "shape", fault("AS-001"), nil, verdict.NotTested, []string{"AS-001"}},
		{"a check that passed before does not count", "shape", fault("AS-001"),
			[]verdict.Finding{{Clauses: []string{"AS-005"}, OK: true}}, verdict.NotTested, []string{"AS-001"}},
		{"a failure from elsewhere stays", "shape", fault("AS-001"),
			[]verdict.Finding{{Clauses: []string{"AS-005"}, Observed: "another"}}, verdict.Failed,
			[]string{"AS-005", "AS-001"}},
		{"a broken SHOULD explains nothing", "shape", fault("AS-002"), nil, verdict.Failed, []string{"AS-005"}},
		{"what no monitor reports explains nothing", "none", fault("AS-001"), nil, verdict.Failed, []string{"AS-005"}},
		{"nor what the monitor does not judge", "shape", fault("AS-003"), nil, verdict.Failed, []string{"AS-005"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			w := world(t, false, "@AS-005")
			_ = w.Judge(row.checks...)
			err := w.ExplainedBy(row.monitor, row.fault, verdict.Finding{Clauses: []string{"AS-005"}, Expected: "x",
				Observed: "y", At: 3})
			res := w.sumUpResult([]monitor.Monitor{shape}, err)
			if got := res.Clauses[0]; got.Outcome != row.want {
				t.Errorf("AS-005 is %s (%s), want %s", got.Outcome, got.Reason, row.want)
			}
			var fails []string
			for _, f := range res.Failures {
				if f.Outcome == verdict.Failed {
					fails = append(fails, f.Clause)
				}
			}
			if !slices.Equal(fails, row.fails) {
				t.Errorf("it fails %v, want %v", fails, row.fails)
			}
			if row.want == verdict.NotTested && (res.Outcome != verdict.NotTested || len(res.Failures[0].Following) != 1) {
				t.Errorf("the scenario is %s, with %+v", res.Outcome, res.Failures)
			}
		})
	}
}
