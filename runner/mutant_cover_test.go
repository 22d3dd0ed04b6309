package runner_test

import (
	"testing"

	"parley/runner"
	"parley/steps/protocols"
)

// TestProved: the digest depends on what the row of a mutant says that it does, and not on why.
func TestProved(t *testing.T) {
	of := func(m runner.Mutant) string {
		t.Helper()
		sum, err := runner.ProofDigest(protocols.All, "session-chat", "server", []runner.Mutant{m})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	before := of(runner.Mutant{ID: "loses", Does: `{"do":"drop"}`})
	other := of(runner.Mutant{ID: "loses", Does: `{"do":{"retype":"a"}}`})
	if other == before || of(runner.Mutant{ID: "loses"}) == before {
		t.Error("another fault has the same digest")
	}
	if of(runner.Mutant{ID: "loses", Does: `{"do":"drop"}`, Why: "it does"}) != before {
		t.Error("another reason has another digest")
	}
}
