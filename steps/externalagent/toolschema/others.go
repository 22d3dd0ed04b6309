package toolschema

import (
	"encoding/json"
	"maps"
	"math/big"

	wjson "parley/transport/wire/json"
)

// Others returns legal params that differ from those of Example in one value each: the last value of an enum, or else
// the first; the neighbours of a number and its limits, the lowest last; the opposite of a boolean. Texts stay as they
// are. A null is never one of them.
func (t *Tool) Others(known map[string]any) []map[string]any {
	usual, _ := t.Example(known)
	if usual == nil {
		return nil
	}
	var out []map[string]any
	all, of := t.properties()
	for _, name := range all {
		s, _ := of[name].(object)
		for _, v := range otherValues(s, usual[name]) {
			params := maps.Clone(usual)
			params[name] = v
			if t.Accepts(params) == nil {
				out = append(out, params)
			}
		}
	}
	return out
}

// otherValues returns values of a property other than its usual one, the likeliest to be accepted first.
func otherValues(s object, usual any) (out []any) {
	add := func(v any) {
		if v == nil || wjson.Equal(v, usual) {
			return
		}
		for _, had := range out {
			if wjson.Equal(had, v) {
				return
			}
		}
		out = append(out, v)
	}
	if list, _ := s["enum"].([]any); len(list) > 0 {
		if add(list[len(list)-1]); len(out) == 0 {
			add(list[0])
		}
		return out
	}
	if b, ok := usual.(bool); ok {
		return []any{!b}
	}
	n, ok := number(usual)
	if !ok {
		return nil
	}
	for _, step := range []int64{1, -1} {
		if next := new(big.Rat).Add(n, big.NewRat(step, 1)); next.IsInt() {
			add(json.Number(next.Num().String()))
		}
	}
	limits := limitsOf(s)
	for _, bound := range []*big.Rat{limits.high, limits.low} {
		if bound != nil && bound.IsInt() {
			add(json.Number(bound.Num().String()))
		}
	}
	return out
}
