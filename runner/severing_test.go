package runner

import (
	"errors"
	"strings"
	"testing"

	"parley/runner/tags"
	"parley/steps"
	"parley/steps/protocols"
)

// uncut is a protocol that is no steps.Severer.
type uncut struct{ steps.Protocol }

// TestNoCourses: what has no course is refused, as are tags that leave all courses out; without --cut-points neither.
func TestNoCourses(t *testing.T) {
	p, err := protocols.All.Find("agent-client")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		p            steps.Protocol
		expr, reason string
	}{
		{uncut{p}, "", "agent-client has no course that can be cut at every point"},
		{p, "@cut-kill", "tag expression leaves the cut points out"},
	} {
		sel, err := tags.Parse(v.expr)
		if err != nil {
			t.Fatal(err)
		}
		var usage *UsageError
		if _, err := courses(v.p, "", true, sel); !errors.As(err, &usage) || !strings.Contains(usage.Msg, v.reason) {
			t.Errorf("%T with %q: %v, want %q", v.p, v.expr, err, v.reason)
		}
		if found, err := courses(v.p, "", false, sel); err != nil || len(found) > 0 {
			t.Errorf("%T without cut points: %v, %v", v.p, found, err)
		}
	}
	sel, _ := tags.Parse("@cut-reset")
	if found, err := courses(p, "", true, sel); err != nil || len(found) < 2 {
		t.Errorf("of agent-client: %v, %v", found, err)
	}
}
