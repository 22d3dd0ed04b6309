package model

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/cut"
	vocab "parley/protocol/externalagent"
	wjson "parley/transport/wire/json"
)

// Comparison compares states of a host. Settled returns a member of a state without what changes by itself or is
// specific to a session, which no record shows; nil: nothing does.
type Comparison struct{ Settled func(name string, v any) any }

func (c Comparison) settled(name string, v any) any {
	if c.Settled == nil {
		return v
	}
	return c.Settled(name, v)
}

// Same reports whether two states agree apart from what changes by itself.
func (c Comparison) Same(a, b State) bool { return c.Difference(a, b) == "" }

// Difference returns how two states differ, as a diff with - expected and + observed, or "".
func (c Comparison) Difference(want, got State) string {
	for _, name := range Members {
		if d := c.Differs(name, want, got); d != "" {
			return d
		}
	}
	return ""
}

// Differs is Difference for one member.
func (c Comparison) Differs(name string, want, got State) string {
	a, b := want.Member(name), got.Member(name)
	if identical(a, b) {
		return ""
	}
	if a, b = c.settled(name, a), c.settled(name, b); wjson.Equal(a, b) {
		return ""
	}
	return Apart(name, a, b)
}

// identical reports whether two values are the same one in memory, as after repeats. For long values that is faster
// than a comparison.
func identical(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && len(x) == len(y) && len(x) > 0 && &x[0] == &y[0]
	case object:
		y, ok := b.(object)
		return ok && reflect.ValueOf(x).UnsafePointer() == reflect.ValueOf(y).UnsafePointer()
	}
	return false
}

// Apart lists the places at which two values differ, each with the expected (-) and observed (+) value.
func Apart(name string, want, got any) string {
	const most = 8
	lines := []string{name + ":"}
	all := Changes(name, want, got)
	for i, at := range all {
		if i == most {
			lines = append(lines, fmt.Sprintf("  and %d places more", len(all)-most))
			break
		}
		lines = append(lines, "  at "+at, "  - "+There(want, strings.TrimPrefix(at, name)),
			"  + "+There(got, strings.TrimPrefix(at, name)))
	}
	return strings.Join(lines, "\n")
}

// There renders the target of a JSON Pointer.
func There(doc any, pointer string) string {
	v, ok := wjson.Lookup(doc, pointer)
	if !ok {
		return "nothing"
	}
	return cut.Head(wjson.Compact(v), 160)
}

// Changes returns the places at which two values differ, as JSON Pointers after a name.
func Changes(at string, a, b any) []string {
	if wjson.Equal(a, b) {
		return nil
	}
	switch a := a.(type) {
	case object:
		if b, ok := b.(object); ok {
			var out []string
			for _, name := range slices.Sorted(maps.Keys(a)) {
				out = append(out, Changes(at+wjson.FormatPointer(name), a[name], b[name])...)
			}
			for _, name := range slices.Sorted(maps.Keys(b)) {
				if _, there := a[name]; !there {
					out = append(out, at+wjson.FormatPointer(name))
				}
			}
			return out
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			var out []string
			for i := range a {
				out = append(out, Changes(fmt.Sprintf("%s/%d", at, i), a[i], b[i])...)
			}
			return out
		}
	}
	return []string{at}
}

// Shows reports whether a state shows the effect of a call compared with the state before it. The last stage has no
// next screen, so there the effect of next may show anywhere.
func (c Comparison) Shows(tool string, last bool, before, after State) bool {
	if tool == vocab.PostMessage {
		a, _ := before.History.([]any)
		b, _ := after.History.([]any)
		return len(b) > len(a)
	}
	changed := c.Differs("uiSpec", before, after) != "" || c.Differs("toolSchema", before, after) != ""
	if slices.Contains(Effective, tool) && !last {
		return changed
	}
	return changed || c.Differs("messageHistory", before, after) != ""
}

// Drawn returns the places at which the uiSpec of two states differs.
func (c Comparison) Drawn(a, b State) []string {
	return Changes("uiSpec", c.settled("uiSpec", a.UI), c.settled("uiSpec", b.UI))
}

// ExceptAt returns the places that are not at, above or below any other ones.
func ExceptAt(places, others []string) []string {
	return slices.DeleteFunc(slices.Clone(places), func(at string) bool {
		return slices.ContainsFunc(others, func(o string) bool {
			return strings.HasPrefix(at+"/", o+"/") || strings.HasPrefix(o+"/", at+"/")
		})
	})
}

// Contradiction returns the first place that both values have with different content, or "".
func Contradiction(at string, a, b any) string {
	x, ok := a.(object)
	y, both := b.(object)
	if !ok || !both {
		if wjson.Equal(a, b) || partOf(a, b) {
			return ""
		}
		return fmt.Sprintf("%s/: %s, and then %s", at, cut.Head(wjson.Compact(a), 200), cut.Head(wjson.Compact(b), 200))
	}
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if other, there := y[name]; there {
			if where := Contradiction(at+wjson.FormatPointer(name), x[name], other); where != "" {
				return where
			}
		}
	}
	return ""
}

// partOf reports whether all items of an array are also in another: a quick uiSpec may show a part.
func partOf(a, b any) bool {
	part, ok := a.([]any)
	whole, both := b.([]any)
	if !ok || !both || len(part) == 0 {
		return false
	}
	for _, item := range part {
		if !slices.ContainsFunc(whole, func(other any) bool { return wjson.Equal(item, other) }) {
			return false
		}
	}
	return true
}

// Unlike returns a check of two states that differ, with the differing member and the difference.
func Unlike(at int, difference, expected string, clauses ...string) verdict.Finding {
	member, _, _ := strings.Cut(difference, ":")
	return verdict.Finding{Clauses: clauses, At: at, Expected: expected, Observed: "another " + member,
		Diff: cut.Head(difference, 4000), Judge: verdict.ByModel}
}
