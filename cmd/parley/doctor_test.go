package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features"
	"parley/protocol/agentselect"
	"parley/protocol/externalagent"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/target"
)

func newTestAudit(t *testing.T, protocol, role string, change func(*target.Profile)) *audit {
	t.Helper()
	p, err := target.ForURLOf(protocol, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	p.Role = role
	change(p)
	b, err := openBook(p.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := runner.Steps(features.FS, p.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	return newAudit(p, b, steps)
}

func missingItems(p *target.Profile) []item {
	return slices.DeleteFunc(slices.Clone(checkups[p.Protocol][p.Role].items), func(it item) bool { return it.declared(p) })
}

// eachCheckup runs a test for each of the doctor's checkups.
func eachCheckup(t *testing.T, test func(t *testing.T, protocol, role string, c checkup)) {
	for protocol, roles := range checkups {
		for role, c := range roles {
			t.Run(titled(protocol, role), func(t *testing.T) { test(t, protocol, role, c) })
		}
	}
}

// TestItemsAreNeeded holds that the patterns still match the words of the features.
func TestItemsAreNeeded(t *testing.T) {
	unused := []string{"restart of agent-select", "provoke.running_turn", target.SessionList + " of agent-select", target.Health}
	eachCheckup(t, func(t *testing.T, protocol, role string, c checkup) {
		a := newTestAudit(t, protocol, role, func(*target.Profile) {})
		for _, it := range c.items {
			n := a.scenariosWithout(it)
			if (n == 0) != (slices.Contains(unused, it.key) || slices.Contains(unused, it.key+" of "+protocol)) {
				t.Errorf("%s: %d scenarios need it", it.key, n)
			}
			for _, key := range it.after {
				if !slices.ContainsFunc(c.items, func(other item) bool { return other.key == key }) {
					t.Errorf("%s comes after %s, which is no item", it.key, key)
				}
			}
		}
	})
}

// TestItemsHaveScenarios holds that each tag is one of the doctor's feature, and the other way round.
func TestItemsHaveScenarios(t *testing.T) {
	eachCheckup(t, func(t *testing.T, protocol, role string, c checkup) {
		d, err := newExam(&subject{profile: newTestAudit(t, protocol, role, func(*target.Profile) {}).profile}, &streams{})
		if err != nil {
			t.Fatal(err)
		}
		found, stages := map[string]int{}, map[int]int{}
		for _, p := range d.plan {
			if !inRole(protocol, role, p) {
				continue
			}
			stages[p.Stage]++
			for _, tag := range p.Tags {
				if strings.HasPrefix(tag, "@doctor-") {
					found[tag]++
				}
			}
		}
		for _, it := range c.items {
			if it.tag != "" && found[it.tag] != 1 {
				t.Errorf("%s: %d scenarios have the tag %s", it.key, found[it.tag], it.tag)
			}
			delete(found, it.tag)
		}
		for tag := range found {
			t.Errorf("no item has the tag %s", tag)
		}
		for stage := 1; stage <= 3; stage++ {
			if c.look[stage] == "" || stages[stage] != 1 {
				t.Errorf("stage %d has %d scenarios, and look at %q", stage, stages[stage], c.look[stage])
			}
		}
	})
}

// TestLent: a target that is lent to a run offers what only some targets can.
func TestLent(t *testing.T) {
	for _, role := range target.Roles(externalagent.Protocol) {
		running, err := bundled.For(externalagent.Protocol, role).Launcher.Launch(t.Context(), target.LaunchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer within(time.Second, running.Stop)
		var missing *target.NotDeclaredError
		k := kept{running}
		if _, err := k.LogFolder(); (err == nil) != (role != externalagent.Agent) {
			t.Errorf("%s: logs: %v", role, err)
		}
		if err := k.Say(t.Context(), "none", "hello"); errors.As(err, &missing) != (role != externalagent.Host) {
			t.Errorf("%s: user-says: %v", role, err)
		}
		called, err := k.Call(t.Context(), target.CallOptions{URL: "ws://127.0.0.1:1"})
		if (err == nil) != (role == externalagent.Agent) {
			t.Errorf("%s: call: %v", role, err)
		}
		if err == nil {
			within(time.Second, called.Stop)
		}
	}
}

func TestLosses(t *testing.T) {
	everything := func(p *target.Profile) {
		p.Model = &target.Model{Hook: "true"}
		p.Tools = target.Tools{Confirm: &target.Tool{Name: "a"}, Ask: &target.Tool{Name: "b"}}
		p.Agents.File = "agents.toml"
		p.Agents.Custom = []target.CustomAgent{{ID: "poet", Prompt: "POET", Tools: []string{"a"}}}
		p.Hooks = target.Hooks{AddAgent: "true", ChangeAgent: "true", RemoveAgent: "true"}
		p.Capabilities = target.Capabilities(p.Protocol)
		p.Drivers = []string{target.SSE, target.WS}
	}
	for _, tt := range []struct {
		name   string
		change func(*target.Profile)
		lost   string // a clause that is lost; "" for none at all
		kept   string
	}{
		{"everything is declared", func(*target.Profile) {}, "", "AS-068"},
		{"no model", func(p *target.Profile) { p.Model = nil }, "AS-068", "AS-042"},
		{"no model, but a turn can be provoked", func(p *target.Profile) {
			p.Model, p.Provoke.RunningTurn = nil, "Count to a thousand."
		}, "AS-047", "AS-068"},
		{"no prompt marker", func(p *target.Profile) { p.Agents.Custom[0].Prompt = "" }, "AS-047", "AS-046"},
		{"no hook", func(p *target.Profile) { p.Hooks = target.Hooks{} }, "AS-026", "AS-025"},
		{"no file", func(p *target.Profile) { p.Agents.File = "" }, "AS-025", "AS-026"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newTestAudit(t, agentselect.Protocol, target.Server, func(p *target.Profile) { everything(p); tt.change(p) })
			var lost []string
			for _, l := range a.losses(missingItems(a.profile)) {
				lost = append(lost, l.clauses...)
			}
			if tt.lost == "" && len(lost) > 0 || tt.lost != "" && !slices.Contains(lost, tt.lost) || slices.Contains(lost, tt.kept) {
				t.Errorf("lost %v; want %q among them, and not %q", lost, tt.lost, tt.kept)
			}
		})
	}
}
