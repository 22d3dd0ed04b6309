package model

import (
	"slices"
	"testing"
	"time"
)

// TestAborts: a second attempt is judged only if nothing but the client's impatience explains it.
func TestAborts(t *testing.T) {
	const asked = "A open\nA > switch_agent {\"agentId\":\"debugger\"}\n"
	const busy = asked + "A < error {\"errorCode\":\"agent_busy\"}\n"
	const again = "A > switch_agent {\"agentId\":\"debugger\"}"
	for name, row := range map[string]struct {
		lines string
		want  []bool // by finding, whether the clause is kept
	}{
		"an abort first":          {busy + "A > abort {}\nA < complete {}\n" + again, []bool{true}},
		"at once":                 {busy + again, []bool{false}},
		"while it goes on":        {busy + "A < message {}\n" + again, []bool{false}},
		"the task has ended":      {busy + "A < complete {}\n" + again, nil},
		"something else":          {busy + "A < tidings {}\n" + again, nil},
		"a question was answered": {busy + "A > user_question_response {}\n" + again, nil},
		"another agent":           {busy + "A > switch_agent {\"agentId\":\"general\"}", nil},
		"another error":           {asked + "A < error {\"errorCode\":\"agent_not_found\"}\n" + again, nil},
		"no answer":               {asked + again, nil},
		"another connection":      {busy + "B open\nB > switch_agent {\"agentId\":\"debugger\"}", nil},
		"connected anew":          {busy + "A closed\nA open\n" + again, nil},
		"twice": {busy + again + "\nA < error {\"errorCode\":\"agent_busy\"}\n" + again,
			[]bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, pace := range []time.Duration{heard, heard / 100} {
				records := script(t, row.lines)
				for i := range records {
					records[i].At = time.Duration(i) * pace
				}
				want := row.want
				if pace < heard { // the refusal may not have arrived yet
					want = slices.DeleteFunc(slices.Clone(want), func(ok bool) bool { return !ok })
				}
				var got []bool
				for _, f := range aborts(records) {
					got = append(got, f.OK)
				}
				if !slices.Equal(got, want) {
					t.Errorf("every %v: found %v, want %v", pace, got, want)
				}
			}
		})
	}
}
