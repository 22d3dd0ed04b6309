package parley_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/cucumber/godog"

	"parley"
	"parley/features/verdict"
)

const mixed = `Feature: mine
  @AS-050
  Scenario: an unknown agent
    Given the counter is 0
    And client A has switched to "debugger"
    When client A switches to "hacker"
    Then client A is refused
    And the refusal of client A contains "hacker"
    And the counter is 1
    And client A sends raw:
      """
      POST /message {}
      """

  Scenario: without a clause
    Given the counter is 2
`

// mix runs a feature, with a step of its own beside those of the protocol. It returns the exit code of godog,
// what was found, and the counts that the own step was given.
func mix(t *testing.T, fault, feature string) (exit int, found []parley.Scenario, counts []int) {
	t.Helper()
	s, err := parley.Open(t.Context(), parley.Handler(served(t, fault)), parley.Protocol("agent-select"),
		parley.Tags("not used"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var printed bytes.Buffer
	exit = godog.TestSuite{
		ScenarioInitializer: func(sc *godog.ScenarioContext) {
			s.Register(sc)
			sc.Step(`^the counter is (\d+)$`, func(n int) { counts = append(counts, n) })
		},
		Options: &godog.Options{Format: "progress", Output: &printed, NoColors: true, Strict: true,
			FeatureContents: []godog.Feature{{Name: "mine.feature", Contents: []byte(feature)}}},
	}.Run()
	if strings.Contains(printed.String(), "undefined") {
		t.Errorf("undefined steps:\n%s", &printed)
	}
	return exit, s.Scenarios(), counts
}

// TestRegister: steps of the protocol and a user's own run in one scenario, and judge the clauses of its tags.
func TestRegister(t *testing.T) {
	exit, found, counts := mix(t, "none", mixed)
	if exit != 0 || len(found) != 2 || !slices.Equal(counts, []int{0, 1, 2}) {
		t.Fatalf("exit %d, counts %d, found %+v", exit, counts, found)
	}
	if sc := found[0]; sc.Outcome != parley.Passed || sc.Name != "an unknown agent" || sc.Location != "mine.feature" ||
		sc.Driver != "sse" {
		t.Errorf("%+v", sc)
	}
	exit, found, counts = mix(t, "text-without-id", mixed)
	if exit == 0 || found[0].Outcome != parley.Failed || len(found[0].Findings) == 0 {
		t.Fatalf("a fault: exit %d, counts %d, found %+v", exit, counts, found)
	}
	if f := found[0].Findings[0]; f.Clause != "AS-050" || f.Step != `Then client A is refused` {
		t.Errorf("%+v", f)
	}
}

// TestUnknownTag: a tag that names no clause of the protocol fails its scenario, which would judge nothing.
func TestUnknownTag(t *testing.T) {
	exit, found, counts := mix(t, "none", "Feature: f\n  @AS-999\n  Scenario: s\n    Given the counter is 1\n")
	if exit == 0 || len(found) != 1 || len(counts) > 0 || found[0].Outcome != parley.HarnessError ||
		!strings.Contains(found[0].Reason, "agent-select has no clause AS-999") {
		t.Errorf("exit %d, counts %d, found %+v", exit, counts, found)
	}
}

// TestOutcomes: the outcomes are those of results.json.
func TestOutcomes(t *testing.T) {
	for name, is := range map[string]verdict.Outcome{parley.Passed: verdict.Passed, parley.Failed: verdict.Failed,
		parley.Warned: verdict.Warned, parley.NotTested: verdict.NotTested, parley.NotApplicable: verdict.NotApplicable,
		parley.ExpectedFail: verdict.ExpectedFail, parley.EnvError: verdict.EnvError,
		parley.HarnessError: verdict.HarnessError} {
		if name != string(is) {
			t.Errorf("%q is %q", name, is)
		}
	}
}
