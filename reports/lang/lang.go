// Package lang has the languages of reports for people. The English texts are in the code that writes them, and are the
// keys of one table for each other language. Only texts of our own are translated: what a target said, the steps and
// the expectations of scenarios, and names that a user types (protocols, roles, drivers, flags) stay as they are.
package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Of returns a text of ours that a results file holds, such as a reason, in the language. Texts that are not ours stay
// as they are.
func (l Lang) Of(text string) string {
	if l != Chinese {
		return text
	}
	if t, ok := reasons[text]; ok {
		return t
	}
	for _, p := range reasonsAbout {
		if m := p.english.FindStringSubmatch(text); m != nil {
			args := make([]any, 0, len(m))
			for _, part := range m[1:] {
				args = append(args, l.Of(part))
			}
			return fmt.Sprintf(p.chinese, args...)
		}
	}
	return text
}

// Native reports whether a text is written in the language, as far as its script tells.
func (l Lang) Native(text string) bool {
	han := false
	for _, r := range text {
		han = han || unicode.Is(unicode.Han, r)
	}
	return han == (l == Chinese)
}

// Reasons returns the English texts of ours that Of translates, without what varies; sorted.
func Reasons() []string {
	out := slices.Collect(maps.Keys(reasons))
	for _, r := range reasonsAbout {
		text := strings.NewReplacer("(?s)", "", "^", "", "$", "", `\(`, "(", `\)`, ")").Replace(r.english.String())
		head, _, _ := strings.Cut(text, "(.*)")
		out = append(out, head)
	}
	slices.Sort(out)
	return out
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
