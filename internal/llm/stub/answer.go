package stub

import (
	"crypto/rand"
	"strings"
	"unicode/utf8"

	"parley/internal/llm"
)

// answer collects the parts of an answer. Consecutive texts are one item.
type answer struct {
	items []*item
}

// item is a text or a tool call.
type item struct {
	text strings.Builder
	call *llm.ToolCall
}

// add adds a part, and returns the item it belongs to and whether that is new.
func (a *answer) add(p llm.Part) (i *item, isNew bool) {
	if p.Call == nil && len(a.items) > 0 && a.last().call == nil {
		i = a.last()
	} else {
		i, isNew = &item{call: p.Call}, true
		a.items = append(a.items, i)
	}
	i.text.WriteString(p.Text)
	return i, isNew
}

func (a *answer) last() *item { return a.items[len(a.items)-1] }

// text returns all texts; nil if there are none.
func (a *answer) text() *string {
	var texts []string
	for _, i := range a.items {
		if i.call == nil {
			texts = append(texts, i.text.String())
		}
	}
	if texts == nil {
		return nil
	}
	return new(strings.Join(texts, "\n"))
}

func (a *answer) calls() []llm.ToolCall {
	var calls []llm.ToolCall
	for _, i := range a.items {
		if i.call != nil {
			calls = append(calls, *i.call)
		}
	}
	return calls
}

// tokens estimates the size of the answer.
func (a *answer) tokens() int {
	n := 0
	for _, i := range a.items {
		n += tokens(i.text.Len())
		if i.call != nil {
			n += tokens(len(i.call.Name) + len(i.call.Arguments))
		}
	}
	return n
}

// inputTokens estimates the size of a request.
func inputTokens(r llm.Request) int {
	n := tokens(len(r.System))
	for _, m := range r.Messages {
		n += 1 + tokens(len(m.Text))
		for _, c := range m.Calls {
			n += tokens(len(c.Name) + len(c.Arguments))
		}
	}
	for _, t := range r.Tools {
		n += tokens(len(t))
	}
	return n
}

func tokens(bytes int) int { return (bytes + 3) / 4 }

// pieces splits the arguments of a call in two, as the APIs stream them; a client has to join them.
func pieces(arguments string) []string {
	half := len(arguments) / 2
	for half > 0 && !utf8.RuneStart(arguments[half]) {
		half--
	}
	return []string{arguments[:half], arguments[half:]}
}

func newID(prefix string) string { return prefix + rand.Text() }
