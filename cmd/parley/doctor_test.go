package main

import (
	"slices"
	"strings"
	"testing"

	"parley/features"
	"parley/protocol/agentselect"
	"parley/runner"
	"parley/target"
)

func newTestAudit(t *testing.T, protocol string, change func(*target.Profile)) *audit {
	t.Helper()
	p, err := target.ForURLOf(protocol, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
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
	return slices.DeleteFunc(slices.Clone(checkups[p.Protocol].items), func(it item) bool { return it.declared(p) })
}

// TestItemsAreNeeded holds that the patterns still match the words of the features.
func TestItemsAreNeeded(t *testing.T) {
	unused := []string{"restart of agent-select", "provoke.running_turn", target.SessionList, target.SessionDelete, target.Health}
	for protocol, c := range checkups {
		a := newTestAudit(t, protocol, func(*target.Profile) {})
		for _, it := range c.items {
			n := a.scenariosWithout(it)
			if (n == 0) != (slices.Contains(unused, it.key) || slices.Contains(unused, it.key+" of "+protocol)) {
				t.Errorf("%s, %s: %d scenarios need it", protocol, it.key, n)
			}
			for _, key := range it.after {
				if !slices.ContainsFunc(c.items, func(other item) bool { return other.key == key }) {
					t.Errorf("%s, %s comes after %s, which is no item", protocol, it.key, key)
				}
			}
		}
	}
}

// TestItemsHaveScenarios holds that each tag is one of the doctor's feature, and the other way round.
func TestItemsHaveScenarios(t *testing.T) {
	for protocol, c := range checkups {
		d, err := newExam(&subject{profile: newTestAudit(t, protocol, func(*target.Profile) {}).profile}, &streams{})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for _, p := range d.plan {
			for _, tag := range p.Tags {
				if strings.HasPrefix(tag, "@doctor-") {
					found[tag]++
				}
			}
		}
		for _, it := range c.items {
			if it.tag != "" && found[it.tag] != 1 {
				t.Errorf("%s, %s: %d scenarios have the tag %s", protocol, it.key, found[it.tag], it.tag)
			}
			delete(found, it.tag)
		}
		for tag := range found {
			t.Errorf("%s: no item has the tag %s", protocol, tag)
		}
		for stage := 1; stage <= 3; stage++ {
			if c.look[stage] == "" {
				t.Errorf("%s: nothing to look at for stage %d", protocol, stage)
			}
		}
	}
	for _, protocol := range runner.Protocols() {
		if len(checkups[protocol].items) == 0 {
			t.Errorf("the doctor knows nothing of %s", protocol)
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
			a := newTestAudit(t, agentselect.Protocol, func(p *target.Profile) { everything(p); tt.change(p) })
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
