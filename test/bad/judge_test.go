package bad_test

import (
	"strings"
	"testing"

	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/test/suitetest"
	"parley/verdict"
)

// reached are the clauses kept by a target that only accepts connections.
var reached = map[string][]string{"external-agent": {"EA-017"}, "session-chat": {"SC-045", "SC-001"},
	"session-runtime": {"RT-013"}}

// lost, instead of an explanation, means that the target may send more than a transcript holds, depending on its
// speed: its further messages are then unknown, and most clauses are not tested.
const lost = "more than a transcript holds"

// judgesOrNot runs the suite against a bad target. If why is not "", it must be the explanation instead of a
// verdict.
func judgesOrNot(t *testing.T, p *target.Profile, why string, may []string, reason string) {
	t.Helper()
	switch why {
	case "":
		judgesBad(t, p, verdict.ExitNonConformant, may, reason)
		return
	case lost:
		judgesBad(t, p, 0, may, reason)
		return
	}
	suitetest.Hurry(&p.Limits)
	res := suitetest.Judge(t, runner.Options{Profile: p})
	unjudged(t, res, why)
}

// unjudged checks the results of a target that does not speak its protocol: exit 3, one line that says why, and no
// clause that passed or failed.
func unjudged(t *testing.T, res *reports.Results, why string) {
	t.Helper()
	if res.Exit != verdict.ExitUnreachable || res.Verdict != verdict.Incomplete {
		t.Errorf("%s, exit %d, want %d", res.Verdict, res.Exit, verdict.ExitUnreachable)
	}
	run := res.Runs[0]
	if env := run.Environment; !strings.Contains(env, why) || strings.Contains(env, "\n") || len(env) > 500 {
		t.Errorf("it says %q, want a line with %q", env, why)
	}
	for _, c := range run.Clauses {
		if c.Outcome != verdict.EnvError && c.Outcome != verdict.NotTested && !c.Excluded && !c.OtherRole {
			t.Errorf("%s is %s", c.ID, c.Outcome)
		}
	}
	for _, sc := range run.Scenarios {
		if sc.Outcome != verdict.EnvError && sc.Outcome != verdict.NotTested || len(sc.Failures) > 0 {
			t.Errorf("%s is %s with %d failures", sc.ID, sc.Outcome, len(sc.Failures))
		}
	}
	suitetest.SameInEveryReport(t, res)
}

// judgesBad runs the suite against a bad target: no clause may pass except those that such a target keeps. Exit 0
// means any exit code that does not declare the target conformant.
func judgesBad(t *testing.T, p *target.Profile, exit int, may []string, reason string) *reports.Results {
	t.Helper()
	suitetest.Hurry(&p.Limits)
	res := suitetest.Judge(t, runner.Options{Profile: p})
	if res.Exit != exit && (exit != 0 ||
		res.Exit != verdict.ExitIncomplete && res.Exit != verdict.ExitNonConformant) {
		t.Errorf("exit %d, want %d (%s)\n%s", res.Exit, exit, reason, suitetest.Console(t, res))
	}
	allowed := map[string]bool{}
	for _, id := range append(reached[p.Protocol], may...) {
		allowed[id] = true
	}
	for _, c := range res.Runs[0].Clauses {
		if c.Outcome == verdict.Passed && c.Level.Binding() && !allowed[c.ID] {
			t.Errorf("%s passed (%s): %s", c.ID, reason, c.Text)
		}
	}
	return res
}
