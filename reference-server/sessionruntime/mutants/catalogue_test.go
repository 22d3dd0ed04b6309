package mutants

import (
	"regexp"
	"slices"
	"testing"

	"parley/features"
	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime"
)

func TestCatalogue(t *testing.T) {
	name := regexp.MustCompile(`\A[a-z0-9]+(-[a-z0-9]+)*\z`)
	ledger, err := features.Ledger(proto.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	implemented, seen := faults(), map[string]bool{}
	for id, lasting := range cutFaults {
		implemented[id] = lasting()
	}
	for _, m := range All() {
		if seen[m.ID] || !name.MatchString(m.ID) {
			t.Errorf("id %q twice, or not in kebab case", m.ID)
		}
		seen[m.ID] = true
		if implemented[m.ID] == nil {
			t.Errorf("%s has no implementation", m.ID)
		}
		if m.Why == "" || len(m.Clauses) == 0 || m.Control == "" {
			t.Errorf("%s lacks why, clauses or control", m.ID)
		}
		for _, id := range m.Clauses {
			if row, ok := ledger.Row(id); !ok || !row.Tested() {
				t.Errorf("%s: %s is no clause that is tested", m.ID, id)
			}
		}
	}
	for _, row := range regexp.MustCompile(`(?m)^# - id: (\S+)$`).FindAllSubmatch(catalogueYAML, -1) {
		seen[string(row[1])] = true // a row that no scenario kills
	}
	for id := range implemented {
		if !seen[id] {
			t.Errorf("%s has no row", id)
		}
	}
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

func TestUnknownMutant(t *testing.T) {
	if _, err := Options("nobody", sessionruntime.Options{}); err == nil {
		t.Error("no error")
	}
}
