package protocols_test

import (
	"regexp"
	"testing"

	"parley/runner"
	"parley/steps"
	"parley/steps/protocols"
)

// TestRawStepsApart: no step of a protocol matches a raw step, and no raw step matches one of a protocol.
func TestRawStepsApart(t *testing.T) {
	for _, p := range protocols.All.All {
		all, err := runner.Steps(p.Features(), p)
		if err != nil {
			t.Fatal(err)
		}
		for id, texts := range all {
			for _, text := range texts {
				if expr := steps.ExpressionOf(steps.RawExpressions(), text); expr != "" {
					t.Errorf("%s: %q reads as the raw step %s", id, text, expr)
				}
			}
		}
		for _, text := range []string{"A sends raw:", "client A sends raw:", "agent A sends raw base64:",
			"the host sends raw:",
			"agent A sends raw binary:", "the connection of client A is closed", "the connection of A is reset"} {
			if expr := steps.ExpressionOf(steps.RawExpressions(), text); expr == "" {
				t.Errorf("%q is no raw step", text)
			}
			if expr := steps.ExpressionOf(steps.Expressions(p), text); expr != "" {
				t.Errorf("%s has a step that reads %q: %s", steps.Name(p), text, regexp.MustCompile(expr))
			}
		}
	}
}
