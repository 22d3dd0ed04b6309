package trafficview

import (
	"slices"
	"strings"
)

// matches reports whether an item fits a filter: every word of it, each of which stands for itself in the line or the
// payload, or is one of type:, conn:, clause: and verdict: with a value; a - before it negates it. Case does not count.
func (i *item) matches(filter string) bool {
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		bare, negated := strings.CutPrefix(word, "-")
		if bare != "" && i.matchesWord(bare) == negated {
			return false
		}
	}
	return true
}

func (i *item) matchesWord(word string) bool {
	key, value, keyed := strings.Cut(word, ":")
	switch {
	case keyed && key == "type":
		return strings.Contains(strings.ToLower(i.title()), value)
	case keyed && key == "conn":
		return strings.EqualFold(i.r.Conn, value)
	case keyed && key == "clause":
		return slices.ContainsFunc(i.clauses(), func(id string) bool { return strings.EqualFold(id, value) })
	case keyed && key == "verdict":
		return strings.HasPrefix(i.outcome(), value)
	}
	return strings.Contains(strings.ToLower(i.title()+" "+i.r.Conn+" "+strings.Join(i.clauses(), " ")), word) ||
		strings.Contains(strings.ToLower(string(i.r.Bytes)), word)
}
