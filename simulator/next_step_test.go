package simulator_test

import (
	"slices"
	"testing"

	"parley/features/verdict"
	"parley/steps"
)

// TestNext: what is offered next works, from the beginning on, and a step judges clauses that are said of it.
func TestNext(t *testing.T) {
	for _, protocol := range []string{"agent-select", "session-chat", "session-runtime", "external-agent"} {
		t.Run(protocol, func(t *testing.T) {
			s := open(t, protocol)
			for range 4 {
				next, err := s.Next()
				if err != nil || next == "" {
					t.Fatalf("next is %q, %v", next, err)
				}
				got, err := s.Do(t.Context(), next, steps.StepArg{})
				if err != nil || got.Status != "passed" {
					t.Fatalf("%s: %v, %s %v", next, err, got.Status, got.Err)
				}
				can := s.Judges("When " + next)
				if said := slices.ContainsFunc(got.Outcomes, func(j verdict.Judgement) bool {
					return slices.Contains(can, j.Clause)
				}); said != (len(can) > 0) {
					t.Errorf("%s judges %v, and is said to judge %q", next, got.Outcomes, can)
				}
			}
		})
	}
}
