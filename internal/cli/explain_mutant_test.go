package cli

import (
	"strings"
	"testing"
)

// TestExplainMutant: the page of a mutant names the scenario that finds it first, and how to serve it; a mistyped name
// gets those that are near, or that it is a part of.
func TestExplainMutant(t *testing.T) {
	t.Parallel()
	page, _, code := invoke(t, "explain", "trims-ids")
	for _, want := range []string{"\n  found by   AS-4.1-01  ", "\n             and ", " after it\n",
		"\n  serve      parley simulate --protocol agent-select --as server --mutant trims-ids\n"} {
		if code != 0 || !strings.Contains(page, want) {
			t.Errorf("exit %d, the page lacks %q:\n%s", code, want, page)
		}
	}
	for typed, want := range map[string]string{"trim-ids": "nearest: trims-ids; ", "trims": "nearest: trims-ids",
		"nothing-like-it": "parley mutants --list all mutants)"} {
		refused(t, []string{"explain", typed}, `parley: unknown clause, scenario or mutant "`+typed+`" (`)
		if _, said, _ := invoke(t, "explain", typed); !strings.Contains(said, want) {
			t.Errorf("%s: says %q, want %q", typed, said, want)
		}
	}
}
