package protocols_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/steps"
	"parley/steps/protocols"
)

// passiveShare is the minimum share of a protocol's tested clauses, in percent, that passive monitors judge.
var passiveShare = map[string]int{"session-chat": 60, "session-runtime": 60, "external-agent": 60, "agent-select": 50,
	"agent-client": 32}

// TestPassiveClauses: the ledger marks exactly those clauses as passive that passive monitors judge.
func TestPassiveClauses(t *testing.T) {
	for _, p := range protocols.All.All {
		least, has := passiveShare[steps.Name(p)]
		if !has {
			continue
		}
		ledger, err := steps.LedgerOf(p)
		if err != nil {
			t.Fatal(err)
		}
		judged, named := map[string]bool{}, map[string]bool{}
		for _, m := range steps.PassiveMonitors(p) {
			if !m.Passive {
				t.Errorf("%s: %s is not passive", steps.Name(p), m.Name)
			}
			for _, id := range m.Clauses {
				judged[id] = true
			}
		}
		tested := 0
		for _, row := range ledger.Clauses {
			if row.Tested() {
				tested++
			}
			if row.Passive() {
				named[row.ID] = true
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(judged))); diff != "" {
			t.Errorf("%s: passive in the ledger(-), judged by passive monitors(+):\n%s", steps.Name(p), diff)
		}
		if 100*len(named) < least*tested {
			t.Errorf("%s: %d of %d tested clauses are passive; want %d %%", steps.Name(p), len(named), tested, least)
		}
		t.Logf("%s: %d of %d tested clauses", steps.Name(p), len(named), tested)
	}
}
