package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// suggest is the end of a message about an unknown word: the known one that was meant, or what else helps.
func suggest(word string, known []string, otherwise string) string {
	if near := nearest(word, known, 1); len(near) > 0 {
		return fmt.Sprintf(" (did you mean %q?)", near[0])
	}
	return " (" + otherwise + ")"
}

// nearest finds up to n known words within a third of their length in edits, the nearest first.
func nearest(word string, known []string, n int) []string {
	cost := map[string]int{}
	var near []string
	for _, k := range known {
		cost[k] = distance(strings.ToLower(word), strings.ToLower(k))
		if cost[k] <= max(1, len(k)/3) {
			near = append(near, k)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(cost[a], cost[b]) })
	return near[:min(n, len(near))]
}

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
