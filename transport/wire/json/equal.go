package json

// Equal reports whether a and b are the same JSON value: of the same kind,
// arrays in the same order, objects with the same members. Numbers are equal if
// their exact values are, without rounding: 1, 1.0 and 10e-1 are equal, and so
// are 0 and -0. A number whose exponent does not fit 62 bits equals only its
// own literal.
//
// Anything that is not a JSON value, or is nested deeper than [MaxDepth],
// equals nothing.
func Equal(a, b any) bool { return equal(a, b, 0) }

func equal(a, b any, depth int) bool {
	a, errA := view(a)
	b, errB := view(b)
	if errA != nil || errB != nil {
		return false
	}
	switch a := a.(type) {
	case Number:
		b, ok := b.(Number)
		return ok && equalNumbers(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && depth < MaxDepth && equalArrays(a, b, depth+1)
	case Object:
		b, ok := b.(Object)
		return ok && depth < MaxDepth && equalObjects(a, b, depth+1)
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	default:
		return b == nil
	}
}

func equalArrays(a, b []any, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i], depth) {
			return false
		}
	}
	return true
}

func equalObjects(a, b Object, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for key, x := range a {
		if y, ok := b[key]; !ok || !equal(x, y, depth) {
			return false
		}
	}
	return true
}
