package mutants

import (
	"testing"

	"parley/features"
	"parley/features/verdict"
	proto "parley/protocol/sessionchat"
)

func TestCatalogue(t *testing.T) {
	ledger, err := features.Ledger(proto.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	tested := func(clause string) bool {
		row, ok := ledger.Row(clause)
		return ok && row.Tested()
	}
	for _, problem := range set.Problems(tested) {
		t.Error(problem)
	}
	broken := map[string]bool{}
	for _, m := range All() {
		if m.Control == "" || len(m.Transports) > 0 || m.Greeting != "" {
			t.Errorf("%s lacks a control, or has a transport or a greeting: there is one transport, and no greeting", m.ID)
		}
		for _, id := range m.Clauses {
			broken[id] = true
		}
	}
	for _, row := range ledger.Rows() {
		if row.Tested() && (row.Level.Binding() || row.Level == verdict.Should) && !broken[row.ID] {
			t.Errorf("no mutant breaks %s", row.ID)
		}
	}
}
