package examination

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"parley/protocol/agentselect"
	"parley/reference-server/bundled"
	"parley/steps"
	"parley/steps/doctor"
	"parley/steps/protocols"
	"parley/target"
)

// guided is a protocol with a guide of the test.
type guided struct {
	steps.Protocol
	guide doctor.Guide
}

func (g guided) Doctor() doctor.Guide { return g.guide }

// scenarios are the features of the test's guide.
const scenarios = `@agent-select @server
Feature: 0 What is there
  @preflight-1
  Scenario: a greeting
    When client A connects
    Then client A receives the list of agents
    And client A is connected

  @preflight-2
  Scenario: a session
    Given client A is connected
    When client A creates a session
    Then client A has its session

  @preflight-3
  Scenario: a switch
    Given client A has a session
    When client A switches to "debugger"
    Then client A is switched to "debugger"

  @works
  Scenario: what works
    Given client A is connected

  @fails
  Scenario: what fails
    Given client A has switched to "nobody"

  @hangs
  Scenario: what depends on that
    Given client A is connected
`

func undeclared(*target.Profile) bool { return false }

// guideOf returns a guide with an item of each kind.
func guideOf(before error) doctor.Guide {
	remark := func(*target.Profile) string { return "so it is" }
	return doctor.Guide{
		Features: fstest.MapFS{"agent-select/0_there.feature": &fstest.MapFile{Data: []byte(scenarios)}},
		Checkups: map[string]doctor.Checkup{target.Server: {
			Advice: map[int]string{1: "the first", 2: "the second", 3: "the third"},
			Items: []doctor.Item{
				{Key: "works", Tag: "@works", Declared: doctor.Always, Needed: doctor.Never, Remark: remark},
				{Key: "fails", Tag: "@fails", Declared: doctor.Always, Needed: doctor.Takes(`.`), Advice: "its cause"},
				{Key: "hangs", Tag: "@hangs", After: []string{"fails"}, Declared: doctor.Always, Needed: doctor.Never},
				{Key: "lacks", Tag: "@lacks", After: []string{"absent"}, Declared: doctor.Always, Needed: doctor.Never},
				{Key: "absent", Declared: undeclared, Needed: doctor.Never, Without: "which is as well"},
				{Key: "unneeded", Declared: undeclared, Needed: doctor.Never},
				{Key: "instead", Instead: true, Declared: undeclared, Needed: doctor.Never},
				{Key: "seen", Declared: doctor.Always, Needed: doctor.Never},
				{Key: "unseen", Declared: doctor.Always, Needed: doctor.Never, Advice: "where it is"},
				{Key: "wants", Declared: doctor.Always, Needed: doctor.Never},
			},
			Before: func(context.Context, *doctor.Exam) error { return before },
			First: func(_ context.Context, e *doctor.Exam) error {
				e.AddLine(doctor.OK, "first", "at %s", e.Running.BaseURL())
				return nil
			},
			Others: func(context.Context, *doctor.Exam) (map[string]doctor.Look, func()) {
				return map[string]doctor.Look{
					"seen":   func() (string, error) { return "it is there", nil },
					"unseen": func() (string, error) { return "", errors.New("it is gone") },
					"wants":  func() (string, error) { return "", doctor.Wants("light") },
				}, func() {}
			},
		}},
	}
}

// examined examines the bundled server by a guide.
func examined(t *testing.T, g doctor.Guide) (string, Outcome, error) {
	t.Helper()
	b := bundled.All.For(protocols.Kinds(), agentselect.Protocol, target.Server)
	p := guided{protocols.Get(agentselect.Protocol), g}
	var out strings.Builder
	outcome, err := Run(t.Context(), Options{
		Out: &out, Protocols: &steps.Protocols{All: []steps.Protocol{p}}, Name: "it",
		Profile: b.Profile, Launcher: b.Launcher,
	})
	return out.String(), outcome, err
}

// TestGuide checks that any guide is followed, and that each item gets its line.
func TestGuide(t *testing.T) {
	out, outcome, err := examined(t, guideOf(nil))
	if err != nil || outcome != Fails {
		t.Errorf("the outcome is %v, %v", outcome, err)
	}
	for _, line := range []string{
		`ok +profile +it: agent-select over sse.*`,
		`ok +target +.*`,
		`ok +first +at http://.*`,
		`not checked +lacks +it needs absent`,
		`ok +sse +a greeting`,
		`ok +sse +a switch`,
		`ok +works +what works \(so it is\)`,
		`failed +fails +what fails: .*\(look at its cause\)`,
		`not checked +hangs +it needs fails`,
		`not declared +absent +which is as well`,
		`not declared +unneeded +no scenario of agent-select needs it`,
		`ok +seen +it is there`,
		`failed +unseen +it is gone \(look at where it is\)`,
		`not checked +wants +it needs light`,
		`\d+ clauses would not be tested; missing or failed:`,
		`  fails`,
		`A run also lists INFO clauses as not tested\. Clauses of a capability .* are not applicable there\.`,
	} {
		if found := regexp.MustCompile(`(?m)^`+line+`$`).FindAllString(out, -1); len(found) != 1 {
			t.Errorf("%d lines are %s in\n%s", len(found), line, out)
		}
	}
	if strings.Contains(out, "instead") {
		t.Errorf("what stands in for something else is told:\n%s", out)
	}
}

// TestBefore checks that an error of Before ends the examination before anything is launched.
func TestBefore(t *testing.T) {
	broken := errors.New("no tools")
	out, _, err := examined(t, guideOf(broken))
	if !errors.Is(err, broken) || strings.Contains(out, " target ") {
		t.Errorf("the error is %v, behind\n%s", err, out)
	}
}
