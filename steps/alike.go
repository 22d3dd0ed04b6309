package steps

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// UndefinedError reports that no step of the protocol matches a text, with the closest steps, as StepPattern shows
// them.
type UndefinedError struct {
	Text  string
	Alike []string
}

func (e *UndefinedError) Error() string {
	text := fmt.Sprintf("no step matches %q", e.Text)
	if len(e.Alike) > 0 {
		text += "; similar ones:\n  " + strings.Join(e.Alike, ";\n  ") // it may be put on one line
	}
	return text
}

var (
	quotedText = regexp.MustCompile(`"[^"]*"`)
	oneWord    = regexp.MustCompile(`[\pL\d_]+`)
)

// words returns the words of a step for searching, in lower case, without quoted text.
func words(text string) []string {
	return oneWord.FindAllString(strings.ToLower(quotedText.ReplaceAllString(text, "")), -1)
}

// Alike finds the steps that share most words with a text, the closest first, shorter ones before longer ones, as
// StepPattern shows them: at most n, or all for n = 0. A word also matches words that it begins. Without words it
// returns all steps in their order.
func Alike(expressions []string, text string, n int) []string {
	type hit struct {
		pattern       string
		shared, words int
	}
	wanted := words(text)
	var hits []hit
	for _, expr := range expressions {
		h := hit{pattern: StepPattern(expr)}
		has := words(h.pattern)
		h.words = len(has)
		for _, w := range wanted {
			if slices.ContainsFunc(has, func(other string) bool { return strings.HasPrefix(other, w) }) {
				h.shared++
			}
		}
		if h.shared > 0 || len(wanted) == 0 {
			hits = append(hits, h)
		}
	}
	if len(wanted) > 0 {
		slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(b.shared-a.shared, a.words-b.words) })
	}
	if n > 0 && len(hits) > n {
		hits = hits[:n]
	}
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.pattern
	}
	return out
}
