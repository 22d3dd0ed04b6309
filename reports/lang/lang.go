// Package lang has the languages of reports for people. The English texts are in the code that writes them, and are the
// keys of two tables for each other language: what reports say (Say), and what results hold (Of). Only texts of our own
// are translated: what a target said, scenarios with their steps, and names that a user types (protocols, roles,
// drivers, flags) stay as they are.
package lang

import (
	"fmt"
	"maps"
	"slices"
	"unicode"

	"parley/internal/words"
)

// Lang is a language; the zero value is English.
type Lang string

// The languages.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// All are the languages, English first.
var All = []Lang{English, Chinese}

// Tag returns the language as an HTML document names it.
func (l Lang) Tag() string {
	if l == Chinese {
		return "zh-CN"
	}
	return string(English)
}

// Say returns a text in the language, formatted as by fmt.Sprintf unless it has no arguments. A text without a
// translation stays English.
func (l Lang) Say(text string, args ...any) string {
	if l == Chinese {
		if t, ok := chinese[text]; ok {
			text = t
		}
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Count returns a number with its noun, which is given in the singular: 1 clause, 2 clauses. The key of the noun
// "clause" is "%d clause".
func (l Lang) Count(n int, noun string) string {
	if l == Chinese {
		return l.Say("%d "+noun, n)
	}
	return words.Counted(n, noun)
}

// Native reports whether a text is written in the language, as far as its script tells.
func (l Lang) Native(text string) bool {
	han := false
	for _, r := range text {
		han = han || unicode.Is(unicode.Han, r)
	}
	return han == (l == Chinese)
}

// Keys returns the texts that have a translation, sorted.
func Keys() []string { return slices.Sorted(maps.Keys(chinese)) }

// Table returns texts with their translations, for scripts of pages, which cannot ask Say. It is empty for English.
func (l Lang) Table(keys ...string) map[string]string {
	if l != Chinese {
		return nil
	}
	out := map[string]string{}
	for _, k := range keys {
		out[k] = l.Say(k)
	}
	return out
}
