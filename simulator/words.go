package simulator

import (
	"regexp"
	"strings"

	"parley/steps"
)

// keywords matches the keyword before a step.
var keywords = regexp.MustCompile(`^(?:Given|When|Then|And|But|\*)\s+`)

func withoutKeyword(text string) string {
	return keywords.ReplaceAllString(strings.TrimSpace(text), "")
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
	return steps.Alike(s.live.Expressions(), text, n)
}
