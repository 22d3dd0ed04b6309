package proof_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	"parley/protocol/agentclient"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/steps"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// severers calls f with each protocol and role whose connections can be cut at every point of a course.
func severers(t *testing.T, f func(t *testing.T, protocol, role string)) {
	found := 0
	for _, protocol := range bundled.All.Protocols() {
		p, err := protocols.All.Find(protocol)
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range protocols.All.Roles(protocol) {
			if s, ok := p.(steps.Severer); ok && len(s.Courses(role)) > 0 {
				found++
				t.Run(protocol+"/"+role, func(t *testing.T) { f(t, protocol, role) })
			}
		}
	}
	if found == 0 {
		t.Error("no protocol has a course")
	}
}

// cut runs the cut points of a target, or with tags its scenarios.
func cut(t *testing.T, o runner.Options) reports.Run {
	t.Helper()
	o.Protocols = protocols.All
	res, err := runner.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res.Runs[0]
}

// TestCutPoints shows that the bundled targets pass at every point, and that each point was reached and judged: cut by
// reset, or in every way at night. Pages need the processor: by default the bundled one runs one course,
// and the foreign one the other.
func TestCutPoints(t *testing.T) {
	t.Parallel()
	severers(t, func(t *testing.T, protocol, role string) {
		if protocol != "session-chat" && protocol != "session-runtime" {
			tier.Night(t)
		}
		suitetest.AwaitTurnOn(t, protocol)
		sub := bundled.All.For(protocols.Kinds(), protocol, role)
		tags := "@cut-reset"
		switch {
		case tier.All():
			tags = "@cut"
		case protocol == agentclient.Protocol:
			tags = "@cut-reset and @AC-060"
		}
		passesCuts(t, runner.Options{Profile: sub.Profile, Role: role, Launcher: sub.Launcher, Brain: sub.Brain,
			CutPoints: true, Tags: tags})
	})
	t.Run("plain page", func(t *testing.T) {
		tier.Night(t)
		suitetest.InBrowser(t)
		p, err := protocols.Kinds().Load("examples/profiles/plain-page.yaml")
		if err != nil {
			t.Fatal(err)
		}
		tags := "@cut-reset and @AC-107"
		if tier.All() {
			tags = "@cut"
		}
		passesCuts(t, runner.Options{Profile: p, CutPoints: true, Tags: tags})
	})
}

func passesCuts(t *testing.T, o runner.Options) {
	t.Helper()
	one := cut(t, o)
	if len(one.Cuts) == 0 {
		t.Fatal("nothing was cut")
	}
	for _, c := range one.Cuts {
		if c.Points < 10 || c.Reached != c.Points || c.Judged != c.Points || len(c.Broke) > 0 {
			t.Errorf("%s by %s: %s: %+v", c.Course, c.By, c.Text(), c.Broke)
		}
	}
	for _, sc := range one.Scenarios {
		if sc.Outcome != verdict.Passed {
			t.Errorf("%s: %s: %s", sc.ID, sc.Outcome, sc.Reason)
		}
	}
}

// TestCutMutants shows that cuts find faults that the scenarios do not find. It tries one mutant of each role, or all
// at night. Only the latter checks that the scenarios do not find them: that takes a run of the suite
// for each.
func TestCutMutants(t *testing.T) {
	t.Parallel()
	severers(t, func(t *testing.T, protocol, role string) {
		if protocol == agentclient.Protocol {
			tier.Night(t)
		}
		t.Parallel()
		mutants := bundled.All.CutMutants(protocols.Kinds(), protocol, role)
		if len(mutants) < 3 {
			t.Errorf("only %d mutants that only a cut finds", len(mutants))
		}
		if !tier.All() && len(mutants) > 0 {
			mutants = mutants[:1]
		}
		for _, m := range mutants {
			t.Run(m.ID, func(t *testing.T) { suitetest.AwaitTurnOn(t, protocol); cutsFind(t, protocol, role, m) })
		}
	})
}

func cutsFind(t *testing.T, protocol, role string, m runner.Mutant) {
	run := func(tags string, cuts bool) reports.Run {
		brain := llm.New()
		return cut(t, runner.Options{Profile: suitetest.MutantProfile(protocol, role), Role: role, Launcher: m.Launch(brain),
			Brain: brain, Drivers: m.Drivers, Tags: tags, CutPoints: cuts})
	}
	tags := fmt.Sprintf("@cut-reset and (@%s)", strings.Join(m.Clauses, " or @"))
	if tier.All() {
		tags = "@cut-reset or @cut-close or @cut-fin"
	}
	one := run(tags, true)
	points, broken := 0, []string{}
	for _, c := range one.Cuts {
		points += len(c.Broke)
		if len(c.Broke) == c.Points {
			t.Errorf("%s by %s breaks at every point, so that the place of the cut shows nothing", c.Course, c.By)
		}
		for _, p := range c.Broke {
			broken = append(broken, p.Clauses...)
		}
	}
	for _, id := range m.Clauses {
		if !slices.Contains(broken, id) {
			t.Errorf("%s was not broken at any of the points, but %s at %d", id, strings.Join(broken, " "), points)
		}
	}
	if !tier.All() {
		return
	}
	for _, sc := range run("", false).Scenarios {
		if sc.Outcome == verdict.Failed {
			t.Errorf("a scenario finds it too: %s: %s", sc.ID, sc.Reason)
		}
	}
}
