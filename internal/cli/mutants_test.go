package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"parley/runner"
)

// TestPrintMatrices: one matrix is printed as an object, several as an array of such objects.
func TestPrintMatrices(t *testing.T) {
	a, b := &runner.KillMatrix{Protocol: "a", OK: true}, &runner.KillMatrix{Protocol: "b", Unproved: []string{"B-001"}}
	printed := func(asJSON bool, list ...*runner.KillMatrix) string {
		var w bytes.Buffer
		if err := printMatrices(&w, list, asJSON); err != nil {
			t.Fatal(err)
		}
		return w.String()
	}
	var one map[string]any
	if err := json.Unmarshal([]byte(printed(true, a)), &one); err != nil || one["protocol"] != "a" {
		t.Errorf("one matrix: %v, %v", one, err)
	}
	var both []map[string]any
	if err := json.Unmarshal([]byte(printed(true, a, b)), &both); err != nil || len(both) != 2 ||
		both[1]["protocol"] != "b" {
		t.Errorf("two matrices: %v, %v", both, err)
	}
	if text := printed(false, &runner.KillMatrix{Protocol: "external-agent", Role: "relay"}); !strings.Contains(text,
		"external-agent relay: 0 mutants") {
		t.Errorf("of a role:\n%s", text)
	}
	text := printed(false, a, b)
	first, second := strings.Index(text, "a: 0 mutants"), strings.Index(text, "b: 0 mutants")
	if first < 0 || second < first || !strings.Contains(text, "UNPROVED  B-001") {
		t.Errorf("as text:\n%s", text)
	}
}

// TestCatalogues: the default is all that have mutants; choosing one without mutants is an error.
func TestCatalogues(t *testing.T) {
	all, err := chosenCatalogues(nil, nil)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d catalogues, %v", len(all), err)
	}
	for _, protocol := range bundle.Protocols() {
		of := func(role string) func(catalogue) bool {
			return func(c catalogue) bool { return c.protocol == protocol && c.role == role && len(c.mutants) > 0 }
		}
		lacking := false
		for _, role := range suite.Roles(protocol) {
			some := len(bundle.Mutants(suite.Kinds(), protocol, role)) > 0
			lacking = lacking || !some
			if slices.ContainsFunc(all, of(role)) != some {
				t.Errorf("%s has mutants: %v, and is not treated so", titleWithRole(protocol, role), some)
			}
			one, err := chosenCatalogues([]string{protocol, protocol}, []string{role, role})
			if some != (err == nil) || err == nil && (len(one) != 1 || !of(role)(one[0])) || err != nil && exitCode(err) != 2 {
				t.Errorf("--protocol %s --role %s: %d catalogues, %v", protocol, role, len(one), err)
			}
		}
		for _, roles := range [][]string{nil, {everyRole}} {
			got, err := chosenCatalogues([]string{protocol}, roles)
			if lacking == (err == nil) || err == nil && len(got) != len(suite.Roles(protocol)) {
				t.Errorf("--protocol %s --role %v: %d catalogues, %v", protocol, roles, len(got), err)
			}
		}
	}
	if _, err := chosenCatalogues(nil, []string{"hots"}); exitCode(err) != 2 {
		t.Errorf("an unknown role: %v", err)
	}
}

func TestChooseMutants(t *testing.T) {
	all := []catalogue{{"a", "server", []runner.Mutant{{ID: "slow"}, {ID: "deaf"}}},
		{"b", "host", []runner.Mutant{{ID: "slow"}, {ID: "dumb"}}},
		{"b", "relay", []runner.Mutant{{ID: "dumb"}}}}
	for _, tt := range []struct {
		only, want string // protocol and ids, separated by spaces
		fails      bool
	}{
		{"", "a:slow a:deaf b host:slow b host:dumb b relay:dumb", false},
		{"slow", "a:slow b host:slow", false},
		{"dumb", "b host:dumb b relay:dumb", false},
		{"deaf dumb", "a:deaf b host:dumb b relay:dumb", false},
		{"deaf blind", "", true},
	} {
		got, err := chooseMutants(all, strings.Fields(tt.only))
		var ids []string
		for _, c := range got {
			for _, m := range c.mutants {
				ids = append(ids, strings.TrimSuffix(c.protocol+" "+c.role, " server")+":"+m.ID)
			}
		}
		if strings.Join(ids, " ") != tt.want || (err != nil) != tt.fails {
			t.Errorf("--only %s: %v, %v, want %s", tt.only, ids, err, tt.want)
		}
	}
}
