// Package words builds phrases for people: counts, choices, and suggestions for mistyped words.
package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Suggest returns `did you mean "open"?` with the nearest known word, or otherwise if none is near.
func Suggest(word string, known []string, otherwise string) string {
	if near := Near(word, known, 1); len(near) > 0 {
		return fmt.Sprintf("did you mean %q?", near[0])
	}
	return otherwise
}

// Near returns up to n known words that the word may stand for, the nearest first; equally near words keep their
// order. A word is near if at most a third of its letters (at least one, but not all) need to be inserted, deleted,
// replaced or swapped with a neighbour. Case and the choice of - or _ do not count. The result is nil if none is
// near.
func Near(word string, known []string, n int) []string {
	cost := map[string]int{}
	var near []string
	for _, k := range known {
		cost[k] = Distance(normalizeWord(word), normalizeWord(k))
		if cost[k] <= max(1, len(k)/3) && cost[k] < len(k) {
			near = append(near, k)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(cost[a], cost[b]) })
	return near[:min(n, len(near))]
}

// Counted formats a number of things: 1 clause, 2 clauses.
func Counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Either formats alternatives: a, b or c.
func Either(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

func normalizeWord(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "-")) }

// Distance is the optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
func Distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
