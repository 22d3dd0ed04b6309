package pack

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

// TestExplorePhrases: what the words of a phrase vary in has the values of scenarios. A phrase that contains itself by
// such a value ends.
func TestExplorePhrases(t *testing.T) {
	p := load(t, "  - {on: connecting, owes: hello, clauses: PP-001}\nphrases:\n"+
		"  - client {c} goes twice: ['client {c} does twice']\n"+
		"  - client {c} goes {n}: ['client {c} sends \"ping\"']\n"+
		"  - client {c} does {n}: ['client {c} goes {n}', 'client {c} sends \"shut\" with {\"room\": \"{n}-${nonce}\"}']\n"+
		"  - client {c} leaves: ['client {c} sends \"ping\" with {\"n\": 1}']\n")
	p.files["ping-pong/1.feature"] = &fstest.MapFile{Data: []byte("Feature: f\n  Scenario: s\n" +
		"    Given client A is connected\n    When client B does red\n    And client A does twice\n")}
	var got []string
	for _, a := range p.acts() {
		got = append(got, a.text)
	}
	slices.Sort(got)
	want := []string{`client {c} sends "ping"`, `client {c} sends "ping" with {"n": 1}`,
		`client {c} sends "shut" with {"room": "red-${nonce}"}`}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

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
