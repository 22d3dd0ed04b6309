package target

import (
	"slices"
	"strings"

	"parley/internal/words"
)

// suggest is the mend for an unknown word: the known one that is closest, or all of them.
func suggest(word string, known []string) string {
	if len(known) == 0 {
		return "none are known here"
	}
	all := strings.Join(slices.Sorted(slices.Values(known)), ", ")
	return words.Suggest(word, known, "known here: "+all)
}
