package proof_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/simulator/proxy"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// behind lists the targets judged behind a proxy, with the minimum share, in percent, of the mutants breaking a
// passively judged clause that passive judging must find.
var behind = []struct {
	protocol, role string
	least          int
}{
	{"agent-select", "server", 25},
	{"session-chat", "server", 25},
	{"session-runtime", "server", 40},
	{"external-agent", "host", 25},
	{"external-agent", "agent", 60},
	{"agent-client", "client", 10},
}

// proxied are foreign targets of either transport that are judged behind a proxy. The others are judged passively
// without one (TestPassiveOnConforming); at night both with all.
var proxied = []string{"examples/profiles/node.yaml", "examples/profiles/python-chat.yaml",
	"examples/profiles/node-runtime.yaml"}

// TestProxyOnConforming: the suite judges a target behind a proxy as it does without one, and the proxy finds nothing
// in the traffic of the suite. It takes a twelfth of the scenarios, or all at night.
func TestProxyOnConforming(t *testing.T) {
	t.Parallel()
	for _, b := range behind {
		t.Run(b.protocol+"-"+b.role, func(t *testing.T) {
			suitetest.AwaitTurnOn(t, b.protocol)
			conforms(t, suitetest.OneIn(12, suitetest.Bundled(b.protocol, b.role)))
		})
	}
	for _, f := range foreign {
		p, err := protocols.Kinds().Load(f.profile)
		if err != nil {
			t.Fatal(err)
		}
		if f.tool == "" || p.PipesOnly() || p.Role == "relay" {
			continue
		}
		t.Run(f.profile, func(t *testing.T) {
			if !slices.Contains(proxied, f.profile) {
				tier.Night(t)
			}
			suitetest.AwaitTurn(t)
			suitetest.RequireProgram(t, f.tool)
			launch.RaiseLimits(&p.Limits)
			conforms(t, suitetest.OneIn(12, runner.Options{Profile: p}))
		})
	}
}

func conforms(t *testing.T, o runner.Options) {
	t.Helper()
	o, seen := suitetest.Through(t, o)
	res := suitetest.Judge(t, o)
	if res.Exit == verdict.ExitNonConformant || len(res.Runs[0].Scenarios) == 0 {
		t.Errorf("the suite judges otherwise behind the proxy: exit %d\n%s", res.Exit, suitetest.Console(t, res))
	}
	for id, found := range seen.Broken {
		t.Errorf("%s, %d times: %s", id, len(found), found[0])
	}
	if len(seen.Kept) == 0 || seen.Conns == 0 {
		t.Errorf("%d clauses passed on %d connections", len(seen.Kept), seen.Conns)
	}
	t.Logf("%d clauses passed on %d connections", len(seen.Kept), seen.Conns)
}

// TestProxyOnMutants: judging the traffic finds faults, though fewer than the suite finds by acting. It runs a few
// mutants, or all at night, and logs how many each of the two finds.
func TestProxyOnMutants(t *testing.T) {
	tier.Night(t)
	t.Parallel()
	for _, b := range behind {
		t.Run(b.protocol+"-"+b.role, func(t *testing.T) {
			suitetest.AwaitTurnOn(t, b.protocol)
			m := behindProxy(t, b.protocol, b.role)
			t.Logf("%s %s: of %d mutants that break a clause which is judged passively, the suite finds %d, and the proxy %d",
				b.protocol, b.role, m.of, m.active, m.passive)
			if 100*m.passive < b.least*m.of {
				t.Errorf("the proxy finds %d of %d mutants; want %d %%", m.passive, m.of, b.least)
			}
		})
	}
}

// matrix counts mutants.
type matrix struct{ of, active, passive int }

func behindProxy(t *testing.T, protocol, role string) (m matrix) {
	p, err := protocols.All.Find(protocol)
	if err != nil {
		t.Fatal(err)
	}
	roles, err := proxy.RolesOf(p, []string{role})
	if err != nil {
		t.Fatal(err)
	}
	judged := roles[0].Clauses()
	mutants := slices.DeleteFunc(suitetest.Mutants(protocol, role), func(m runner.Mutant) bool {
		return !slices.ContainsFunc(m.Clauses, func(id string) bool { return slices.Contains(judged, id) })
	})
	var mu sync.Mutex
	var wg sync.WaitGroup
	places := make(chan struct{}, 6)
	for _, one := range mutants {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			active, passive, err := bothWays(t, one, protocol, role)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("%s: %v", one.ID, err)
			}
			m.of++
			if active {
				m.active++
			}
			if passive {
				m.passive++
			} else {
				t.Logf("not found: %s %v (%s)", one.ID, one.Clauses, one.Why)
			}
		})
	}
	wg.Wait()
	return m
}

// bothWays reports whether the suite, and the proxy in front of the target, find a mutant by a clause that it breaks.
func bothWays(t *testing.T, m runner.Mutant, protocol, role string) (active, passive bool, err error) {
	brain := llm.New()
	p := suitetest.MutantProfile(protocol, role).Clone()
	p.Limits.Turn.Duration, p.Limits.HTTP.Duration = 2*runner.MutantLimit, 2*runner.MutantLimit
	p.Limits.Scenario.Duration = 4 * runner.MutantLimit
	o, seen := suitetest.Through(t, runner.Options{Profile: p, Role: role, Launcher: m.Launch(brain), Brain: brain,
		Drivers: m.Drivers, Concurrency: 1, Tags: "@" + strings.Join(m.Clauses, " or @"), Again: "parley mutants"})
	res, err := runner.Run(t.Context(), o)
	if err != nil {
		return false, false, err
	}
	for _, c := range res.Runs[0].Clauses {
		active = active || slices.Contains(m.Clauses, c.ID) && (c.Outcome == verdict.Failed || c.Outcome == verdict.Warned)
	}
	return active, seen.Found(m.Clauses...), nil
}
