// Package looks compares what a page shows with what it owes its user.
package looks

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	texts "parley/protocol/agentclient"
	"parley/transport/driver/browser/snapshot"
)

// folded returns a text without irrelevant differences: white space and full-width punctuation.
func folded(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsSpace(r) || r == '\u200b':
			continue
		case r >= '！' && r <= '～':
			r -= '！' - '!'
		case r == '。':
			r = '.'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Contains reports whether a text has another one as a part, but for irrelevant differences.
func Contains(text, part string) bool { return strings.Contains(folded(text), folded(part)) }

// More reports whether a text is visible more often than before.
func More(before, now *snapshot.Page, text string) bool {
	count := func(l *snapshot.Page) int {
		if l == nil {
			return 0
		}
		return strings.Count(folded(l.Text), folded(text))
	}
	return count(now) > count(before)
}

// InChat counts how often the chat has a text.
func InChat(l *snapshot.Page, text string) int {
	n := 0
	if l != nil {
		for _, line := range l.Chat {
			n += strings.Count(folded(line), folded(text))
		}
	}
	return n
}

// Unlike describes how the options after the first ones differ from agents with these names; "" if they do not. An
// option may show more than the name.
func Unlike(l *snapshot.Page, names []string, after int) string {
	var others []string
	count := make([]int, len(names))
	for _, o := range l.Select.Options[min(after, len(l.Select.Options)):] {
		at := -1
		for j, name := range names {
			if Contains(o.Text, name) && (at < 0 || len(name) > len(names[at])) {
				at = j
			}
		}
		switch {
		case at >= 0 && o.Disabled:
			return fmt.Sprintf("the option of %q is disabled", names[at])
		case at >= 0:
			count[at]++
		case !o.Disabled && o.Value != "":
			others = append(others, o.Text)
		}
	}
	for j, n := range count {
		if n != 1 {
			return fmt.Sprintf("%d options have the name %q; the options are %s", n, names[j], Options(l))
		}
	}
	if len(others) > 0 {
		return fmt.Sprintf("there are also %q; the options are %s", others, Options(l))
	}
	return ""
}

// Options formats the options of a snapshot.
func Options(l *snapshot.Page) string {
	var out []string
	for _, o := range l.Select.Options {
		text := fmt.Sprintf("%q", o.Text)
		if o.Disabled {
			text += " (disabled)"
		}
		if o.Selected {
			text += " (selected)"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// NotSelected describes why no option with an agent's name is selected; "" if one is.
func NotSelected(name string) func(*snapshot.Page) string {
	return func(l *snapshot.Page) string {
		selected := func(o snapshot.Option) bool { return o.Selected && Contains(o.Text, name) }
		if slices.ContainsFunc(l.Select.Options, selected) {
			return ""
		}
		return "the options are " + Options(l)
	}
}

// OptionWith returns the index of the first option whose text contains text; -1: none.
func OptionWith(l *snapshot.Page, text string) int {
	return slices.IndexFunc(l.Select.Options, func(o snapshot.Option) bool { return Contains(o.Text, text) })
}

// Placeholders counts the options before the first one that can be chosen or speaks of an unknown agent.
func Placeholders(l *snapshot.Page) int {
	first := slices.IndexFunc(l.Select.Options, func(o snapshot.Option) bool {
		return !o.Disabled || Contains(o.Text, texts.StalePrefix)
	})
	return max(first, 0)
}
