package proof_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	"parley/reference-server/bundled"
	"parley/reference-server/catalogue"
	"parley/reports"
	"parley/runner"
	"parley/simulator/load"
	"parley/steps"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
	"parley/transport/driver"
)

// crowd is a number of sessions that no table of catalogue.Places holds.
const crowd = catalogue.Places + 32

// subject is a role of a protocol whose bundled server has faults that only a load shows.
type subject struct{ protocol, role string }

// loaded calls f with each subject, but all that are not named byDay at night only.
func loaded(t *testing.T, byDay string, f func(t *testing.T, s subject, mutants []catalogue.Mutant)) {
	found := 0
	for _, protocol := range bundled.All.Protocols() {
		for _, role := range protocols.All.Roles(protocol) {
			if all := bundled.All.LoadMutants(protocol, role); len(all) > 0 {
				found++
				name := protocol + " " + role
				t.Run(name, func(t *testing.T) {
					if name != byDay {
						tier.Night(t)
					}
					suitetest.AwaitTurn(t)
					f(t, subject{protocol, role}, all)
				})
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d roles have such faults", found)
	}
}

// underLoad puts a bundled server, with a fault or "", under a load in which each session acts three times.
func underLoad(t *testing.T, s subject, fault, driver string) *reports.Results {
	t.Helper()
	sub := bundled.All.Separate(protocols.Kinds(), s.protocol, s.role, fault, 2*crowd)
	const acts = 3
	timeout := time.Minute // passes only if something is broken
	if fault != "" {
		timeout = 20 * time.Second
	}
	o := load.Options{Protocols: protocols.All, Profile: sub.Profile, Launcher: sub.Launcher, Brain: sub.Brain,
		Driver: driver, Sessions: crowd, Duration: 2 * time.Second, Rate: float64(acts*crowd) / 2, Opening: 800,
		Timeout: timeout, Salt: "test"}
	res, err := load.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// brokenUnderLoad returns the clauses that a load found broken.
func brokenUnderLoad(res *reports.Results) (out []string) {
	for _, c := range res.Runs[0].Clauses {
		if c.Outcome == verdict.Failed {
			out = append(out, c.ID)
		}
	}
	return out
}

// TestLoadConforms shows that the bundled servers break nothing under the load that finds their mutants, and that the
// sessions have judged what they can judge.
func TestLoadConforms(t *testing.T) {
	loaded(t, "external-agent host", func(t *testing.T, s subject, _ []catalogue.Mutant) {
		kind, _ := protocols.Kinds().Find(s.protocol)
		drivers := kind.Drivers[:1]
		if tier.All() {
			drivers = slices.DeleteFunc(slices.Clone(kind.Drivers), func(d string) bool {
				return d != target.SSE && d != target.WS
			})
		}
		for _, driver := range drivers {
			res := underLoad(t, s, "", driver)
			if l := res.Load; l.Opened != crowd || l.All.Failed > 0 || l.Unfinished > 0 || l.Unjudged > 0 ||
				int(l.Lives) < crowd || res.Exit != verdict.ExitConformant {
				t.Errorf("over %s, exit %d: %+v", driver, res.Exit, *l)
			}
			if broken := brokenUnderLoad(res); len(broken) > 0 {
				t.Errorf("over %s it breaks %v: %+v", driver, broken, res.Runs[0].Scenarios[0].Failures)
			}
			judges(t, s, res)
		}
	})
}

// judges checks that the sessions' own clauses were judged, but for those that only a finding shows.
func judges(t *testing.T, s subject, res *reports.Results) {
	t.Helper()
	p, err := protocols.All.Find(s.protocol)
	if err != nil {
		t.Fatal(err)
	}
	env := &steps.Env{Profile: bundled.All.For(protocols.Kinds(), s.protocol, s.role).Profile, Role: s.role,
		Driver: named{name: res.Load.Driver}, Brain: llm.New()}
	for _, id := range p.(steps.Loadable).Load(env, "http://127.0.0.1:1").Judges.Clauses {
		for _, c := range res.Runs[0].Clauses {
			if c.ID == id && c.Outcome != verdict.Passed {
				t.Errorf("%s is %s: %s", id, c.Outcome, c.Reason)
			}
		}
	}
}

// TestLoadMutants shows that a load finds faults that the suite does not find. It tries one mutant of every other
// role, or all at night. Only the latter checks that the suite does not find them.
func TestLoadMutants(t *testing.T) {
	loaded(t, "agent-select server", func(t *testing.T, s subject, mutants []catalogue.Mutant) {
		if len(mutants) < 6 {
			t.Errorf("only %d mutants that only a load finds", len(mutants))
		}
		p, err := protocols.All.Find(s.protocol)
		if err != nil {
			t.Fatal(err)
		}
		ledger, err := steps.LedgerOf(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutants {
			for _, id := range m.Clauses {
				if c, known := ledger.Row(id); !known || !c.Tested() {
					t.Errorf("%s breaks %s, which is not tested", m.ID, id)
				}
			}
			if m.Why == "" || len(m.Clauses) == 0 || m.Shows != "" && m.Shows != "errors" {
				t.Errorf("%s: clauses %v, shows %q, why %q", m.ID, m.Clauses, m.Shows, m.Why)
			}
		}
		if !tier.All() {
			mutants = mutants[:1]
		}
		for _, m := range mutants {
			t.Run(m.ID, func(t *testing.T) { loadFinds(t, s, m) })
		}
	})
}

func loadFinds(t *testing.T, s subject, m catalogue.Mutant) {
	driver := ""
	if len(m.Transports) > 0 {
		driver = m.Transports[0]
	}
	res := underLoad(t, s, m.ID, driver)
	broken := brokenUnderLoad(res)
	if m.Shows == "errors" {
		if res.Load.All.Failed+res.Load.Unfinished == 0 || res.Exit != verdict.ExitNonConformant {
			t.Errorf("no act has failed, exit %d: %+v", res.Exit, res.Load.All)
		}
	} else if !slices.ContainsFunc(m.Clauses, func(id string) bool { return slices.Contains(broken, id) }) {
		t.Errorf("none of %v is broken, but %v; %+v", m.Clauses, broken, res.Load)
	}
	if tier.All() {
		suiteMisses(t, s, m)
	}
}

// suiteMisses runs the suite against a mutant, and fails if that finds anything.
func suiteMisses(t *testing.T, s subject, m catalogue.Mutant) {
	t.Helper()
	sub := bundled.All.With(protocols.Kinds(), s.protocol, s.role, m.ID)
	p := suitetest.MutantProfile(s.protocol, s.role)
	run := cut(t, runner.Options{Profile: p, Launcher: sub.Launcher, Brain: sub.Brain, Drivers: p.Drivers[:1]})
	var found []string
	for _, sc := range run.Scenarios {
		if sc.Outcome == verdict.Failed {
			found = append(found, fmt.Sprintf("%s: %s", sc.ID, sc.Reason))
		}
	}
	if len(found) > 0 {
		t.Errorf("the suite finds it too:\n%s", strings.Join(found, "\n"))
	}
}

// named is a driver of which only the name is used.
type named struct {
	driver.Driver
	name string
}

// Name implements driver.Driver.
func (n named) Name() string { return n.name }
