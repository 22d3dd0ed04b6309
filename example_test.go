package parley_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/cucumber/godog"

	"parley"
	"parley/reference-server/agentselect"
)

// newServer stands for your server: it is the bundled agent-select server.
func newServer() http.Handler {
	s, err := agentselect.New(agentselect.Options{})
	if err != nil {
		panic(err)
	}
	return s
}

// A test with a subtest for each scenario: go test -run 'TestConformance/AS-4.1-06'.
func ExampleTest() {
	_ = func(t *testing.T) { // func TestConformance(t *testing.T)
		parley.Test(t, parley.Handler(newServer()), parley.Protocol("agent-select"))
	}
}

// One clause of a server in this process.
func ExampleRun() {
	res, err := parley.Run(context.Background(), parley.Handler(newServer()),
		parley.Protocol("agent-select"), parley.Tags("@AS-129"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range res.Clauses {
		if c.ID == "AS-129" {
			fmt.Println(c.ID, c.Outcome)
		}
	}
	fmt.Println(res.Verdict) // only a whole run can be conformant
	// Output:
	// AS-129 passed
	// incomplete
}

// A run that is impossible as asked for.
func ExampleUsageError() {
	_, err := parley.Run(context.Background(), parley.Handler(newServer()), parley.Protocol("agent-select"),
		parley.Role("relay"))
	fmt.Println(err)
	// Output:
	// parley.Role("relay"): agent-select has no such role (known: ["server"])
}

// Steps of a protocol beside a step of your own, in one scenario.
func ExampleOpen() {
	s, err := parley.Open(context.Background(), parley.Handler(newServer()), parley.Protocol("agent-select"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	feature := `Feature: mine
  @AS-042
  Scenario: a switch
    Given client A has a session
    When client A switches to "debugger"
    Then client A is switched to "debugger"
    And the audit log has 1 entry`
	godog.TestSuite{
		ScenarioInitializer: func(sc *godog.ScenarioContext) {
			s.Register(sc)
			sc.Step(`^the audit log has (\d+) entr(?:y|ies)$`, func(n int) { fmt.Println("looked for", n) })
		},
		Options: &godog.Options{Format: "progress", Output: os.Stderr, NoColors: true,
			FeatureContents: []godog.Feature{{Name: "mine.feature", Contents: []byte(feature)}}},
	}.Run()
	for _, sc := range s.Scenarios() {
		fmt.Println(sc.Name, sc.Outcome)
	}
	// Output:
	// looked for 1
	// a switch passed
}
