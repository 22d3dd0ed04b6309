package main

import (
	"slices"
	"strings"
	"testing"

	"parley/features"
	"parley/runner"
	"parley/target"
)

func newTestAudit(t *testing.T, change func(*target.Profile)) *audit {
	t.Helper()
	p, err := target.ForURL("http://127.0.0.1:1")
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
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool { return it.declared(p) })
}

// TestItemsAreNeeded holds that the patterns still match the words of the features.
func TestItemsAreNeeded(t *testing.T) {
	a := newTestAudit(t, func(*target.Profile) {})
	unused := []string{"restart", "provoke.running_turn", target.SessionList, target.SessionDelete, target.Health}
	for _, it := range items {
		if n := a.scenariosWithout(it); (n == 0) != slices.Contains(unused, it.key) {
			t.Errorf("%s: %d scenarios need it", it.key, n)
		}
		for _, key := range it.after {
			if itemOf(key).key != key {
				t.Errorf("%s comes after %s, which is no item", it.key, key)
			}
		}
	}
}

// TestItemsHaveScenarios holds that each tag is one of the doctor's feature, and the other way round.
func TestItemsHaveScenarios(t *testing.T) {
	d, err := newExam(&subject{profile: newTestAudit(t, func(*target.Profile) {}).profile}, &streams{})
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
	for _, it := range items {
		if it.tag != "" && found[it.tag] != 1 {
			t.Errorf("%s: %d scenarios have the tag %s", it.key, found[it.tag], it.tag)
		}
		delete(found, it.tag)
	}
	for tag := range found {
		t.Errorf("no item has the tag %s", tag)
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
			a := newTestAudit(t, func(p *target.Profile) { everything(p); tt.change(p) })
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
