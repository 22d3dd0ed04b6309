package sessionruntime

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
)

// TestBlame checks that, over the whole suite, a target with one fault fails exactly the clauses that the fault
// breaks, by the steps and by the model.
func TestBlame(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"drop CANCEL":                   "004 016 031 060 095 099 106 109 152",
		"drop TURN_ACCEPTED":            "009 074 076 093 170",
		"drop SWITCH_AGENT":             "006 032 061 063 065 089 112 134",
		"drop REQUEST_REMOVE_AGENT":     "008 018 020 034 108 110",
		"drop AGENT_REMOVED":            "018 044 046 116 164",
		"drop ADD_AGENT_FAILED":         "043 046 163",
		"drop HANDOVER_UI_PROMPT":       "007 019 038 130 131",
		"drop AGENT_NOT_IN_SESSION":     "087",
		"drop REQUEST_SESSION_CLOSE":    "020 036 151 153",
		"set SWITCH_AGENT target=AGENT": "091 167",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			env := environment(t, &scripted{fault: fault})
			env.Profile.Limits.Event.Duration = 5 * time.Second // a fence ends futile waits
			failed := map[string]bool{}
			for _, r := range run(env, texts(t), func() *scripted { return &scripted{fault: fault} }) {
				for _, j := range slices.Concat(r.Clauses, r.Monitors) {
					if j.Outcome == verdict.Failed {
						failed[strings.TrimPrefix(j.Clause, "RT-")] = true
					}
				}
			}
			var got []string
			for id := range failed {
				got = append(got, id)
			}
			slices.Sort(got)
			if is := strings.Join(got, " "); is != want {
				t.Errorf("failed: %s, want %s", is, want)
			}
		})
	}
}
