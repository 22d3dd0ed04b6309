package proof_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// TestMutants proves that the suite finds faults: every mutant is killed by its own clauses while its control
// scenarios pass, and every tested binding clause has a mutant. It runs enough mutants to cover each clause once, each
// with one of its control scenarios, or all of both at night. Most mutants only cause waits, so the matrices run in
// parallel. Pages need the processor: fewer of them run at once, and but at night a quarter of them, without control
// scenarios; the matrix that package bundled keeps of the same sources says that the others are killed.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, protocol := range bundled.All.Protocols() {
		for _, role := range protocols.All.Roles(protocol) {
			t.Run(suitetest.Name(suitetest.MutantProfile(protocol, role)), func(t *testing.T) {
				if protocol == "agent-client" {
					suitetest.InBrowser(t)
				} else {
					t.Parallel()
				}
				proves(t, protocol, role)
			})
		}
	}
}

func proves(t *testing.T, protocol, role string) {
	all := suitetest.Mutants(protocol, role)
	mutants := all
	if !tier.All() {
		mutants = runner.CoverClauses(all)
	}
	atOnce, sampled := 16, false
	if protocol == "agent-client" {
		atOnce, sampled = 4, !tier.All()
	}
	if sampled {
		var some []runner.Mutant
		for i := 0; i < len(mutants); i += 4 {
			if hasScenarios(t, protocol, mutants[i]) {
				mutants[i].Control = ""
			}
			some = append(some, mutants[i])
		}
		mutants = some
	}
	k, err := runner.Mutants(context.Background(),
		runner.MutantOptions{Protocols: protocols.All, Protocol: protocol, Role: role,
			Profile: suitetest.MutantProfile(protocol, role), Mutants: mutants, Concurrency: atOnce,
			OneControl: !tier.All(), ScenarioDone: func(id string, sc reports.Scenario) {
				suitetest.CheckJudges(t, protocol, sc)
			}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range k.Mutants {
		if m.Error != "" {
			t.Errorf("%s could not be run: %s", m.ID, m.Error)
		}
		for id, how := range m.Clauses {
			if how != "killed" {
				t.Errorf("%s (%s) was not killed by %s: %s", m.ID, m.Why, id, how)
			}
		}
		if len(m.Control) > 0 {
			t.Errorf("%s broke its control scenarios, so it proves nothing:\n  %s", m.ID, strings.Join(m.Control, "\n  "))
		}
	}
	t.Logf("%d of %d mutants, %d clauses proved, %.0f ms", len(k.Mutants), len(all), len(k.Clauses), k.Duration)
	if sampled {
		return
	}
	if len(k.Unproved) > 0 {
		t.Errorf("no mutant proves that these clauses bite: %v", k.Unproved)
	}
	for _, m := range all {
		for _, id := range m.Clauses {
			if len(k.Clauses[id]) == 0 {
				t.Errorf("%s is broken by %s, and none of the mutants that were run proves it", id, m.ID)
			}
		}
	}
}

// hasScenarios reports whether a scenario judges what a mutant proves. Otherwise a monitor does, in its control
// scenarios.
func hasScenarios(t *testing.T, protocol string, m runner.Mutant) bool {
	t.Helper()
	p, err := protocols.All.Find(protocol)
	if err != nil {
		t.Fatal(err)
	}
	all, err := runner.Scenarios(p.Features(), p)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(pl runner.Planned) bool {
		return slices.ContainsFunc(m.Proves, func(id string) bool { return slices.Contains(pl.Clauses, id) })
	})
}

// TestAnswersToTheMessageBefore guards against scenarios that pass by accident: this server is correct, except that
// it answers each message with the answer to the previous one.
func TestAnswersToTheMessageBefore(t *testing.T) {
	suitetest.AwaitTurn(t)
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Limits.Event.Duration = time.Second // nearly every scenario waits for an event, and none may pass
	res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: bundle.Delayed(brain), Brain: brain})
	if res.Exit != verdict.ExitNonConformant {
		t.Fatalf("exit %d, want %d\n%s", res.Exit, verdict.ExitNonConformant, suitetest.Console(t, res))
	}
	for _, sc := range res.Runs[0].Scenarios {
		if sc.Outcome == verdict.Passed && needsAnswer(sc.Tags) {
			t.Errorf("%s %s %q passed, though no switch was answered by its own answer", sc.Driver, sc.ID, sc.Name)
		}
	}
}

// needsAnswer reports whether a scenario depends on the answer to a message; connecting and sessions do not.
func needsAnswer(tags []string) bool {
	for _, t := range tags {
		switch t {
		case "@connect", "@preflight-2", "@AS-098", "@AS-099":
			return false
		}
	}
	return true
}
