package simulator

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"parley/steps"
)

// keyword matches the keyword before a step.
var keyword = regexp.MustCompile(`^(?:Given|When|Then|And|But|\*)\s+`)

func withoutKeyword(text string) string { return keyword.ReplaceAllString(strings.TrimSpace(text), "") }

// UndefinedError says that no step matches a text, and lists the closest ones.
type UndefinedError struct {
	Text  string
	Alike []string
}

func (e *UndefinedError) Error() string {
	text := fmt.Sprintf("no step reads %q", e.Text)
	if len(e.Alike) > 0 {
		text += "; some that read alike:\n  " + strings.Join(e.Alike, "\n  ")
	}
	return text
}

// Patterns returns the steps of the protocol as shown to people.
func (s *Session) Patterns() []string {
	var all []string
	for _, expr := range s.live.Expressions() {
		all = append(all, steps.StepPattern(expr))
	}
	return all
}

// Search returns the steps that share the most words with a text, the closest first; at most n, or all for n = 0. For
// a text without words it returns all steps, in their order.
func (s *Session) Search(text string, n int) []string {
	wanted := wordsOf(text)
	type hit struct {
		pattern string
		shared  int
	}
	var hits []hit
	for _, p := range s.Patterns() {
		has, shared := wordsOf(p), 0
		for _, w := range wanted {
			if slices.ContainsFunc(has, func(h string) bool { return strings.HasPrefix(h, w) }) {
				shared++
			}
		}
		if shared > 0 || len(wanted) == 0 {
			hits = append(hits, hit{p, shared})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.shared - a.shared })
	var out []string
	for _, h := range hits {
		if n > 0 && len(out) == n {
			break
		}
		out = append(out, h.pattern)
	}
	return out
}

var word = regexp.MustCompile(`[\pL\d_]+`)

// wordsOf returns the search words of a step in lower case, ignoring quoted text.
func wordsOf(text string) []string {
	return word.FindAllString(strings.ToLower(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(text, "")), -1)
}
