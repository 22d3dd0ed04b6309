package obligation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/steps/obligation"
)

// word is a message that is a word.
type word struct {
	n    int
	text string
}

func (w word) Record() int         { return w.n }
func (w word) Time() time.Duration { return time.Duration(w.n) * time.Second }
func (w word) Title() string       { return strings.ToUpper(w.text) }

type (
	book = obligation.Book[word, string]
	owed = obligation.Owed[word, string]
)

// said matches a word.
func said(text string) func(word) bool { return func(w word) bool { return w.text == text } }

// answer is an answer that is owed because of a question.
func answer(n int, text string, clauses ...string) *owed {
	return &owed{What: "the answer " + text, Cause: word{n, "ask " + text}, Clauses: clauses, Match: said(text)}
}

// judged lists the clauses of findings: kept ones with +, absences with 0, broken ones with -, consequences in
// brackets.
func judged(found []verdict.Finding) (out []string) {
	for _, f := range found {
		sign := "-"
		switch {
		case f.OK && f.Expected == obligation.Absence:
			sign = "0"
		case f.OK:
			sign = "+"
		}
		for _, id := range f.Clauses {
			if id = sign + id; f.Follows {
				id = "[" + id + "]"
			}
			out = append(out, id)
		}
	}
	return out
}

// TestBook: each course of messages has its findings.
func TestBook(t *testing.T) {
	for _, r := range []struct {
		reason string
		course func(b *book)
		want   string
	}{
		{"what is owed comes", func(b *book) {
			b.Owe(answer(1, "yes", "A"))
			b.Settle(word{2, "yes"})
			b.Fence(3, 4, 0)
		}, "+A"},
		{"it does not come by the fence", func(b *book) {
			b.Owe(answer(1, "yes", "A"))
			b.Fence(3, 4, 0)
		}, "-A"},
		{"the fence was sent before its cause", func(b *book) {
			b.Owe(answer(5, "yes", "A"))
			b.Fence(3, 6, 0)
		}, ""},
		{"it need not come", func(b *book) {
			b.Allow(word{1, "ask"}, "yes", said("yes"))
			b.Fence(3, 4, 0)
		}, ""},
		{"one of two ways is enough", func(b *book) {
			either := &obligation.Choice{}
			yes, no := answer(1, "yes", "A"), answer(1, "no", "B")
			yes.Choice, no.Choice = either, either
			b.Owe(yes)
			b.Owe(no)
			b.Settle(word{2, "no"})
			b.Fence(3, 4, 0)
		}, "+B"},
		{"neither of two ways is one finding", func(b *book) {
			either := &obligation.Choice{}
			yes, no := answer(1, "yes", "A"), answer(1, "no", "B")
			yes.Choice, no.Choice = either, either
			b.Owe(yes)
			b.Owe(no)
			b.Fence(3, 4, 0)
		}, "-A"},
		{"nothing that a hold forbids comes", func(b *book) {
			b.Hold(word{1, "ask"}, "A")
			b.Fence(3, 4, 0)
		}, "0A"},
		{"behind a deviation only violations count, as consequences", func(b *book) {
			b.Fail(word{1, "no"}, []string{"A"}, "yes", "no")
			b.Keep(word{2, "yes"}, "B")
			b.Fail(word{3, "no"}, []string{"C"}, "yes", "no")
		}, "-A [-C]"},
		{"wrong content is no deviation", func(b *book) {
			b.Member(false, word{1, "no"}, []string{"A"}, "yes", "no")
			b.Keep(word{2, "yes"}, "B")
		}, "-A +B"},
		{"a fence that is early breaks nothing", func(b *book) {
			b.Owe(answer(1, "yes", "A"))
			b.Fence(3, 4, 0)
			b.Settle(word{5, "yes"})
		}, "+A"},
		{"it comes behind the fence, and behind another message", func(b *book) {
			b.Owe(answer(1, "yes", "A"))
			b.Fence(3, 4, 0)
			b.Delivered(word{5, "ask more"})
			b.Settle(word{6, "yes"})
		}, "-A"},
		{"in foreign traffic it may come behind the fence", func(b *book) {
			b.Patient = true
			b.Owe(answer(1, "yes", "A"))
			b.Fence(3, 4, 0)
			b.Delivered(word{5, "ask more"})
			b.Settle(word{6, "yes"})
			b.Prove()
		}, "+A"},
		{"in foreign traffic it is missing at the end", func(b *book) {
			b.Patient = true
			b.Owe(answer(1, "yes", "A"))
			b.Owe(answer(5, "no", "B"))
			b.Fence(3, 4, 0)
			b.Prove()
		}, "-A"},
		{"a session that closes owes nothing more", func(b *book) {
			b.Loose = true
			b.Owe(answer(1, "yes", "A"))
			b.Fence(3, 4, 0)
		}, ""},
		{"a closed book", func(b *book) {
			b.Owe(answer(1, "yes", "A"))
			b.Close()
			b.Fence(3, 4, 0)
		}, ""},
	} {
		t.Run(r.reason, func(t *testing.T) {
			b := &book{Model: "m"}
			r.course(b)
			if diff := cmp.Diff(r.want, strings.Join(judged(b.Found()), " ")); diff != "" {
				t.Error(diff)
			}
			if b.Deviated() != strings.Contains(r.want, "-") && !strings.Contains(r.reason, "content") {
				t.Errorf("deviated: %v", b.Deviated())
			}
		})
	}
}

// TestBestMatch: of several that match, the one that is rated highest is settled, and the others stay owed.
func TestBestMatch(t *testing.T) {
	b := &book{Model: "m", Rate: func(o *owed, w word) int { return o.Cause.n }}
	b.Owe(answer(1, "yes", "A"))
	b.Owe(answer(2, "yes", "B"))
	o, called := b.Settle(word{3, "yes"})
	if o == nil || !called || o.Clauses[0] != "B" {
		t.Errorf("settled %+v", o)
	}
	if o, called := b.Settle(word{4, "no"}); o != nil || called {
		t.Errorf("settled %+v", o)
	}
	want := []obligation.Entry{{What: "the answer yes", Clauses: []string{"A"}, Record: 1, Cause: "ASK YES",
		Since: time.Second}}
	if diff := cmp.Diff(want, b.Owing()); diff != "" {
		t.Error(diff)
	}
}

// TestMissingTells: what came in place of a missing message is told.
func TestMissingTells(t *testing.T) {
	b := &book{Model: "m"}
	b.Settle(word{1, "maybe"})
	o := answer(2, "yes", "A")
	o.Like = said("maybe")
	b.Owe(o)
	b.Settle(word{3, "maybe"})
	b.Fence(4, 5, 0)
	found := b.Found()
	if len(found) != 1 || found[0].At != 2 || !strings.Contains(found[0].Observed, "MAYBE (record 3)") ||
		strings.Contains(found[0].Observed, "record 1") {
		t.Errorf("found %+v", found)
	}
	if b.Overdue() != 1 || len(b.Owing()) != 0 {
		t.Errorf("overdue %d, owing %v", b.Overdue(), b.Owing())
	}
}

// TestForget: a long session keeps a bounded number of messages.
func TestForget(t *testing.T) {
	b := &book{}
	for i := range 1000 {
		b.Settle(word{i, "word"})
		b.Hold(word{i, "word"}, "A")
		b.Owe(answer(i, "yes", "A"))
		b.Forget(10)
	}
	if n := len(b.Heard()); n > 20 || !slices.ContainsFunc(b.Heard(), func(h obligation.Heard[word, string]) bool {
		return h.Message.n == 999
	}) {
		t.Errorf("%d are kept", n)
	}
	if n := len(b.Owing()); n > 21 {
		t.Errorf("%d are owed", n)
	}
}
