package steps

import (
	"cmp"
	"slices"
	"strings"

	texts "parley/internal/words"
)

// Costs of making a step from a text, word by word. A word that is hardly another costs as much as one that is missing.
const (
	wholeWord  = 10
	smallWord  = 4 // what stands for something else, or has at most three letters
	sameWord   = 5 // what a word that is there gains
	choiceWord = 2 // one of a group of choices, or of an optional part
	nearWord   = 5 // words that cost less are the same, one of them mistyped
)

// quotedWord stands for text in quotes, which stands only for such text.
const quotedWord = "0000000"

// patternWord is a word of a step, as StepPattern shows it.
type patternWord struct {
	text string
	any  bool // it stands for something else
	skip int  // what it costs to leave it out
}

// Closest finds the steps of which a text is probably one, mistyped: those that are made from it with the fewest
// changes of words and letters, the closest first, at most n, as StepPattern shows them. Steps that share no word with
// it are left out.
func Closest(expressions []string, text string, n int) []string {
	type hit struct {
		pattern string
		cost    int
	}
	wanted := oneWord.FindAllString(strings.ToLower(quotedText.ReplaceAllString(text, quotedWord)), -1)
	var hits []hit
	for _, expr := range expressions {
		h := hit{pattern: StepPattern(expr)}
		has := patternWords(h.pattern)
		h.cost = wordsApart(wanted, has)
		if slices.ContainsFunc(has, func(p patternWord) bool {
			return !p.any && p.text != quotedWord &&
				slices.ContainsFunc(wanted, func(w string) bool { return wordApart(w, p) < nearWord })
		}) {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.cost, b.cost) })
	var out []string
	for _, h := range hits[:min(n, len(hits))] {
		out = append(out, h.pattern)
	}
	return out
}

// patternWords takes a pattern apart.
func patternWords(pattern string) (out []patternWord) {
	pattern = quotedText.ReplaceAllString(pattern, quotedWord)
	depth := 0
	for at := 0; at < len(pattern); {
		if found := oneWord.FindString(pattern[at:]); found != "" && strings.HasPrefix(pattern[at:], found) {
			p := patternWord{text: strings.ToLower(found), any: found == "X" || found == "N", skip: wholeWord}
			if p.any || found == quotedWord || len(found) <= 3 {
				p.skip = smallWord
			}
			if depth > 0 {
				p.skip = choiceWord
			}
			out, at = append(out, p), at+len(found)
			continue
		}
		switch pattern[at] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
		at++
	}
	return out
}

// wordApart is what it costs to make a word of a pattern from a word.
func wordApart(word string, p patternWord) int {
	switch {
	case p.any:
		return 0
	case word == p.text && p.text != quotedWord && len(word) > 3:
		return -sameWord
	case word == p.text:
		return 0
	}
	return min(wholeWord, 2*wholeWord*texts.Distance(word, p.text)/max(len(word), len(p.text)))
}

// wordsApart is what it costs to make a pattern from words.
func wordsApart(wanted []string, has []patternWord) int {
	row := make([]int, len(has)+1)
	for j, p := range has {
		row[j+1] = row[j] + p.skip
	}
	for _, w := range wanted {
		last := slices.Clone(row)
		row[0] += wholeWord
		for j, p := range has {
			row[j+1] = min(last[j]+wordApart(w, p), last[j+1]+wholeWord, row[j]+p.skip)
		}
	}
	return row[len(has)]
}
