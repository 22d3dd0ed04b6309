package json

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
)

// MaxDepth is the maximum nesting depth of arrays and objects.
const MaxDepth = 1000

// Number is a number's literal, as written.
//
// JSON Schema validators and other encoders know it as a number.
type Number = jsonform.Number

// Object is a JSON object.
type Object = map[string]any

// Kind returns the kind of v: "null", "boolean", "number", "string", "array" or
// "object"; "invalid" if v is not a JSON value.
func Kind(v any) string {
	v, err := viewAsJSON(v)
	if err != nil {
		return "invalid"
	}
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// viewAsJSON returns v as one of the types that Decode returns. Its contents may
// still be of other types.
func viewAsJSON(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, Number, []any, Object:
		return v, nil
	case int:
		return Number(strconv.Itoa(v)), nil
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Bool:
		return r.Bool(), nil
	case reflect.String:
		return r.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Number(strconv.FormatInt(r.Int(), 10)), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Number(strconv.FormatUint(r.Uint(), 10)), nil
	case reflect.Float32, reflect.Float64:
		return viewFloat(r.Float(), r.Type().Bits())
	case reflect.Pointer:
		return viewPointer(r)
	case reflect.Slice, reflect.Array:
		return viewList(r)
	case reflect.Map:
		return viewMap(r)
	}
	return nil, fmt.Errorf("%T is no JSON value", v)
}

// viewPointer follows pointers, up to a limit because one may lead to itself.
func viewPointer(r reflect.Value) (any, error) {
	for range MaxDepth {
		if r.Kind() != reflect.Pointer && r.Kind() != reflect.Interface {
			return viewAsJSON(r.Interface())
		}
		if r.IsNil() {
			return nil, nil
		}
		r = r.Elem()
	}
	return nil, ErrDepth
}

func viewFloat(f float64, bits int) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is no JSON value", f)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e' // as ECMAScript does
	}
	return Number(strconv.FormatFloat(f, format, -1, bits)), nil
}

func viewList(r reflect.Value) (any, error) {
	// Reject bytes: encoding/json writes them as base64, while a reader may
	// expect text or numbers.
	if r.Type().Elem().Kind() == reflect.Uint8 {
		return nil, fmt.Errorf("%v is no JSON value", r.Type())
	}
	list := make([]any, r.Len())
	for i := range list {
		list[i] = r.Index(i).Interface()
	}
	return list, nil
}

func viewMap(r reflect.Value) (any, error) {
	if r.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("%v is no JSON value", r.Type())
	}
	object := make(Object, r.Len())
	for k, v := range r.Seq2() {
		object[k.String()] = v.Interface()
	}
	return object, nil
}

// Decimal is the exact value of a number: digits times ten to the exponent. It
// is normalised (the digits neither start nor end with 0, zero has no digits
// and no sign), so that equal values are equal structs.
type Decimal struct {
	Negative bool
	Digits   string
	Exponent int64
}

// DecimalOf parses a number. ok is false if the literal is not a JSON number;
// exact is false if the exponent is beyond ±2^62, and was clamped to that.
func DecimalOf(n Number) (d Decimal, exact, ok bool) { return parseNumber(string(n)) }

// parseNumber parses a literal. ok is false if it does not match the grammar of
// RFC 8259; exact is false if its exponent is too large to compute with.
func parseNumber(literal string) (d Decimal, exact, ok bool) {
	rest, negative := strings.CutPrefix(literal, "-")
	whole, rest := cutDigits(rest)
	if whole == "" || whole[0] == '0' && len(whole) > 1 {
		return d, false, false
	}
	var fraction string
	if after, found := strings.CutPrefix(rest, "."); found {
		if fraction, rest = cutDigits(after); fraction == "" {
			return d, false, false
		}
	}
	exponent := "0"
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		sign := ""
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			sign, rest = rest[:1], rest[1:]
		}
		if exponent, rest = cutDigits(rest); exponent == "" {
			return d, false, false
		}
		exponent = sign + exponent
	}
	if rest != "" {
		return d, false, false
	}
	d, exact = normalize(negative, whole, fraction, exponent)
	return d, exact, true
}

func normalize(negative bool, whole, fraction, exponent string) (d Decimal, exact bool) {
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return Decimal{}, true // whatever its sign and exponent
	}
	e, err := strconv.ParseInt(exponent, 10, 64)
	const most = 1 << 62 // no text is long enough for the sum to overflow
	exact = err == nil && -most <= e && e <= most
	short := strings.TrimRight(digits, "0")
	e = min(max(e, -most), most) + int64(len(digits)-len(short)-len(fraction))
	return Decimal{negative, short, e}, exact
}

// cutDigits returns the digits that s starts with, and the rest.
func cutDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// equalNumbers compares by value if both are exact, otherwise by literal.
func equalNumbers(a, b Number) bool {
	if a == b {
		return true
	}
	x, exactX, okX := parseNumber(string(a))
	y, exactY, okY := parseNumber(string(b))
	return okX && okY && exactX && exactY && x == y
}

// Equal reports whether a and b are the same JSON value: of the same kind,
// arrays in the same order, objects with the same members. Numbers are equal if
// their exact values are, without rounding: 1, 1.0 and 10e-1 are equal, and so
// are 0 and -0. A number whose exponent does not fit 62 bits equals only its
// own literal.
//
// Anything that is not a JSON value, or is nested deeper than [MaxDepth],
// equals nothing.
func Equal(a, b any) bool { return equalValues(a, b, 0) }

func equalValues(a, b any, depth int) bool {
	a, errA := viewAsJSON(a)
	b, errB := viewAsJSON(b)
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
		if !equalValues(a[i], b[i], depth) {
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
		if y, ok := b[key]; !ok || !equalValues(x, y, depth) {
			return false
		}
	}
	return true
}

// ParsePointer returns the unescaped reference tokens of a JSON pointer (RFC
// 6901). The empty pointer refers to the whole value and has no tokens.
func ParsePointer(pointer string) ([]string, error) {
	p := jsontext.Pointer(pointer)
	if !p.IsValid() {
		return nil, fmt.Errorf("%q is not a JSON Pointer", pointer)
	}
	return slices.Collect(p.Tokens()), nil
}

// FormatPointer returns the JSON pointer of tokens: the inverse of
// [ParsePointer].
func FormatPointer(tokens ...string) string {
	var p jsontext.Pointer
	for _, token := range tokens {
		p = p.AppendToken(token)
	}
	return string(p)
}

// Lookup returns the value in v that pointer refers to (RFC 6901), and whether
// there is one. A malformed pointer refers to nothing: use [ParsePointer] for a
// pointer that a user wrote.
func Lookup(v any, pointer string) (any, bool) {
	p := jsontext.Pointer(pointer)
	if !p.IsValid() {
		return nil, false
	}
	for token := range p.Tokens() {
		container, err := viewAsJSON(v)
		if err != nil {
			return nil, false
		}
		switch c := container.(type) {
		case Object:
			member, ok := c[token]
			if !ok {
				return nil, false
			}
			v = member
		case []any:
			i, ok := parseIndex(token)
			if !ok || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// parseIndex parses an array index: digits without leading zeros. It rejects an
// index that no array can have.
func parseIndex(token string) (i int, ok bool) {
	if token == "" || len(token) > 9 || token[0] == '0' && len(token) > 1 {
		return 0, false
	}
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
		i = i*10 + int(c-'0')
	}
	return i, true
}
