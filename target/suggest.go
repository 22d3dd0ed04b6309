package target

import (
	"slices"
	"strings"

	"parley/internal/words"
)

// suggest returns the fix for an unknown word: the closest known one, or all of them.
func suggest(word string, known []string) string {
	if len(known) == 0 {
		return "none are known here"
	}
	all := strings.Join(slices.Sorted(slices.Values(known)), ", ")
	return words.Suggest(word, known, "known here: "+all)
}
