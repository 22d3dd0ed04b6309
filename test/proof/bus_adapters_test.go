package proof_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reference-server/launch"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// buses are the examples of orchestrators behind a bus of their own, each with an object in the place of the bus, and
// with the real bus. subscribes is where the orchestrator subscribes, and forgets the same without BROADCAST.
var buses = []struct{ folder, tool, file, subscribes, forgets string }{
	{"python-bus", "python3", "program.py", `["SYSTEM", "BROADCAST"], self.on_message`, `["SYSTEM"], self.on_message`},
	{"node-bus", "node", "program.mjs", `['SYSTEM', 'BROADCAST'], (message)`, `['SYSTEM'], (message)`},
}

// judgeBus judges an adapter in a folder of examples, by the scenarios of some tags, or by a sample.
func judgeBus(t *testing.T, examples, folder, profile, tags string) *reports.Results {
	t.Helper()
	name := filepath.Join(examples, "adapters", folder, profile)
	p, err := protocols.Kinds().Load(name)
	if err != nil {
		t.Fatal(err)
	}
	launch.RaiseLimits(&p.Limits)
	o := runner.Options{Profile: p, Tags: tags, AllowIncomplete: true, Again: "parley run --target " + name}
	if tags == "" {
		o = suitetest.OneIn(12, o)
	}
	return suitetest.Judge(t, o)
}

// TestBusAdapters: with either adapter both programs conform.
func TestBusAdapters(t *testing.T) {
	t.Parallel()
	for _, b := range buses {
		for _, profile := range []string{"object.yaml", "bus.yaml"} {
			t.Run(b.folder+"/"+profile, func(t *testing.T) {
				if b.tool == "node" {
					tier.Night(t)
				}
				suitetest.RequireProgram(t, b.tool)
				suitetest.AwaitTurn(t)
				res := judgeBus(t, "examples", b.folder, profile, "")
				passed := res.Runs[0].Totals.Scenarios.ByOutcome[verdict.Passed]
				if passed < 10 || len(suitetest.Broken(res)) > 0 || res.Exit != verdict.ExitConformant {
					t.Errorf("%s\n%s", suitetest.Console(t, res), res.Runs[0].TargetStderr)
				}
			})
		}
	}
}

// TestBusAdaptersSubscribe: an orchestrator that forgets to subscribe to BROADCAST, where agents speak too, is found on
// its real bus. With an object in the place of the bus it receives every message, and nobody can tell.
func TestBusAdaptersSubscribe(t *testing.T) {
	tier.Night(t)
	t.Parallel()
	for _, b := range buses {
		t.Run(b.folder, func(t *testing.T) {
			suitetest.RequireProgram(t, b.tool)
			suitetest.AwaitTurn(t)
			examples := filepath.Join(t.TempDir(), "examples")
			if err := os.CopyFS(examples, os.DirFS("examples")); err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(examples, "adapters", b.folder, b.file)
			text, err := os.ReadFile(program)
			if err != nil || strings.Count(string(text), b.subscribes) != 1 {
				t.Fatalf("%s does not have once: %s (%v)", program, b.subscribes, err)
			}
			text = []byte(strings.Replace(string(text), b.subscribes, b.forgets, 1))
			if err := os.WriteFile(program, text, 0o600); err != nil {
				t.Fatal(err)
			}
			for profile, want := range map[string]verdict.Outcome{"bus.yaml": verdict.Failed, "object.yaml": verdict.Passed} {
				res := judgeBus(t, examples, b.folder, profile, "@RT-042")
				for _, c := range res.Runs[0].Clauses {
					if c.ID == "RT-042" && c.Outcome != want {
						t.Errorf("%s: RT-042 is %s, want %s\n%s", profile, c.Outcome, want, suitetest.Console(t, res))
					}
				}
				if failed := res.Exit == verdict.ExitNonConformant; failed != (want == verdict.Failed) {
					t.Errorf("%s: exit %d\n%s", profile, res.Exit, suitetest.Console(t, res))
				}
			}
		})
	}
}
