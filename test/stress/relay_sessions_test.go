package stress_test

import (
	"slices"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/tier"
	vocab "parley/protocol/externalagent"
	"parley/reports"
	"parley/runner"
	"parley/test/suitetest"
)

// TestRelaySessionsMixed checks hosts and relays whose relay sessions mix, so that scenarios in parallel disturb each
// other: whatever is broken, and not tested, is what it is when the scenarios run one at a time.
func TestRelaySessionsMixed(t *testing.T) {
	suitetest.AwaitTurn(t)
	for i, row := range []struct{ role, mutant string }{
		{vocab.Host, "form-is-global"},
		{vocab.Relay, "hosts-of-the-latest-session"},
		{vocab.Relay, "states-leak"},
		{vocab.Relay, "agents-heard-by-other-hosts"},
	} {
		t.Run(row.role+" "+row.mutant, func(t *testing.T) {
			tier.Sample(t, i, 4, 2)
			all := suitetest.Mutants(vocab.Protocol, row.role)
			m := all[slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == row.mutant })]
			o := suitetest.Bundled(vocab.Protocol, row.role)
			o.Profile.Limits.Event.Duration = 3 * time.Second
			o.Launcher = m.Launch(o.Brain)
			o.Tags = "@EA-008a or @EA-025 or @EA-041 or @EA-072 or @EA-095"
			beside := suitetest.Judge(t, o)
			o.Concurrency = 1
			alone := suitetest.Judge(t, o)
			for _, outcome := range []verdict.Outcome{verdict.Failed, verdict.NotTested} {
				if got, want := with(beside, outcome), with(alone, outcome); !slices.Equal(got, want) {
					t.Errorf("%s are %v, and %v one at a time", outcome, got, want)
				}
			}
			if !notes(beside, "of one relay session were seen in others") || t.Failed() {
				t.Errorf("\n%s", suitetest.Console(t, beside))
			}
		})
	}
}

// TestStatesOfTheSessionBefore checks that nothing is taken for changing on its own only because a state of a session
// comes when the next one has been asked for.
func TestStatesOfTheSessionBefore(t *testing.T) {
	t.Parallel()
	o := suitetest.Bundled(vocab.Protocol, vocab.Host)
	o.Tags = "@EA-011 and not @exclusive"
	res := suitetest.Judge(t, o)
	if len(with(res, verdict.Failed)) > 0 || notes(res, "changes on its own") {
		t.Errorf("\n%s", suitetest.Console(t, res))
	}
}

// with returns the clauses of an outcome.
func with(res *reports.Results, outcome verdict.Outcome) (out []string) {
	for _, c := range res.Runs[0].Clauses {
		if c.Outcome == outcome {
			out = append(out, c.ID)
		}
	}
	return out
}
