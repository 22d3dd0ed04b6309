package examination

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"parley/protocol/agentselect"
	"parley/runner"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/steps/doctor"
	host "parley/steps/externalagent/binding"
	"parley/steps/protocols"
	"parley/target"
)

// profileOf returns the default profile of a running target, modified by change.
func profileOf(t *testing.T, protocol, role string, change func(*target.Profile)) *target.Profile {
	t.Helper()
	p, err := protocols.Kinds().ForURL(protocol, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	p.Role = role
	change(p)
	return p
}

func auditOf(t *testing.T, p *target.Profile) *audit {
	t.Helper()
	a, err := newAudit(p, protocols.Get(p.Protocol))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func unchanged(*target.Profile) {}

// eachCheckup runs a test for each checkup of each protocol.
func eachCheckup(t *testing.T, test func(t *testing.T, p steps.Protocol, role string, c doctor.Checkup)) {
	for _, p := range protocols.All.All {
		guide, known := doctor.Of(p)
		if !known {
			t.Errorf("doctor has no check for %s", steps.Name(p))
		}
		for _, role := range steps.Roles(p) {
			t.Run(titleWithRole(p, role), func(t *testing.T) { test(t, p, role, guide.Checkups[role]) })
		}
	}
}

// TestItemsAreNeeded checks that the items' patterns still match the steps of the features.
func TestItemsAreNeeded(t *testing.T) {
	unused := []string{
		"restart of agent-select", "provoke.running_turn", binding.SessionList + " of agent-select", binding.Health,
		"external-agent.page", // see TestPageIsNeeded
	}
	eachCheckup(t, func(t *testing.T, p steps.Protocol, role string, c doctor.Checkup) {
		a := auditOf(t, profileOf(t, steps.Name(p), role, unchanged))
		for _, it := range c.Items {
			n := a.scenariosWithout(it)
			unneeded := slices.Contains(unused, it.Key) || slices.Contains(unused, it.Key+" of "+steps.Name(p))
			if (n == 0) != unneeded {
				t.Errorf("%s: %d scenarios need it", it.Key, n)
			}
			for _, key := range it.After {
				if !slices.ContainsFunc(c.Items, func(other doctor.Item) bool { return other.Key == key }) {
					t.Errorf("%s comes after %s, which is not an item", it.Key, key)
				}
			}
		}
	})
}

// TestPageIsNeeded checks that a host's page stands in for the hook that makes the participant speak.
func TestPageIsNeeded(t *testing.T) {
	page := profileOf(t, "external-agent", "host", func(p *target.Profile) {
		host.Of(p).Page = &host.HostPage{URL: "/", Input: "#a"}
	})
	without := profileOf(t, "external-agent", "host", unchanged)
	guide, _ := doctor.Of(protocols.Get("external-agent"))
	for _, it := range guide.Checkups["host"].Items {
		with, hook := auditOf(t, page).scenariosWithout(it), auditOf(t, without).scenariosWithout(it)
		switch it.Key {
		case "external-agent.page":
			if with == 0 || hook != 0 || !it.Declared(page) || it.Declared(without) {
				t.Errorf("%s: %d scenarios need it, and %d without it", it.Key, with, hook)
			}
		case "hooks.user-says":
			if with != 0 || hook == 0 || !it.Replaced(page) || it.Replaced(without) {
				t.Errorf("%s: %d scenarios need it beside a page, and %d without one", it.Key, with, hook)
			}
		}
	}
}

// TestItemsHaveScenarios checks that every item tag is in the doctor's features, and vice versa.
func TestItemsHaveScenarios(t *testing.T) {
	eachCheckup(t, func(t *testing.T, p steps.Protocol, role string, c doctor.Checkup) {
		profile := profileOf(t, steps.Name(p), role, unchanged)
		x, err := prepareExam(Options{Out: io.Discard, Protocols: protocols.All, Profile: profile})
		if err != nil {
			t.Fatal(err)
		}
		found, stages := map[string]int{}, map[int]int{}
		for _, pl := range x.plan {
			if len(steps.Roles(p)) > 1 && !slices.Contains(pl.Tags, "@"+role) {
				continue
			}
			stages[pl.Stage]++
			for _, tag := range pl.Tags {
				if strings.HasPrefix(tag, "@doctor-") {
					found[tag]++
				}
			}
		}
		for _, it := range c.Items {
			if it.Tag != "" && found[it.Tag] != 1 {
				t.Errorf("%s: %d scenarios have the tag %s", it.Key, found[it.Tag], it.Tag)
			}
			delete(found, it.Tag)
		}
		for tag := range found {
			t.Errorf("no item has the tag %s", tag)
		}
		for stage := 1; stage <= 3; stage++ {
			if c.Advice[stage] == "" || stages[stage] != 1 {
				t.Errorf("stage %d has %d scenarios, and look at %q", stage, stages[stage], c.Advice[stage])
			}
		}
	})
}

// declared makes a profile declare everything that the doctor examines.
func declared(p *target.Profile) {
	p.Model = &target.Model{Hook: "true"}
	p.Tools = target.Tools{Confirm: &target.Tool{Name: "a"}, Ask: &target.Tool{Name: "b"}}
	p.Agents.File = "agents.toml"
	p.Agents.Custom = []target.CustomAgent{{ID: "poet", Prompt: "POET", Tools: []string{"a"}}}
	p.Hooks = target.Hooks{AddAgent: "true", ChangeAgent: "true", RemoveAgent: "true"}
	p.Capabilities = protocols.Kinds().Capabilities(p.Protocol)
	p.Drivers = []string{target.SSE, target.WS}
}

func TestLosses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*target.Profile)
		lost   string // a clause that is lost; "" if none is
		kept   string
	}{
		{"everything is declared", unchanged, "", "AS-068"},
		{"no model", func(p *target.Profile) { p.Model = nil }, "AS-068", "AS-042"},
		{"no model, but a turn can be provoked", func(p *target.Profile) {
			p.Model, p.Provoke.RunningTurn = nil, "Count to a thousand."
		}, "AS-047", "AS-068"},
		{"no prompt marker", func(p *target.Profile) { p.Agents.Custom[0].Prompt = "" }, "AS-047", "AS-046"},
		{"no hook", func(p *target.Profile) { p.Hooks = target.Hooks{} }, "AS-026", "AS-025"},
		{"no file", func(p *target.Profile) { p.Agents.File = "" }, "AS-025", "AS-026"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := profileOf(t, agentselect.Protocol, target.Server, func(p *target.Profile) { declared(p); tt.change(p) })
			guide, _ := doctor.Of(protocols.Get(p.Protocol))
			missing := slices.DeleteFunc(slices.Clone(guide.Checkups[p.Role].Items),
				func(it doctor.Item) bool { return it.Declared(p) })
			var lost []string
			for _, l := range auditOf(t, p).listLosses(missing) {
				lost = append(lost, l.clauses...)
			}
			none := tt.lost == "" && len(lost) > 0
			if none || tt.lost != "" && !slices.Contains(lost, tt.lost) || slices.Contains(lost, tt.kept) {
				t.Errorf("lost %v; want %q among them, and not %q", lost, tt.lost, tt.kept)
			}
		})
	}
}

// unexamined is a protocol without a guide.
type unexamined struct{ steps.Protocol }

// TestNoGuide checks that a protocol without a guide is a usage error.
func TestNoGuide(t *testing.T) {
	ps := &steps.Protocols{All: []steps.Protocol{unexamined{protocols.Get(agentselect.Protocol)}}}
	var usage *runner.UsageError
	_, err := Run(t.Context(), Options{Out: io.Discard, Protocols: ps,
		Profile: profileOf(t, agentselect.Protocol, target.Server, unchanged)})
	if !errors.As(err, &usage) {
		t.Errorf("the error is %v", err)
	}
}
