package agents_test

import (
	"context"
	"testing"

	"example.org/agents"
	"parley"
)

// TestConformance judges the server. One scenario: go test -run 'TestConformance/AS-3.3-01'.
func TestConformance(t *testing.T) {
	parley.Test(t, parley.Handler(agents.New()), parley.Protocol("agent-select"), parley.Tags("not @exclusive"))
}

// TestClause: the result of a run can also be used by a program.
func TestClause(t *testing.T) {
	res, err := parley.Run(context.Background(), parley.Handler(agents.New()), parley.Protocol("agent-select"),
		parley.Tags("@AS-049"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range res.Scenarios {
		if sc.Outcome == parley.Failed {
			t.Errorf("%s %s: %+v", sc.ID, sc.Location, sc.Findings)
		}
	}
}
