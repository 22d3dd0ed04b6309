package sessionchat

import (
	"maps"
	"slices"
	"strings"
)

// maxForms bounds the members of an object that are compared with each other.
const maxForms = 16

// texts returns the strings within a value, those of an object by the names of its members. What two members of an
// object say alike counts once: the same text as a string and as a list of blocks is shown once.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	case map[string]any:
		var members [][]string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if said := texts(v[k]); len(said) > 0 {
				members = append(members, said)
			}
		}
		for _, said := range distinct(members) {
			all = append(all, said...)
		}
	}
	return all
}

// distinct leaves out members whose texts another one has, the longer list before the shorter one.
func distinct(members [][]string) [][]string {
	if len(members) > maxForms {
		return members
	}
	var kept [][]string
	for i, said := range members {
		repeated := false
		for j, other := range members {
			first := len(other) > len(said) || len(other) == len(said) && j < i
			repeated = repeated || first && covers(other, said)
		}
		if !repeated {
			kept = append(kept, said)
		}
	}
	return kept
}

// covers reports whether each of some texts is one of others, or consists of others in their order.
func covers(others, some []string) bool {
	for _, text := range some {
		rest := text
		for _, part := range others {
			rest = strings.TrimPrefix(rest, part)
		}
		if rest != "" && !slices.Contains(others, text) {
			return false
		}
	}
	return true
}
