package externalagent

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
)

// TestExplore checks that a relay that passes everything on passes drawn scenarios, and that one that does not is
// found.
func TestExplore(t *testing.T) {
	t.Parallel()
	ex := Protocol{}.ExplorerOf(vocab.Relay)
	sequences := rapid.Custom(ex.Explore)
	run := func(p *carrier, seed int) steps.Result {
		env := environment(t, vocab.Relay, p)
		env.Profile.Limits.Event.Duration = patience
		return perform(t, env, p, strings.Join(ex.Explored(), " "), strings.Join(sequences.Example(seed), "\n"))
	}
	for seed := range 4 { // each one runs through godog
		if got := run(&carrier{}, seed); got.Outcome != verdict.Passed {
			t.Errorf("%s: %s\n%s", got.Outcome, got.Reason, strings.Join(sequences.Example(seed), "\n"))
		}
	}
	if got := run(&carrier{bad: changed(vocab.SessionStart, set("extra", 1))}, 0); got.Outcome != verdict.Failed {
		t.Errorf("a relay that changes messages: %s: %s", got.Outcome, got.Reason)
	}
}

// TestExploreAll checks that each move and each departure is drawn, and that the steps of each are known.
func TestExploreAll(t *testing.T) {
	seen := map[string]bool{}
	for range 5 { // rapid draws a hundred of each
		rapid.Check(t, func(draw *rapid.T) {
			for _, role := range []string{vocab.Relay, vocab.Host, vocab.Agent} {
				for _, line := range (Protocol{}).ExplorerOf(role).Explore(draw) {
					seen[line] = true
				}
			}
		})
	}
	definitions := steps.Definitions(Protocol{})
	var all strings.Builder
	for line := range seen {
		all.WriteString(line + "|")
		if _, text, _ := strings.Cut(line, " "); steps.FunctionOf(definitions, text) == "" {
			t.Errorf("%q is no step", line)
		}
	}
	for _, list := range [][]string{movesOfRelay, movesOfHost, departures} {
		for _, move := range list {
			for part := range strings.SplitSeq(move, "|") {
				if before, _, _ := strings.Cut(part, "%d"); !strings.Contains(all.String(), before) {
					t.Errorf("%q is not drawn", part)
				}
			}
		}
	}
}
