package pack

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

// TestExplore: sequences send what the scenarios send, about what the clients can know, and while they are connected.
func TestExplore(t *testing.T) {
	p := load(t, "  - {on: connecting, owes: hello, clauses: PP-001}")
	p.files["ping-pong/1.feature"] = &fstest.MapFile{Data: []byte("Feature: f\n  Scenario: s\n" +
		"    Given client A is connected\n" +
		"    When client A sends \"ping\"\n    And client B sends \"shut\" with {\"room\": \"${A.room}\"}\n" +
		"    And client A sends the text [1\n")}
	sent := map[string]bool{}
	for seed := range 30 {
		lines := rapid.Custom(p.Explore).Example(seed)
		if !p.Legal(lines) {
			t.Errorf("not legal: %q", lines)
		}
		for i, line := range lines {
			_, text, _ := strings.Cut(line, " ")
			if name, act, ok := strings.Cut(text, " sends "); ok {
				sent[act] = true
				without := slices.Clone(lines)
				without = slices.DeleteFunc(without[:i+1], func(l string) bool {
					return strings.HasSuffix(l, name+" is connected")
				})
				if p.Legal(without) {
					t.Errorf("legal: %q", without)
				}
			}
		}
	}
	for _, act := range []string{`"ping"`, `"shut" with {"room": "${B.room}"}`, `"shut" with {"room": "${A.room}"}`,
		"the text [1"} {
		if !sent[act] {
			t.Errorf("%s is never sent (%v)", act, sent)
		}
	}
}
