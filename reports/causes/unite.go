package causes

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// severalCodes is how many codes have to be met with the same deviation before it is taken for one that does not depend
// on the code.
const severalCodes = 3

var (
	codes = regexp.MustCompile(
		`,? ?\b(?:with )?(?:errorCode|code|refused with|with) (?:` + codeWord + `)(?:(?:,|,? or) (?:` + codeWord + `))*`)
	member = regexp.MustCompile(`\b[a-z]+[A-Z]\w*`)
)

const codeWord = `[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+`

// uniteCodes makes one of the groups that expect the same but for codes and saw the same (rule 3).
func uniteCodes(all []*group) []*group {
	type key struct {
		Pair
		class int
	}
	keyOf := func(g *group) key {
		return key{Pair{codes.ReplaceAllString(g.pair.Expected, ""), g.pair.Observed}, g.class}
	}
	sizes := map[key]int{}
	for _, g := range all {
		sizes[keyOf(g)]++
	}
	first := map[key]*group{}
	var out []*group
	for _, g := range all {
		k := keyOf(g)
		switch one := first[k]; {
		case sizes[k] < severalCodes && !withoutCode(k.Pair), one == nil:
			first[k] = g
			out = append(out, g)
		default:
			one.mergeGroup(g)
		}
	}
	return out
}

// withoutCode reports whether an error was observed where an error was expected, and had no code.
func withoutCode(p Pair) bool {
	return strings.Contains(p.Expected, "error") && strings.HasPrefix(p.Observed, "error {}")
}

// uniteMembers makes one of two groups that saw the same of a member, if one was found only where the other was
// (rule 4).
func uniteMembers(all []*group) []*group {
	bySize := slices.Clone(all)
	slices.SortStableFunc(bySize, func(a, b *group) int { return cmp.Compare(len(b.findings), len(a.findings)) })
	gone := map[*group]bool{}
	for i, large := range bySize {
		if gone[large] || !member.MatchString(large.pair.Expected) {
			continue
		}
		records := large.findingRecords()
		for _, small := range bySize[i+1:] {
			if !gone[small] && small.class == large.class && small.pair.Observed == large.pair.Observed &&
				sharesMember(small, large) && isWithin(small.findingRecords(), records) {
				gone[small] = true
				large.mergeGroup(small)
			}
		}
	}
	return slices.DeleteFunc(all, func(g *group) bool { return gone[g] })
}

// sharesMember reports whether what two groups expected is about the same member of a message.
func sharesMember(a, b *group) bool {
	of := member.FindAllString(b.pair.Expected, -1)
	return slices.ContainsFunc(member.FindAllString(a.pair.Expected, -1),
		func(m string) bool { return slices.Contains(of, m) })
}

// isWithin reports whether all of some records are among others.
func isWithin(some, others map[string]bool) bool {
	for r := range some {
		if !others[r] {
			return false
		}
	}
	return len(some) > 0
}
