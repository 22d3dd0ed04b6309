package steps

import (
	"slices"
	"testing"
)

// TestStraysOfSeveralKinds: one cause may show in several ways, in an order that chance decides. The most frequent one
// is reported, by its first, with the clauses of all; if clauses are given, the most frequent that breaks one of them.
func TestStraysOfSeveralKinds(t *testing.T) {
	env := &Env{}
	if count, first := env.Strays(); count != 0 || first.What != "" {
		t.Errorf("%d strays before any, %v", count, first)
	}
	w := &World{Env: env}
	w.Strayed(Stray{Clauses: []string{"SC-001"}, What: "messages arrive elsewhere", Seen: "a"})
	w.Strayed(Stray{Clauses: []string{"SC-036"}, What: "turns end", Seen: "b"})
	w.Strayed(Stray{Clauses: []string{"SC-036"}, What: "turns end", Seen: "c"})
	count, first := env.Strays()
	if count != 3 || first.Seen != "b" || !slices.Equal(first.Clauses, []string{"SC-036", "SC-001"}) {
		t.Errorf("%d strays, reported as %+v", count, first)
	}
	if _, first := env.Strays("SC-001"); first.Seen != "a" {
		t.Errorf("the stray that breaks SC-001 is reported as %+v", first)
	}
}
