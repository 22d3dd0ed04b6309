package proof_test

import (
	"slices"
	"testing"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	"parley/runner"
	"parley/target"
	"parley/test/suitetest"
)

// TestBaseline checks that a run with only excused failures ends well but is not called conformant, and that unused
// excuses fail. JUnit reports failures exactly if the exit code does.
func TestBaseline(t *testing.T) {
	t.Parallel()
	all := suitetest.Mutants("agent-select", "")
	at := slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == "trims-ids" })
	if at < 0 {
		t.Fatal("there is no mutant trims-ids")
	}
	for _, c := range []struct {
		reason  string
		broken  bool
		rows    []verdict.Expected
		verdict verdict.Verdict
		exit    int
		day     bool
	}{
		{"what fails is expected", true, []verdict.Expected{{Clause: "AS-080", Reason: "issue 1"}}, verdict.AsExpected, 0,
			true},
		{"what fails is not expected", true,
			[]verdict.Expected{{Clause: "AS-012", Reason: "issue 2", Expires: "2020-01-01"}}, verdict.NonConformant, 1, false},
		{"what is expected does not fail", false, []verdict.Expected{{Clause: "AS-080", Reason: "issue 1"}},
			verdict.NonConformant, 1, false},
		{"a baseline that is not needed", false, []verdict.Expected{}, verdict.Conformant, 0, false},
		{"a row that has expired, and is not needed", false,
			[]verdict.Expected{{Clause: "AS-080", Reason: "issue 1", Expires: "2020-01-01"}}, verdict.Conformant, 0, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if !c.day {
				tier.Night(t)
			}
			suitetest.AwaitTurn(t)
			o := suitetest.Bundled("agent-select", "")
			if c.broken {
				o.Brain = llm.New()
				o.Launcher = all[at].Launch(o.Brain)
			}
			o.Drivers, o.Baseline = []string{target.SSE}, &verdict.Baseline{Expected: c.rows}
			res := suitetest.Judge(t, o)
			if res.Verdict != c.verdict || res.Runs[0].Verdict != c.verdict || res.Exit != c.exit {
				t.Errorf("%s, exit %d; want %s, exit %d\n%s", res.Verdict, res.Exit, c.verdict, c.exit, suitetest.Console(t, res))
			}
			suitetest.SameInEveryReport(t, res)
		})
	}
}
