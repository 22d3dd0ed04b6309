package target

import (
	"fmt"
	"slices"
	"strings"
)

// suggest is the mend for an unknown word: the known one that is closest, or all of them.
func suggest(word string, known []string) string {
	if near, ok := nearest(word, known); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	sorted := slices.Sorted(slices.Values(known))
	return "known here: " + strings.Join(sorted, ", ")
}

// nearest finds the known word within a third of the length in edits, case and the choice of - or _ aside.
func nearest(word string, known []string) (string, bool) {
	best, bestCost := "", 0
	for _, k := range known {
		cost := distance(plain(word), plain(k))
		if cost <= max(1, len(k)/3) && cost < len(k) && (best == "" || cost < bestCost) {
			best, bestCost = k, cost
		}
	}
	return best, best != ""
}

func plain(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "-")) }

// distance is the optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
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
