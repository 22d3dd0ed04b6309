package sessionchat

import (
	"maps"
	"slices"
	"strings"
)

// The text of a message may be in it twice, as a string and as a list of blocks. It is looked for only where a message
// would have it, so that the work grows with the message and no faster.
const (
	maxForms = 16 // members of an object
	maxTexts = 8  // texts of a member
	maxDepth = 4  // objects within each other
)

// texts returns the strings within a value, those of an object by the names of its members. What two members of an
// object say alike counts once: the same text as a string and as a list of blocks is shown once.
func texts(v any) []string { return gather(nil, v, maxDepth) }

func gather(into []string, v any, depth int) []string {
	switch v := v.(type) {
	case string:
		return append(into, v)
	case []any:
		for _, e := range v {
			into = gather(into, e, depth)
		}
	case map[string]any:
		if depth == 0 || len(v) > maxForms {
			for _, k := range slices.Sorted(maps.Keys(v)) {
				into = gather(into, v[k], depth)
			}
			return into
		}
		members := make([][]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			members = append(members, gather(nil, v[k], depth-1))
		}
		for i, said := range members {
			if len(said) > maxTexts {
				continue
			}
			for _, whole := range said {
				for j := range members {
					if j != i {
						members[j] = without(members[j], whole)
					}
				}
			}
		}
		return append(into, slices.Concat(members...)...)
	}
	return into
}

// without returns the parts but those of which, in their order, a whole consists; all of them if it does not.
func without(parts []string, whole string) []string {
	rest, taken := whole, 0
	left := make([]string, 0, len(parts))
	for _, part := range parts {
		if after, found := strings.CutPrefix(rest, part); found && part != "" {
			rest, taken = after, taken+1
		} else {
			left = append(left, part)
		}
	}
	if rest != "" || taken == 0 {
		return parts
	}
	return left
}
