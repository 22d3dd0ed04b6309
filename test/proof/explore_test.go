package proof_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/tier"
	vocab "parley/protocol/externalagent"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

// TestExplore checks that random sequences find nothing in the bundled servers.
func TestExplore(t *testing.T) {
	for protocol, drivers := range map[string][]string{"session-chat": nil, "agent-select": {target.SSE}} {
		t.Run(protocol, func(t *testing.T) { exploresBundled(t, protocol, drivers) })
	}
}

func exploresBundled(t *testing.T, protocol string, drivers []string) {
	suitetest.AwaitTurn(t)
	o := suitetest.Bundled(protocol, "")
	o.Explore, o.Seed, o.Tags, o.AllowIncomplete, o.Drivers = 100, 1, "@explored", true, drivers
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

// TestExploreConforming: no random sequence breaks a clause of the bundled page, which is judged by what it shows.
func TestExploreConforming(t *testing.T) {
	suitetest.AwaitTurnOn(t, "agent-client")
	o := suitetest.Bundled("agent-client", "")
	o.Explore, o.Seed, o.Tags, o.AllowIncomplete = 4, 1, "@explored", true
	if res := suitetest.Judge(t, o); res.Exit != verdict.ExitConformant {
		t.Errorf("exit %d\n%s", res.Exit, suitetest.Console(t, res))
	}
}

// TestExploreHunts checks that random sequences find most of the mutants of each protocol and role, each within half a
// minute: of every few of them one is hunted.
func TestExploreHunts(t *testing.T) {
	tier.Night(t)
	for _, hunt := range []struct {
		protocol, role string
		nth            int // of the mutants each is hunted
	}{
		{"agent-select", "", 8}, {"session-chat", "", 8}, {"session-runtime", "", 12}, {"external-agent", vocab.Host, 20},
		{"external-agent", vocab.Relay, 10}, {"external-agent", vocab.Agent, 9}, {"agent-client", "", 8},
	} {
		t.Run(strings.TrimSpace(hunt.protocol+" "+hunt.role), func(t *testing.T) {
			suitetest.AwaitTurnOn(t, hunt.protocol)
			found, of := 0, 0
			for i, m := range suitetest.Mutants(hunt.protocol, hunt.role) {
				if i%hunt.nth != 0 {
					continue
				}
				if of++; finds(t, hunt.protocol, hunt.role, m) {
					found++
				} else {
					t.Logf("not found: %s %v (%s)", m.ID, m.Clauses, m.Why)
				}
			}
			t.Logf("random sequences find %d of %d mutants", found, of)
			if found*100 < of*60 {
				t.Errorf("random sequences find %d of %d mutants; want 60 %%", found, of)
			}
		})
	}
}

// finds reports whether random sequences find a mutant within half a minute.
func finds(t *testing.T, protocol, role string, m runner.Mutant) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, p := suitetest.BundledTarget(protocol, role), suitetest.MutantProfile(protocol, role)
	res, err := runner.Run(ctx, runner.Options{Protocols: protocols.All, Profile: p, Role: role, Brain: b.Brain,
		Launcher: m.Launch(b.Brain), Drivers: p.Drivers[:1], Explore: 100, Seed: 1, Shrinking: time.Nanosecond,
		Tags: "@explored"})
	if err != nil {
		t.Errorf("%s: %v", m.ID, err)
		return false
	}
	return len(suitetest.Broken(res)) > 0
}
