package obligation

import (
	"slices"
	"testing"
	"time"
)

// said is a message of the tests.
type said struct {
	n    int
	word string
}

func (s said) Record() int         { return s.n }
func (s said) Time() time.Duration { return time.Duration(s.n) * time.Second }
func (s said) Title() string       { return s.word }

func word(w string) func(said) bool { return func(s said) bool { return s.word == w } }

// TestOwing: of several ways the first is listed, with the others; what may come is not; what has come is not any more.
// After a deviation nothing is listed, until it turns out that a fence was answered too early.
func TestOwing(t *testing.T) {
	b := &Book[said, int]{Model: "m"}
	whats := func() (all []string) {
		for _, e := range b.Owing() {
			all = append(append(all, e.What), e.Or...)
		}
		return all
	}
	wants := func(when string, want ...string) {
		t.Helper()
		if got := whats(); !slices.Equal(got, want) {
			t.Errorf("%s, %q is owed, want %q", when, got, want)
		}
	}
	hi := said{1, "hi"}
	either := &Choice{}
	for _, w := range []string{"yes", "no", "no"} {
		b.Owe(&Owed[said, int]{What: w, Cause: hi, Clauses: []string{"X-001"}, Choice: either, Match: word(w)})
	}
	b.Allow(hi, "perhaps", word("perhaps"))
	b.Owe(&Owed[said, int]{What: "bye", Cause: hi, Clauses: []string{"X-002"}, Match: word("bye")})
	wants("at first", "yes", "no", "bye")
	if e := b.Owing()[0]; e.Record != 1 || e.Cause != "hi" || e.Since != time.Second ||
		!slices.Equal(e.Or, []string{"no"}) {
		t.Errorf("the first is %+v", e)
	}
	b.Settle(said{2, "no"})
	wants("after one of two ways", "bye")
	b.Owe(&Owed[said, int]{What: "next", Cause: said{3, "hi"}, Clauses: []string{"X-001"}, Match: word("next")})
	b.Fence(3, 4, 0)
	wants("after a deviation")
	b.Settle(said{5, "bye"}) // nothing was delivered meanwhile
	wants("after the fence has proved early", "next")
}
