package model

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
)

var update = flag.Bool("update", false, "write duties.yaml anew")

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
	if *update {
		out, err := yaml.MarshalWithOptions(lists, yaml.Flow(false))
		if err != nil {
			t.Fatal(err)
		}
		out = append([]byte("# What TestDuties has found; -update writes it anew.\n"), out...)
		if err := os.WriteFile("duties.yaml", out, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, role := range []string{vocab.Host, vocab.Relay, vocab.Agent} {
		chart, err := Chart(role)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(chart.Duties, lists[role]); diff != "" {
			t.Errorf("duties.yaml, %s; want(-) got(+); go test -run TestDuties -update:\n%s", role, diff)
		}
	}
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
		judges := slices.Concat(ofMessages[role], ofCourses[role], ofForeign[role], []string{"EA-077", "EA-051", "EA-072"})
		for _, m := range list {
			for _, move := range m.Moves {
				for _, id := range move.Clauses {
					if !slices.Contains(judges, id) {
						t.Errorf("%s, %s: %s is not judged", role, m.Name, id)
					}
				}
			}
		}
	}
	if _, err := Chart("nobody"); err == nil {
		t.Error("a role that there is not has a chart")
	}
}
