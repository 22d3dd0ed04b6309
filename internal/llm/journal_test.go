package llm

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func seqs(requests []Request) []int {
	var found []int
	for _, r := range requests {
		found = append(found, r.Seq)
	}
	return found
}

// recordAll has the brain record requests, and ignores the answers.
func recordAll(b *Brain, all ...string) {
	for _, text := range all {
		_, _ = ask(context.Background(), b, user(text))
	}
}

func TestRequestIsRecorded(t *testing.T) {
	b := New()
	r := Request{
		API: APIInProcess, Model: "m", System: "s", Tools: []string{"ls"}, Stream: true,
		Messages: []Message{user("[[fail a]]"), {Role: RoleAssistant,
			Calls: []ToolCall{{ID: "1", Name: "ls", Arguments: "{}"}}}, result("1")},
	}
	want := copyRequest(r)
	if err := b.Answer(t.Context(), r, func(Part) error { return nil }); err == nil {
		t.Fatal("no failure")
	}
	r.Tools[0], r.Messages[0].Text, r.Messages[1].Calls[0].Name = "", "", "" // the caller's own copy
	got := b.Requests("a")
	if diff := cmp.Diff([]Request{want}, got, cmpopts.IgnoreFields(Request{}, "Seq", "At")); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	if got[0].Seq != 1 || got[0].At.IsZero() {
		t.Errorf("seq %d, at %v; want 1 and a time", got[0].Seq, got[0].At)
	}
	got[0].Messages[1].Calls[0].Name = "" // a copy
	if diff := cmp.Diff([]Request{want}, b.Requests("a"), cmpopts.IgnoreFields(Request{}, "Seq", "At")); diff != "" {
		t.Errorf("after a change of a copy: (-want +got)\n%s", diff)
	}
}

func TestRequestsOfANonce(t *testing.T) {
	b := New()
	recordAll(b, "[[echo a]]", "x", "[[echo b]] [[echo a]] [[recall a]]", "[[echo b]]")
	_, _ = ask(t.Context(), b, user("[[echo a]]"), Message{Role: RoleAssistant, Text: "a"}, user("the last text has none"))
	for nonce, want := range map[string][]int{"a": {1, 3}, "b": {3, 4}, "c": nil} {
		if diff := cmp.Diff(want, seqs(b.Requests(nonce))); diff != "" {
			t.Errorf("requests of %s: (-want +got)\n%s", nonce, diff)
		}
	}
	all := func(Request) bool { return true }
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, seqs(b.Find(all))); diff != "" {
		t.Errorf("all: (-want +got)\n%s", diff)
	}
	b.Forget("a")
	if diff := cmp.Diff([]int{2, 3, 4, 5}, seqs(b.Find(all))); diff != "" {
		t.Errorf("after a is forgotten: (-want +got)\n%s", diff)
	}
	b.Forget("b")
	if got := b.Requests("b"); got != nil || len(b.journal.byNonce) != 0 {
		t.Errorf("after b is forgotten: %v, %d nonces", got, len(b.journal.byNonce))
	}
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		var got, matching []Request
		go func() { got, _ = b.Await(t.Context(), "a", 2) }()
		go func() {
			matching, _ = b.AwaitMatch(t.Context(), 2, func(r Request) bool { return len(r.Messages[0].Text) == 1 })
		}()
		recordAll(b, "x", "[[echo a]]", "[[echo b]]")
		synctest.Wait()
		if got != nil || matching != nil {
			t.Fatalf("too early: %v, %v", got, matching)
		}
		recordAll(b, "[[echo a]]", "y")
		synctest.Wait()
		if diff := cmp.Diff([]int{2, 4}, seqs(got)); diff != "" {
			t.Errorf("Await: (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]int{1, 5}, seqs(matching)); diff != "" {
			t.Errorf("AwaitMatch: (-want +got)\n%s", diff)
		}
	})
}

func TestAwaitEndsByContext(t *testing.T) {
	b := New()
	recordAll(b, "[[echo a]]")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := b.Await(ctx, "a", 2)
	if len(got) != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("Await: %v, %v; want the one there is, and the context's error", got, err)
	}
	got, err = b.AwaitMatch(ctx, 2, func(Request) bool { return true })
	if len(got) != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("AwaitMatch: %v, %v; want the one there is, and the context's error", got, err)
	}
	if got, err = b.Await(ctx, "a", 1); len(got) != 1 || err != nil {
		t.Errorf("Await of what is there: %v, %v", got, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	b := New()
	const n = 50
	var all sync.WaitGroup
	for i := range n {
		nonce := strconv.Itoa(i % 5)
		all.Go(func() { recordAll(b, "[[hold "+nonce+"]]") })
		all.Go(func() {
			if _, err := b.Await(t.Context(), nonce, 1); err != nil {
				t.Error(err)
			}
			b.Release(nonce)
		})
	}
	got, err := b.AwaitMatch(t.Context(), n, func(r Request) bool { return len(b.Requests("none")) == 0 })
	all.Wait()
	if err != nil || len(got) != n || !slices.IsSorted(seqs(got)) {
		t.Errorf("%d requests in order %v, %v; want %d in order", len(got), seqs(got), err, n)
	}
}

func TestRecordIsBounded(t *testing.T) {
	b := New()
	for i := range MaxRequests + 10 {
		recordAll(b, "[[stream n"+strconv.Itoa(i)+" 0]]")
	}
	all := b.Find(func(Request) bool { return true })
	if len(all) != MaxRequests || all[0].Seq != 11 || len(b.journal.byNonce) != MaxRequests {
		t.Errorf("%d requests from %d, %d nonces; want %d from 11", len(all), all[0].Seq, len(b.journal.byNonce), MaxRequests)
	}
}

func TestBytesOfRecordAreBounded(t *testing.T) {
	const limit = 10_000
	j := newJournal(1000, limit)
	for range 100 {
		j.addRequest(Request{System: strings.Repeat("s", 1000)}, []string{"a", "b"})
	}
	if n := len(j.byNonce["a"]); n != j.all.Len() || n == 0 || n > limit/1000 || j.bytes > limit {
		t.Errorf("%d of %d requests, %d bytes; want at most %d bytes", n, j.all.Len(), j.bytes, limit)
	}
	j.addRequest(Request{System: strings.Repeat("s", 2*limit)}, nil)
	if j.all.Len() != 1 || len(j.byNonce) != 0 {
		t.Errorf("%d requests; want the newest, even if it is too large", j.all.Len())
	}
}

func TestTextsAreClipped(t *testing.T) {
	b := New()
	long := strings.Repeat("é", MaxText) + "[[echo a]]"
	parts, err := ask(t.Context(), b, user(long))
	if err != nil || len(parts) != 1 || parts[0].Text != long {
		t.Fatalf("the answer is not made from the whole text: %v", err)
	}
	got := b.Requests("a")
	if len(got) != 1 {
		t.Fatalf("%d requests; want 1: the nonce counts even where the text is clipped", len(got))
	}
	text := got[0].Messages[0].Text
	if len(text) > MaxText || len(text) < MaxText-3 || !utf8.ValidString(text) ||
		!strings.HasSuffix(text, " …[clipped from 131082 bytes]") {
		t.Errorf("%d bytes, ending %q", len(text), text[len(text)-40:])
	}
	if short := strings.Repeat("x", MaxText); clipText(short) != short {
		t.Error("a text of MaxText bytes is clipped")
	}
}

// A brain without a record answers, and holds, as any other.
func TestUnrecorded(t *testing.T) {
	b := NewUnrecorded()
	got, err := ask(t.Context(), b, user("[[echo a]]"))
	want, _ := ask(t.Context(), New(), user("[[echo a]]"))
	if diff := cmp.Diff(want, got); err != nil || len(want) == 0 || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if all := b.Find(func(Request) bool { return true }); len(all) > 0 || b.journal.bytes > 0 {
		t.Errorf("%d requests, %d bytes; want none", len(all), b.journal.bytes)
	}
}
