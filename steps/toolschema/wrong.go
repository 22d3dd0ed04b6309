package toolschema

import (
	"maps"
	"math/big"
	"slices"

	wjson "parley/transport/wire/json"
)

// The limits for calls that are wrong in one way.
const (
	maxWrong      = 64
	maxTried      = 256
	maxWrongSteps = maxSteps // for checking what is tried against the schema
)

// Wrong is a call that breaks the announced schema.
type Wrong struct {
	Tool   string
	Param  string // the wrong param
	Params any
}

// Wrong derives calls of an announced tool that break its schema in one way: "missing", "of another type", "null",
// "not in the enum", "below the minimum", "above the maximum", "fractional", "negative", "unknown". Each starts from
// legal params. "not in the enum" also uses others, by param name: values announced for the param elsewhere, such as
// at an earlier stage.
func (t *Tool) Wrong(how string, known map[string]any, others map[string][]any) []Wrong {
	right, _ := t.Example(known)
	if right == nil {
		return nil
	}
	d := &deriving{tool: t, right: right}
	if how == "unknown" {
		d.add("parleyUnknown", "x")
		return d.out
	}
	all, of := t.properties()
	for _, name := range all {
		s, _ := of[name].(object)
		d.param(how, name, s, others[name])
		if d.full() {
			break
		}
	}
	return d.out
}

// deriving derives wrong calls from legal params.
type deriving struct {
	tool         *Tool
	right        object
	out          []Wrong
	tried, steps int
}

func (d *deriving) full() bool {
	return len(d.out) >= maxWrong || d.tried >= maxTried || d.steps >= maxWrongSteps
}

// add adds a call with another value if the schema finds it wrong.
func (d *deriving) add(name string, v any) {
	params := maps.Clone(d.right)
	params[name] = v
	d.take(name, params, false)
}

// leave adds a call without a param.
func (d *deriving) leave(name string) {
	params := maps.Clone(d.right)
	delete(params, name)
	d.take(name, params, false)
}

func (d *deriving) take(name string, params object, stated bool) {
	if d.full() {
		return
	}
	d.tried++
	steps, err := d.tool.accepts(params)
	d.steps += steps
	if err != nil || stated {
		d.out = append(d.out, Wrong{d.tool.Name, name, params})
	}
}

// param derives the calls in which one param is wrong.
func (d *deriving) param(how, name string, s object, others []any) {
	one := big.NewRat(1, 1)
	switch how {
	case "missing":
		if d.tool.requires(name) {
			d.leave(name)
		}
	case "of another type":
		for _, v := range d.otherKinds(name, s) {
			d.add(name, v)
		}
	case "null":
		d.add(name, nil)
	case "not in the enum":
		if _, ok := s["enum"]; ok {
			d.add(name, "parley-not-in-the-enum")
			d.add(name, "")
			for i, v := range others[:min(len(others), maxTried)] {
				if v != "" && !has(others[:i], v) {
					d.add(name, v)
				}
			}
		}
	case "below the minimum":
		if low, ok := number(s["minimum"]); ok {
			d.add(name, wjson.Number(new(big.Rat).Sub(low, one).FloatString(0)))
		}
		if low, ok := number(s["exclusiveMinimum"]); ok {
			d.add(name, literal(low))
		}
	case "above the maximum":
		if high, ok := number(s["maximum"]); ok {
			d.add(name, wjson.Number(new(big.Rat).Add(high, one).FloatString(0)))
		}
		if high, ok := number(s["exclusiveMaximum"]); ok {
			d.add(name, literal(high))
		}
	case "negative":
		d.negative(name, s)
	case "fractional":
		if k := kinds(s); slices.Contains(k, "integer") && !slices.Contains(k, "number") {
			d.add(name, wjson.Number("1.5"))
		}
	}
}

// otherKinds returns values of types that a property does not have, including a number or boolean as text.
func (d *deriving) otherKinds(name string, s object) []any {
	right := d.right[name]
	var out []any
	for _, v := range []any{object{"a": wjson.Number("1")}, []any{"a"}, "a text", wjson.Number("7"), true} {
		if !sameKind(v, right, kinds(s)...) {
			out = append(out, v)
		}
	}
	if d.isNumber(name, s) {
		n, ok := right.(wjson.Number)
		if !ok {
			n = "1"
		}
		out = append(out, n.String())
	}
	if _, ok := right.(bool); ok || slices.Contains(kinds(s), "boolean") {
		out = append(out, "true")
	}
	return out
}

func (d *deriving) isNumber(name string, s object) bool {
	_, ok := d.right[name].(wjson.Number)
	return ok || slices.Contains(kinds(s), "integer") || slices.Contains(kinds(s), "number")
}

// negative adds a call with -1 if that is wrong. For the quantity of setQuantity it is wrong by the document, unless
// the schema announces negative values.
func (d *deriving) negative(name string, s object) {
	if !d.isNumber(name, s) {
		return
	}
	params := maps.Clone(d.right)
	params[name] = wjson.Number("-1")
	d.take(name, params, d.tool.Name == "setQuantity" && d.isQuantity(name) && !announcesNegative(s))
}

// isQuantity reports whether a param is the quantity of setQuantity, by its name or as the only number.
func (d *deriving) isQuantity(name string) bool {
	if name == "quantity" {
		return true
	}
	all, of := d.tool.properties()
	for _, other := range all {
		s, _ := of[other].(object)
		if other != name && d.isNumber(other, s) {
			return false
		}
	}
	return true
}

func announcesNegative(s object) bool {
	_, listed := s["enum"]
	_, only := s["const"]
	low := limitsOf(s).low
	return listed || only || low != nil && low.Sign() < 0
}

// sameKind reports whether a value has a type of a property, or that of its legal value.
func sameKind(v, right any, kinds ...string) bool {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(kinds, n) })
	}
	switch v.(type) {
	case string:
		_, same := right.(string)
		return same || has("string")
	case wjson.Number:
		_, same := right.(wjson.Number)
		return same || has("integer", "number")
	case bool:
		_, same := right.(bool)
		return same || has("boolean")
	case []any:
		return has("array")
	}
	return has("object")
}

// has reports whether a list contains a value.
func has(list []any, v any) bool {
	for _, other := range list {
		if wjson.Equal(other, v) {
			return true
		}
	}
	return false
}

// Enums adds the values of every enum of the tool's params to the known values, by param name, up to eight per name.
func (t *Tool) Enums(into map[string][]any) {
	all, of := t.properties()
	for _, name := range all {
		s, _ := of[name].(object)
		list, _ := s["enum"].([]any)
		for _, v := range list {
			if len(into[name]) < 8 && !has(into[name], v) {
				into[name] = append(into[name], v)
			}
		}
	}
}
