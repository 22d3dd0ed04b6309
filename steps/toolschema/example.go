package toolschema

import (
	"math/big"
	"slices"

	wjson "parley/transport/wire/json"
)

// Example makes params that keep to the announced schema. settled reports whether the schema itself settles every
// value, so that the tool has no reason to find them wrong. known may have values that the target has shown. It
// returns nil if it finds none.
func (t *Tool) Example(known map[string]any) (params map[string]any, settled bool) {
	return t.example(choice{known: known})
}

// Examples returns up to two legal params: with the first value of each enum, as in Example, and with the last one.
func (t *Tool) Examples(known map[string]any) []map[string]any {
	var out []map[string]any
	for _, last := range []bool{false, true} {
		params, _ := t.example(choice{known: known, last: last})
		if params != nil && (len(out) == 0 || !wjson.Equal(out[0], params)) {
			out = append(out, params)
		}
	}
	return out
}

// choice says which values are preferred.
type choice struct {
	known      map[string]any
	last       bool // the last value of an enum
	noDefaults bool
}

func (t *Tool) example(c choice) (params object, settled bool) {
	if _, err := t.validator(); err != nil {
		return nil, false
	}
	all, of := t.properties()
	params, settled = object{}, !t.read().loose
	for _, name := range all {
		v, sure := c.value(of[name], c.known[name])
		if !t.requires(name) && !sure {
			continue
		}
		params[name] = v
		settled = settled && sure
	}
	if t.Accepts(params) == nil {
		return params, settled
	}
	if !c.noDefaults { // a default may be what breaks the schema
		c.noDefaults = true
		return t.example(c)
	}
	return nil, false
}

// value makes a value for a property, and reports whether it is settled by the schema or by what is known.
func (c choice) value(schema, known any) (v any, sure bool) {
	s, _ := schema.(object)
	if only, ok := s["const"]; ok {
		return only, true
	}
	if list, _ := s["enum"].([]any); len(list) > 0 {
		if c.last {
			if last := list[len(list)-1]; last != nil || len(list) == 1 {
				return last, true
			}
			return list[len(list)-2], true
		}
		if known != nil && slices.ContainsFunc(list, func(x any) bool { return wjson.Equal(x, known) }) {
			return known, true
		}
		return list[0], true
	}
	if known != nil { // a null says nothing
		return known, true
	}
	if preset, ok := s["default"]; ok && !c.noDefaults {
		return preset, true
	}
	switch kind(s) {
	case "integer", "number":
		return numeral(s)
	case "boolean":
		return true, true
	case "array":
		return []any{}, false
	case "object":
		return object{}, false
	}
	text := "parley"
	if n, ok := number(s["maxLength"]); ok && n.Cmp(big.NewRat(int64(len(text)), 1)) < 0 && n.IsInt() {
		text = text[:max(0, n.Num().Int64())]
	}
	return text, false
}

// kinds returns the types that a property may have, or nil if it does not say.
func kinds(s object) []string {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, x := range t {
			if k, ok := x.(string); ok {
				out = append(out, k)
			}
		}
		return out
	}
	if h, ok := s[hint].(string); ok {
		return []string{h}
	}
	return nil
}

// kind returns the type for a made-up value, the first that is not null, or "" if anything is allowed.
func kind(s object) string {
	for _, k := range kinds(s) {
		if k != "null" {
			return k
		}
	}
	return ""
}

// number parses a number that can be calculated with.
func number(v any) (*big.Rat, bool) {
	n, ok := v.(wjson.Number)
	if !ok || len(n) > maxDigits {
		return nil, false
	}
	if d, err := parse(n, maxDigits); err != nil || d.Exponent > maxExponent || d.Exponent < -maxExponent {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// limits are the bounds of a number.
type limits struct {
	low, high           *big.Rat // nil: unbounded
	aboveLow, belowHigh bool     // exclusive bounds
	multiple            *big.Rat
	integer             bool
}

func limitsOf(s object) limits {
	l := limits{integer: !slices.Contains(kinds(s), "number") && slices.Contains(kinds(s), "integer")}
	l.low, _ = number(s["minimum"])
	l.high, _ = number(s["maximum"])
	l.aboveLow, l.belowHigh = s["exclusiveMinimum"] == true, s["exclusiveMaximum"] == true // as in draft 4
	if x, ok := number(s["exclusiveMinimum"]); ok && (l.low == nil || x.Cmp(l.low) >= 0) {
		l.low, l.aboveLow = x, true
	}
	if x, ok := number(s["exclusiveMaximum"]); ok && (l.high == nil || x.Cmp(l.high) <= 0) {
		l.high, l.belowHigh = x, true
	}
	if m, ok := number(s["multipleOf"]); ok && m.Sign() > 0 {
		l.multiple = m
	}
	return l
}

func (l limits) fit(n *big.Rat) bool {
	if l.low != nil && (n.Cmp(l.low) < 0 || l.aboveLow && n.Cmp(l.low) == 0) {
		return false
	}
	if l.high != nil && (n.Cmp(l.high) > 0 || l.belowHigh && n.Cmp(l.high) == 0) {
		return false
	}
	if l.multiple != nil && !new(big.Rat).Quo(n, l.multiple).IsInt() {
		return false
	}
	return !l.integer || n.IsInt()
}

// numeral makes a number within the bounds of a property, preferably an integer and the least one. It is settled if
// there is a lower bound.
func numeral(s object) (v any, sure bool) {
	l, one := limitsOf(s), big.NewRat(1, 1)
	var tried []*big.Rat
	around := func(n, step *big.Rat) { // multiples of step near n
		least := new(big.Rat).Mul(ceiling(new(big.Rat).Quo(n, step)), step)
		tried = append(tried, least, new(big.Rat).Add(least, step), new(big.Rat).Sub(least, step),
			new(big.Rat).Sub(least, new(big.Rat).Add(step, step)))
	}
	from := one
	switch {
	case l.low != nil:
		from = l.low
	case l.high != nil && l.high.Cmp(one) <= 0:
		from = l.high
	}
	around(from, one)
	if l.multiple != nil {
		around(from, l.multiple)
		if l.multiple.IsInt() || !l.integer {
			// its multiples are integers, or need not be
		} else { // the integer multiples of a/b are the multiples of a
			around(from, new(big.Rat).SetInt(l.multiple.Num()))
		}
	}
	tried = append(tried, from)
	if l.low != nil && l.high != nil {
		tried = append(tried, new(big.Rat).Quo(new(big.Rat).Add(l.low, l.high), big.NewRat(2, 1)))
	}
	if l.low == nil && l.high != nil {
		tried = append(tried, new(big.Rat).Sub(l.high, one))
	}
	for _, n := range tried {
		if l.fit(n) {
			return literal(n), l.low != nil
		}
	}
	return wjson.Number("1"), false
}

func ceiling(n *big.Rat) *big.Rat {
	down := new(big.Int).Div(n.Num(), n.Denom()) // rounded down, as the divisor is positive
	if !n.IsInt() {
		down.Add(down, big.NewInt(1))
	}
	return new(big.Rat).SetInt(down)
}

// literal writes a number as a decimal. All numbers made here have a finite one.
func literal(n *big.Rat) wjson.Number {
	digits, _ := n.FloatPrec()
	return wjson.Number(n.FloatString(digits))
}
