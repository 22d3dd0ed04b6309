package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"parley/reference-server/bundled"
	"parley/runner"
)

// TestPrintMatrices: one is an object, several are an array of the same objects.
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
	if err := json.Unmarshal([]byte(printed(true, a, b)), &both); err != nil || len(both) != 2 || both[1]["protocol"] != "b" {
		t.Errorf("two matrices: %v, %v", both, err)
	}
	text := printed(false, a, b)
	first, second := strings.Index(text, "a: 0 mutants"), strings.Index(text, "b: 0 mutants")
	if first < 0 || second < first || !strings.Contains(text, "UNPROVED  B-001") {
		t.Errorf("as text:\n%s", text)
	}
}

// TestCatalogues: without a choice those that have mutants; a choice of one that has none is refused.
func TestCatalogues(t *testing.T) {
	all, err := catalogues(nil)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d catalogues, %v", len(all), err)
	}
	for _, protocol := range bundled.Protocols() {
		some := len(bundled.Mutants(protocol, "")) > 0
		if slices.ContainsFunc(all, func(c catalogue) bool { return c.protocol == protocol }) != some {
			t.Errorf("%s has mutants: %v, and is not treated so", protocol, some)
		}
		chosen, err := catalogues([]string{protocol, protocol})
		if some != (err == nil) || err == nil && len(chosen) != 1 || err != nil && exitCode(err) != 2 {
			t.Errorf("--protocol %s: %d catalogues, %v", protocol, len(chosen), err)
		}
	}
}

func TestChooseMutants(t *testing.T) {
	all := []catalogue{{"a", []runner.Mutant{{ID: "slow"}, {ID: "deaf"}}}, {"b", []runner.Mutant{{ID: "slow"}, {ID: "dumb"}}}}
	for _, tt := range []struct {
		only, want string // protocol and ids, cut at blanks
		fails      bool
	}{
		{"", "a:slow a:deaf b:slow b:dumb", false},
		{"slow", "a:slow b:slow", false},
		{"dumb", "b:dumb", false},
		{"deaf dumb", "a:deaf b:dumb", false},
		{"deaf blind", "", true},
	} {
		got, err := chooseMutants(all, strings.Fields(tt.only))
		var ids []string
		for _, c := range got {
			for _, m := range c.mutants {
				ids = append(ids, c.protocol+":"+m.ID)
			}
		}
		if strings.Join(ids, " ") != tt.want || (err != nil) != tt.fails {
			t.Errorf("--only %s: %v, %v, want %s", tt.only, ids, err, tt.want)
		}
	}
}
