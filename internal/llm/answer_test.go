package llm

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func user(text string) Message { return Message{Role: RoleUser, Text: text} }

func result(id string) Message { return Message{Role: RoleTool, Text: "result", ResultOf: id} }

// ask returns the parts of an answer.
func ask(ctx context.Context, b *Brain, messages ...Message) ([]Part, error) {
	var parts []Part
	err := b.Answer(ctx, Request{Messages: messages}, func(p Part) error {
		parts = append(parts, p)
		return nil
	})
	return parts, err
}

func texts(all ...string) []Part {
	var parts []Part
	for _, text := range all {
		parts = append(parts, Part{Text: text})
	}
	return parts
}

func TestAnswer(t *testing.T) {
	const twoTools = `[[tool a ls {}]] [[tool b cat {"p":1}]] [[echo c]]`
	ls, cat := &ToolCall{Name: "ls", Arguments: "{}"}, &ToolCall{Name: "cat", Arguments: `{"p":1}`}
	tests := []struct {
		reason   string
		messages []Message
		want     []Part
		err      error
	}{
		{"no message", nil, texts("ok"), nil},
		{"no directive", []Message{user("hello")}, texts("ok"), nil},
		{"echo says the user's text", []Message{user(" x [[echo a]]\n")}, texts(" x [[echo a]]\n"), nil},
		{"stream says n parts", []Message{user("[[stream a 2]]")}, texts("stream a 1/2 ", "stream a 2/2 "), nil},
		{"stream of none says nothing", []Message{user("[[stream a 0]]")}, nil, nil},
		{
			"several are carried out in order, each on its line", []Message{user("[[stream a 2]] [[recall b]]")},
			texts("stream a 1/2 ", "stream a 2/2 ", "\n(0)"), nil,
		},
		{"the last user text counts", []Message{user("[[stream a 2]]"), {Role: RoleAssistant, Text: "[[stream b 3]]"},
			user("x")}, texts("ok"), nil},
		{"a reminder after it does not", []Message{user("[[stream a]]"), user("remember: be brief")},
			texts("stream a 1/1 "), nil},
		{"nor a turn that was broken off, joined before it", []Message{user("[[hold a]]\n\n[[stream b]] now")},
			texts("stream b 1/1 "), nil},
		{"a user message without text does not", []Message{user("[[stream a]]"), user("")}, texts("stream a 1/1 "), nil},
		{"fail", []Message{user("[[fail a 503]] [[echo b]]")}, nil, &Failure{503, "failing a as asked"}},
		{"fail after parts", []Message{user("[[stream a]] [[fail b]]")}, texts("stream a 1/1 "),
			&Failure{500, "failing b as asked"}},
		{"tool ends the answer at its call", []Message{user(twoTools)}, []Part{{Call: ls}}, nil},
		{
			"the result of a call lets the answer go on", []Message{user(twoTools), result("1")},
			[]Part{{Text: "tool a answered"}, {Call: cat}}, nil,
		},
		{
			"results of one call count once", []Message{user(twoTools), result("1"), result("1")},
			[]Part{{Text: "tool a answered"}, {Call: cat}}, nil,
		},
		{
			"the last result lets the rest come", []Message{user(twoTools), result("1"), result("2")},
			texts("tool b answered", "\n"+twoTools), nil,
		},
		{
			"more results than calls do not matter", []Message{user("[[tool a ls]]"), result("1"), result("2")},
			texts("tool a answered"), nil,
		},
		{"results of an earlier turn do not count", []Message{user("x"), result("1"), user("[[tool a ls]]")},
			[]Part{{Call: ls}}, nil},
		{"output before an answered tool is not repeated", []Message{user("[[stream a]] [[tool b ls]]"), result("1")},
			texts("tool b answered"), nil},
		{"a failure after a result comes first", []Message{user("[[tool a ls]] [[fail b 502]]"), result("1")}, nil,
			&Failure{502, "failing b as asked"}},
		{"recall without earlier turns", []Message{user("[[recall a]]")}, texts("(0)"), nil},
		{
			"recall names the earlier turns in order, a nonce once per turn",
			[]Message{user("[[echo b]]"), {Role: RoleAssistant, Text: "[[echo z]]"},
				user("[[stream a 1]] [[hold a]] [[echo c]]"), user("x"), user("[[echo b]]"), user("[[recall d]]")},
			texts("b a c b (4)"), nil,
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			parts, err := ask(t.Context(), New(), test.messages...)
			if diff := cmp.Diff(test.want, parts, cmpopts.IgnoreFields(ToolCall{}, "ID")); diff != "" {
				t.Errorf("parts: (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.err, err); diff != "" {
				t.Errorf("error: (-want +got)\n%s", diff)
			}
		})
	}
}

func TestCallIDsAreUnique(t *testing.T) {
	seen := map[string]bool{"": true}
	for range 100 {
		parts, err := ask(t.Context(), New(), user("[[tool a ls]]"))
		if err != nil || len(parts) != 1 || parts[0].Call == nil {
			t.Fatalf("answer: %v, %v", parts, err)
		}
		if id := parts[0].Call.ID; seen[id] {
			t.Fatalf("id %q again", id)
		} else {
			seen[id] = true
		}
	}
}

func TestAnswerEndsByEmit(t *testing.T) {
	broken := errors.New("broken")
	n := 0
	err := New().Answer(t.Context(), Request{Messages: []Message{user("[[stream a 3]]")}}, func(Part) error {
		n++
		return broken
	})
	if err != broken || n != 1 {
		t.Errorf("Answer: %v after %d parts; want the error of emit after the first", err, n)
	}
}

func TestAnswerEndsByContext(t *testing.T) {
	for _, text := range []string{"x", "[[stream a 3]]", "[[hold a]]", "[[tool a ls]]", "[[fail a]]", "[[echo a]]"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if parts, err := ask(ctx, New(), user(text)); !errors.Is(err, context.Canceled) || parts != nil {
			t.Errorf("%s: %v, %v; want nothing and the context's error", text, parts, err)
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	brain := New()
	r := Request{
		System: "You are an agent.",
		Tools:  []string{"ls", "cat"},
		Messages: []Message{
			user("[[echo a]]"), {Role: RoleAssistant, Text: "[[echo a]]"}, user("[[stream a 16]] and [[recall b]]"),
		},
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := brain.Answer(b.Context(), r, func(Part) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
