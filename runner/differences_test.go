package runner

import (
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps/agentselect"
)

func TestDifferences(t *testing.T) {
	same, other := []string{"client A: complete {}"}, []string{"client A: agent_list {}"}
	rows := []struct {
		reason  string
		sse, ws []string
		outcome verdict.Outcome // over ws
		racing  bool
		want    bool
	}{
		{"the same course", same, same, verdict.Passed, false, false},
		{"another course", same, other, verdict.Passed, false, true},
		{"something is missing", same, nil, verdict.Passed, false, true},
		{"a failure is reported elsewhere", same, other, verdict.Failed, false, false},
		{"so is a warning", same, other, verdict.Warned, false, false},
		{"a race has no fixed course", same, other, verdict.Passed, true, false},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			one := &run{protocol: agentselect.Protocol{}, traces: map[string]map[string][]string{"AS-1.1-01": {"sse": r.sse,
				"ws": r.ws}}, racing: map[string]bool{"AS-1.1-01": r.racing},
				results: map[string]map[string]reports.Scenario{"sse": {"AS-1.1-01": {Outcome: verdict.Passed}},
					"ws": {"AS-1.1-01": {Outcome: r.outcome}}}}
			got := one.noteDifferences()
			if (len(got) == 1) != r.want {
				t.Fatalf("notes: %+v", got)
			}
			if r.want && (got[0].Kind != "driver-difference" || got[0].Scenario != "AS-1.1-01" ||
				!strings.Contains(got[0].Text, "client A: complete {}") || strings.Contains(got[0].Text, "\u00a0")) {
				t.Errorf("the note is %+v", got[0])
			}
		})
	}
	alone := &run{protocol: agentselect.Protocol{}, traces: map[string]map[string][]string{"AS-1.1-01": {"sse": same}},
		results: map[string]map[string]reports.Scenario{"sse": {"AS-1.1-01": {Outcome: verdict.Passed}}}}
	if got := alone.noteDifferences(); got != nil {
		t.Errorf("one driver differs from nobody: %+v", got)
	}
}
