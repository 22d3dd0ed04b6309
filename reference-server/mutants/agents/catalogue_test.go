package agents

import (
	"regexp"
	"slices"
	"testing"

	"parley/features"
	proto "parley/protocol/externalagent"
)

func TestCatalogue(t *testing.T) {
	name := regexp.MustCompile(`\A[a-z0-9]+(-[a-z0-9]+)*\z`)
	ledger, err := features.Ledger(proto.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	implemented, seen := faults(), map[string]bool{}
	for _, m := range All() {
		if seen[m.ID] || !name.MatchString(m.ID) {
			t.Errorf("id %q twice, or not in kebab case", m.ID)
		}
		seen[m.ID] = true
		if implemented[m.ID] == nil {
			t.Errorf("%s has no implementation", m.ID)
		}
		if m.Why == "" || len(m.Clauses) == 0 {
			t.Errorf("%s lacks why or clauses", m.ID)
		}
		for _, id := range m.Clauses {
			if row, ok := ledger.Row(id); !ok || !row.Tested() {
				t.Errorf("%s: %s is no clause that is tested", m.ID, id)
			}
		}
		if len(m.Transports) > 0 || m.Greeting != "" {
			t.Errorf("%s: there is one transport, and no greeting", m.ID)
		}
	}
	for id := range implemented {
		if !seen[id] && !slices.Contains(surviving(), id) {
			t.Errorf("%s has no row", id)
		}
	}
	for _, id := range surviving() {
		if seen[id] || implemented[id] == nil {
			t.Errorf("%s survives: it needs an implementation, and its row is commented out", id)
		}
	}
}

// surviving are the mutants whose rows are commented out, as nothing kills them yet.
func surviving() (ids []string) {
	for _, m := range regexp.MustCompile(`(?m)^# - id: (\S+)$`).FindAllSubmatch(catalogueYAML, -1) {
		ids = append(ids, string(m[1]))
	}
	return ids
}

// Faults are registered in several maps, and one must not hide another.
func TestEveryFaultIsRegisteredOnce(t *testing.T) {
	var ids []string
	for _, some := range registered() {
		for id := range some {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) != len(slices.Compact(slices.Clone(ids))) {
		t.Error("an id is registered twice")
	}
}
