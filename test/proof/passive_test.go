package proof_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	"parley/runner"
	"parley/steps"
	"parley/steps/monitor"
	"parley/steps/protocols"
	"parley/test/suitetest"
	"parley/transport/transcript"
)

// passively lists the protocols with passive monitors.
var passively = []string{"session-chat", "session-runtime", "external-agent", "agent-select",
	"agent-client"}

// alone is a protocol whose transcripts are judged only by passive monitors.
type alone struct {
	steps.Protocol

	mu     sync.Mutex
	kept   map[string]bool
	broken map[string][]string // clause → findings
}

func byPassive(t *testing.T, protocol string) *alone {
	t.Helper()
	p, err := protocols.All.Find(protocol)
	if err != nil {
		t.Fatal(err)
	}
	return &alone{Protocol: p, kept: map[string]bool{}, broken: map[string][]string{}}
}

// Monitors implements steps.Protocol.
func (a *alone) Monitors() []monitor.Monitor {
	all := slices.Clone(steps.PassiveMonitors(a.Protocol))
	for i, m := range all {
		all[i].Check = func(records []transcript.Record) []verdict.Finding {
			a.note(m, m.Check(records), records)
			return nil
		}
	}
	return all
}

func (a *alone) note(m monitor.Monitor, found []verdict.Finding, records []transcript.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range found {
		for _, id := range f.Clauses {
			if f.OK {
				a.kept[id] = true
				continue
			}
			var lines []string
			for _, r := range records {
				lines = append(lines, r.Line(160))
			}
			a.broken[id] = append(a.broken[id], fmt.Sprintf("%s: record %d: want %s, got %s\n%s", m.Name, f.At, f.Expected,
				f.Observed, strings.Join(lines[:min(len(lines), 60)], "\n")))
		}
	}
}

func (a *alone) run(t *testing.T, o runner.Options) {
	t.Helper()
	o.Protocols = steps.NewProtocols(protocols.All.Version, a)
	if _, err := runner.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
}

// TestPassiveOnConforming: passive monitors find nothing in what the suite causes on targets that conform, and every
// clause that they judge is shown to hold there. By default it takes a sample of the scenarios, and expects a part of
// the clauses.
func TestPassiveOnConforming(t *testing.T) {
	t.Parallel()
	for _, protocol := range passively {
		t.Run(protocol, func(t *testing.T) {
			if protocol == "agent-client" {
				tier.Night(t)
			}
			suitetest.AwaitTurnOn(t, protocol)
			a := byPassive(t, protocol)
			for _, role := range rolesOf(protocol) {
				a.run(t, suitetest.OneIn(12, suitetest.Bundled(protocol, role)))
			}
			a.objects(t)
			a.showsAll(t)
		})
	}
	for _, f := range foreign {
		p, err := protocols.Kinds().Load(f.profile)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(passively, p.Protocol) {
			continue
		}
		t.Run(f.profile, func(t *testing.T) {
			tier.Night(t)
			suitetest.AwaitTurn(t)
			if f.tool != "" { // else it is a page
				suitetest.RequireProgram(t, f.tool)
			}
			a := byPassive(t, p.Protocol)
			a.run(t, suitetest.OneIn(24, runner.Options{Profile: p, Again: "parley run"}))
			a.objects(t)
		})
	}
}

// showsAll checks that each clause that is judged passively was shown to hold, or half of them if only a sample of the
// scenarios ran.
func (a *alone) showsAll(t *testing.T) {
	t.Helper()
	of, missing := map[string]bool{}, map[string]bool{}
	for _, m := range steps.PassiveMonitors(a.Protocol) {
		for _, id := range m.Clauses {
			if of[id] = true; !a.kept[id] {
				missing[id] = true
			}
		}
	}
	t.Logf("%d of %d clauses are shown to hold", len(of)-len(missing), len(of))
	if tier.All() && len(missing) > 0 || 2*len(missing) > len(of) {
		t.Errorf("nothing that the suite causes shows that %v hold", slices.Sorted(maps.Keys(missing)))
	}
}

// exploring is such a protocol whose random sequences are run.
type exploring struct {
	*alone
	steps.Explorer
}

// TestPassiveOnExplored: passive monitors find nothing in random sequences on conforming targets.
func TestPassiveOnExplored(t *testing.T) {
	t.Parallel()
	for _, protocol := range passively {
		a := byPassive(t, protocol)
		ex, ok := a.Protocol.(steps.Explorer)
		if !ok {
			continue
		}
		t.Run(protocol, func(t *testing.T) {
			suitetest.AwaitTurn(t)
			o := suitetest.Bundled(protocol, "")
			o.Protocols, o.Explore, o.Tags = steps.NewProtocols(protocols.All.Version, exploring{a, ex}), 3, "@explored"
			if tier.All() {
				o.Explore = 30
			}
			if _, err := runner.Run(context.Background(), o); err != nil {
				t.Fatal(err)
			}
			a.objects(t)
		})
	}
}

func (a *alone) objects(t *testing.T) {
	t.Helper()
	for id, found := range a.broken {
		t.Errorf("%s, %d times: %s", id, len(found), found[0])
	}
	if len(a.kept) == 0 {
		t.Error("the monitors judged nothing")
	}
}

// TestPassiveOnMutants: passive monitors find faults.
func TestPassiveOnMutants(t *testing.T) {
	tier.Night(t)
	t.Parallel()
	for _, protocol := range passively {
		t.Run(protocol, func(t *testing.T) {
			suitetest.AwaitTurnOn(t, protocol)
			found, of := caught(t, protocol)
			t.Logf("%s: passive monitors find %d of %d mutants", protocol, found, of)
			least := of / 3
			if protocol == "agent-client" { // most show only in a user's next act, and the suite's user seldom has one
				least = of / 6
			}
			if least = max(least, 1); found < least {
				t.Errorf("passive monitors find %d of %d mutants; want %d", found, of, least)
			}
		})
	}
}

func caught(t *testing.T, protocol string) (found, of int) {
	var mutants []inRole
	for _, role := range rolesOf(protocol) {
		judged := map[string]bool{}
		for _, m := range steps.PassiveMonitors(byPassive(t, protocol).Protocol) {
			for _, id := range m.Clauses {
				judged[id] = judged[id] || m.For(role)
			}
		}
		for _, m := range suitetest.Mutants(protocol, role) {
			if slices.ContainsFunc(m.Clauses, func(id string) bool { return judged[id] }) {
				mutants = append(mutants, inRole{m, role})
			}
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	atOnce := 8
	if protocol == "agent-client" { // pages need the processor
		atOnce = 4
	}
	places := make(chan struct{}, atOnce)
	for _, m := range mutants {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			a := byPassive(t, protocol)
			a.run(t, mutated(m, protocol))
			mu.Lock()
			defer mu.Unlock()
			if slices.ContainsFunc(m.Clauses, func(id string) bool { return len(a.broken[id]) > 0 }) {
				found++
			} else {
				t.Logf("not found: %s %v (%s)", m.ID, m.Clauses, m.Why)
			}
		})
	}
	wg.Wait()
	return found, len(mutants)
}

// inRole is a mutant of a target in a role.
type inRole struct {
	runner.Mutant
	role string
}

// rolesOf returns the roles of a protocol's targets, or "" for the only one.
func rolesOf(protocol string) []string {
	if roles := protocols.All.Roles(protocol); len(roles) > 0 {
		return roles
	}
	return []string{""}
}

// mutated returns the options of a mutant's run: the scenarios of its clauses.
func mutated(m inRole, protocol string) runner.Options {
	brain := llm.New()
	p := suitetest.MutantProfile(protocol, m.role).Clone()
	p.Limits.Event.Duration = 2 * time.Second
	p.Limits.Turn.Duration, p.Limits.HTTP.Duration = 4*time.Second, 4*time.Second
	p.Limits.Scenario.Duration = 8 * time.Second
	own := "@" + strings.Join(m.Clauses, " or @")
	if protocol == "agent-client" && m.Control != "" { // only a monitor judges AC-015, which no scenario names
		own += " or " + m.Control
	}
	return runner.Options{Profile: p, Launcher: m.Launch(brain), Brain: brain, Drivers: m.Drivers, Concurrency: 1,
		Tags: own, Again: "parley mutants"}
}
