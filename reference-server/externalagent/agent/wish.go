package agent

import (
	"slices"
	"strings"
	"unicode"
)

// wishes are the user's messages. They are matched by word: a word that occurs in an item's label or attributes
// favors the item.
type wishes []wish

type wish struct {
	text  string // in lower case
	words []string
}

// wish records a message of the user. Only the last messages count.
func (p *planner) wish(text string) {
	const most, longest = 16, 2000
	text = strings.ToLower(clip(text, longest))
	p.wishes = append(p.wishes, wish{text, wanted(wordsOf(text))})
	if len(p.wishes) > most {
		p.wishes = p.wishes[1:]
	}
}

// wordsOf splits a text into lower-case words.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
}

// idle words describe no item but may occur in a label.
var idle = []string{"the", "and", "for", "with", "please", "prefer", "want", "would", "like", "choose", "row",
	"seat", "hall", "of", "in", "at", "on", "to", "is", "me", "my", "we", "it"}

// wanted drops idle and negated words.
func wanted(words []string) (kept []string) {
	for i, w := range words {
		denied := i > 0 && slices.Contains([]string{"no", "not", "without", "never"}, words[i-1])
		if !denied && len(w) > 1 && !slices.Contains(idle, w) {
			kept = append(kept, w)
		}
	}
	return kept
}

// fits counts the words that favor an item.
func (w wishes) fits(i item) (n int) {
	for _, word := range slices.Compact(slices.Sorted(slices.Values(i.words))) {
		if slices.ContainsFunc(w, func(w wish) bool { return w.names(word) }) {
			n++
		}
	}
	return n
}

// names reports whether the wish contains the word. In scripts without word separators the word may be any part of
// the text.
func (w wish) names(word string) bool {
	if strings.IndexFunc(word, func(r rune) bool { return r > unicode.MaxLatin1 }) >= 0 && len([]rune(word)) > 1 {
		return strings.Contains(w.text, word)
	}
	return slices.Contains(w.words, word)
}

// best sorts available items first, then by how well they fit the wishes; ties keep the host's order.
func (w wishes) best(items []item) []item {
	type fitting struct {
		item
		n int
	}
	ranked := make([]fitting, 0, len(items))
	for _, i := range items {
		ranked = append(ranked, fitting{i, w.fits(i)})
	}
	slices.SortStableFunc(ranked, func(a, b fitting) int {
		switch {
		case a.available != b.available && a.available:
			return -1
		case a.available != b.available:
			return 1
		}
		return b.n - a.n
	})
	sorted := make([]item, 0, len(items))
	for _, r := range ranked {
		sorted = append(sorted, r.item)
	}
	return sorted
}
