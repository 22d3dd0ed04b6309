package proof_test

import (
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/runner"
	"parley/target"
	"parley/test/suitetest"
)

// TestExplore checks that random sequences find nothing in the bundled server.
func TestExplore(t *testing.T) {
	suitetest.AwaitTurn(t)
	o := suitetest.Bundled("session-chat", "")
	o.Explore, o.Seed, o.Tags, o.AllowIncomplete = 100, 1, "@explored", true
	res := suitetest.Judge(t, o)
	if res.Exit != verdict.ExitConformant {
		t.Errorf("verdict %s\n%s", res.Verdict, suitetest.Console(t, res))
	}
	explored := 0
	for _, sc := range res.Runs[0].Scenarios {
		if strings.Contains(sc.ID, "explored") && sc.Outcome == verdict.Passed {
			explored++
		}
	}
	if explored != 100 {
		t.Errorf("%d sequences passed, want 100", explored)
	}
}

// TestExploreFinds checks that a fault that needs two sessions is found and reported with the shortest sequence that
// shows it.
func TestExploreFinds(t *testing.T) {
	tier.Night(t)
	suitetest.AwaitTurn(t)
	b := suitetest.BundledTarget("session-chat", "")
	p := suitetest.MutantProfile("session-chat", "")
	res := suitetest.Judge(t,
		runner.Options{Profile: p, Launcher: suitetest.Mutant(t, p.Protocol, "leaks-when-switching").Launch(b.Brain),
			Brain:   b.Brain,
			Explore: 100, Seed: 1, Shrinking: 5 * time.Minute, Tags: "@explored"})
	if res.Exit != verdict.ExitNonConformant {
		t.Fatalf("exit %d\n%s", res.Exit, suitetest.Console(t, res))
	}
	var told string
	for _, n := range res.Runs[0].Notes {
		if n.Kind == "explored" {
			told = n.Text
		}
	}
	_, scenario, found := strings.Cut(told, "Scenario: ")
	lines := strings.Split(strings.TrimSpace(scenario), "\n")[1:]
	if !found || len(lines) > 6 || !strings.Contains(scenario, "every session continues with its own id and history") {
		t.Errorf("want a scenario of few lines, got:\n%s", told)
	}
	for _, c := range res.Runs[0].Clauses {
		if c.ID == "SC-027" && c.Outcome != verdict.Failed {
			t.Errorf("SC-027 is %s", c.Outcome)
		}
	}
}

// TestExploreRuntime checks that random sequences find nothing in the bundled orchestrator.
func TestExploreRuntime(t *testing.T) {
	tier.Night(t)
	suitetest.AwaitTurn(t)
	const sequences = 200
	o := suitetest.Bundled("session-runtime", "")
	o.Explore, o.Seed, o.Tags, o.AllowIncomplete, o.Drivers = sequences, 1, "@explored", true, []string{target.WS}
	res := suitetest.Judge(t, o)
	passed := 0
	for _, sc := range res.Runs[0].Scenarios {
		if strings.Contains(sc.ID, "explored") && sc.Outcome == verdict.Passed {
			passed++
		}
	}
	if res.Exit != verdict.ExitConformant || passed != sequences {
		t.Errorf("%d sequences passed, want %d\n%s", passed, sequences, suitetest.Console(t, res))
	}
}

// TestExploreRuntimeFinds checks that a fault is found and reported with the shortest sequence that shows it.
func TestExploreRuntimeFinds(t *testing.T) {
	suitetest.AwaitTurn(t)
	res := suitetest.Judge(t,
		runner.Options{Profile: suitetest.MutantProfile("session-runtime", ""),
			Launcher: suitetest.Mutant(t, "session-runtime", "accepted-told-twice").Launch(nil),
			Drivers:  []string{target.WS}, Explore: 100, Seed: 1, Shrinking: 5 * time.Minute, Tags: "@explored"})
	var told string
	for _, n := range res.Runs[0].Notes {
		if n.Kind == "explored" {
			told = n.Text
		}
	}
	_, scenario, found := strings.Cut(told, "Scenario: ")
	lines := strings.Split(strings.TrimSpace(scenario), "\n")[1:]
	if res.Exit != verdict.ExitNonConformant || !found || len(lines) > 5 || !strings.Contains(told, "@RT-076") {
		t.Errorf("exit %d; want a scenario of few lines, got:\n%s", res.Exit, told)
	}
}
