package parley_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"parley/model"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// TestMutants proves that the suite bites: every mutant is killed by its own clauses while its control scenarios pass,
// and every binding clause that is tested has a mutant. Most mutants wait for what they leave out, so that the matrices go side
// by side; pages are busy, and go alone.
func TestMutants(t *testing.T) {
	for _, protocol := range bundled.Protocols() {
		for _, role := range target.Roles(protocol) {
			t.Run(subjectName(bundled.MutantProfile(protocol, role)), func(t *testing.T) {
				if protocol != "agent-client" {
					t.Parallel()
				}
				proves(t, protocol, role)
			})
		}
	}
}

// covering are mutants enough to have every clause that all of them prove, picked greedily.
func covering(all []runner.Mutant) (out []runner.Mutant) {
	open := map[string]bool{}
	for _, m := range all {
		for _, id := range m.Clauses {
			open[id] = true
		}
	}
	gain := func(m runner.Mutant) (n int) {
		for _, id := range m.Clauses {
			if open[id] {
				n++
			}
		}
		return n
	}
	for len(open) > 0 {
		best := slices.MaxFunc(all, func(a, b runner.Mutant) int { return gain(a) - gain(b) })
		for _, id := range best.Clauses {
			delete(open, id)
		}
		out = append(out, best)
	}
	return out
}

func proves(t *testing.T, protocol, role string) {
	mutants := bundled.Mutants(protocol, role)
	if protocol == "agent-client" && os.Getenv("PARLEY_MUTANTS") != "all" { // pages take minutes: make mutants runs them all
		mutants = covering(mutants)
	}
	k, err := runner.Mutants(context.Background(), runner.MutantOptions{Protocol: protocol, Role: role,
		Profile: bundled.MutantProfile(protocol, role), Mutants: mutants, Concurrency: 8})
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
	if len(k.Unproved) > 0 {
		t.Errorf("no mutant proves that these clauses bite: %v", k.Unproved)
	}
	t.Logf("%d mutants, %d clauses proved, %.0f ms", len(k.Mutants), len(k.Clauses), k.Duration)
}

// TestAnswersToTheMessageBefore guards against scenarios that pass by accident: this server is correct in everything
// but answers each message with the answer to the one before it.
func TestAnswersToTheMessageBefore(t *testing.T) {
	brain := model.New()
	p := bundled.For("agent-select", "").Profile
	res, err := runner.Run(context.Background(), runner.Options{Profile: p, Launcher: bundled.Delayed(brain), Brain: brain, Again: "parley run"})
	if err != nil {
		t.Fatal(err)
	}
	if res.Exit != verdict.ExitNonConformant {
		t.Fatalf("exit %d, want %d\n%s", res.Exit, verdict.ExitNonConformant, console(t, res))
	}
	for _, sc := range res.Runs[0].Scenarios {
		if sc.Outcome == verdict.Passed && needsAnswer(sc.Tags) {
			t.Errorf("%s %s %q passed, though no switch was answered by its own answer", sc.Driver, sc.ID, sc.Name)
		}
	}
}

// needsAnswer tells whether a scenario rests on the answer to a message; connecting and sessions do not.
func needsAnswer(tags []string) bool {
	for _, t := range tags {
		switch t {
		case "@connect", "@preflight-2", "@AS-098", "@AS-099":
			return false
		}
	}
	return true
}
