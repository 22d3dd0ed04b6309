package model

import (
	"errors"
	"slices"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
	"parley/steps/obligation/obligationtest"
)

// TestDuties: duties.yaml has the obligations that arise in the transcripts of these tests, with their clauses.
func TestDuties(t *testing.T) {
	all := map[string]obligation.Duties{}
	collect := func(role, in string) {
		if all[role] == nil {
			all[role] = obligation.Duties{}
		}
		m := newModel(role, obligation.Ours, all[role])
		for _, record := range script(t, in) {
			m.Take(record)
		}
	}
	for _, r := range rows {
		role := subjects[r.subject].role
		if role == vocab.Host && strings.Contains(r.in, "host ") {
			role = vocab.Relay
		}
		collect(role, r.in)
	}
	for _, r := range foreignRows {
		collect(foreignSubjects[r.subject].role, r.in)
	}
	for _, in := range everyMessage() {
		collect(vocab.Relay, together+in)
	}
	lists := map[string][]obligation.Duty{}
	for role, duties := range all {
		lists[role] = duties.List()
	}
	obligationtest.Duties(t, lists, func() (map[string][]obligation.Duty, error) {
		has, errs := map[string][]obligation.Duty{}, error(nil)
		for _, role := range []string{vocab.Host, vocab.Relay, vocab.Agent} {
			chart, err := Chart(role)
			has[role], errs = chart.Duties, errors.Join(errs, err)
		}
		return has, errs
	})
}

// everyMessage has each message that a relay passes on, from who sends it.
func everyMessage() (out []string) {
	for kind := range Passing {
		from, to := "host", "A"
		if AnswerOf[kind] != "" || kind == vocab.AgentMessage {
			from, to = to, from
		}
		out = append(out, from+" > "+kind+" {}\n"+to+" < "+kind+" {}\n")
	}
	return out
}

// TestChart: every clause of a life cycle is one that the model judges of that role.
func TestChart(t *testing.T) {
	for role, list := range machines {
		judged := slices.Concat(ofMessages[role], ofCourses[role], ofForeign[role], []string{"EA-077", "EA-051", "EA-072"})
		obligationtest.Moves(t, list, judged)
	}
	if _, err := Chart("nobody"); err == nil {
		t.Error("a role that there is not has a chart")
	}
}
