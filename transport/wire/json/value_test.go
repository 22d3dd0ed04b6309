package json

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type name string
type names []name
type flag bool

// selfPointer returns a pointer that leads to itself.
func selfPointer() any {
	var v any
	v = &v
	return v
}

// cycle returns an object that contains itself.
func cycle() Object {
	o := Object{}
	o["a"] = []any{o}
	return o
}

func pointer[T any](v T) *T { return &v }

func TestKind(t *testing.T) {
	tests := []struct {
		reason string
		in     any
		want   string
	}{
		{"null", nil, "null"},
		{"a boolean", true, "boolean"},
		{"a number", Number("1"), "number"},
		{"a string that looks like a number", "1", "string"},
		{"an array", []any{}, "array"},
		{"an object", Object{}, "object"},
		{"an int", 1, "number"},
		{"any integer type", uint8(1), "number"},
		{"a float", 1.5, "number"},
		{"NaN is not a value", math.NaN(), "invalid"},
		{"a named string", name("a"), "string"},
		{"a named boolean", flag(true), "boolean"},
		{"a slice of any type", names{"a"}, "array"},
		{"a nil slice is empty", []string(nil), "array"},
		{"a nil map is empty", map[string]int(nil), "object"},
		{"an array of Go", [2]int{}, "array"},
		{"a map with keys of a string type", map[name]bool{}, "object"},
		{"a map with other keys is not a value", map[int]bool{}, "invalid"},
		{"a pointer equals its target", pointer(pointer(1)), "number"},
		{"a nil pointer is null", (*int)(nil), "null"},
		{"a pointer to itself is not a value", selfPointer(), "invalid"},
		{"bytes are no value", []byte("x"), "invalid"},
		{"a struct is not a value", struct{}{}, "invalid"},
		{"a function is not a value", func() {}, "invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := Kind(tt.in); got != tt.want {
				t.Errorf("want %q, got %q", tt.want, got)
			}
		})
	}
}

var equalRows = []struct {
	reason string
	a, b   any
	want   bool
}{
	{"null is null", nil, nil, true},
	{"null is not false", nil, false, false},
	{"null is not an empty string", "", nil, false},
	{"booleans", true, true, true},
	{"other booleans", true, false, false},
	{"strings", "a", "a", true},
	{"strings by their bytes, not normalised", "\u00e9", "e\u0301", false},
	{"a number is not the string of its literal", Number("1"), "1", false},
	{"0 is not false", 0, false, false},

	{"numbers by value: fraction", Number("1"), Number("1.0"), true},
	{"numbers by value: exponent of zero", Number("1"), Number("1e0"), true},
	{"numbers by value: exponents", Number("1200"), Number("1.2E+3"), true},
	{"numbers by value: negative exponents", Number("0.0012"), Number("12e-4"), true},
	{"numbers by value: 0 and -0", Number("0"), Number("-0.0e5"), true},
	{"numbers by value: zero with a huge exponent", Number("0"), Number("0e99999999999999999999"), true},
	{"numbers by value: sign", Number("1"), Number("-1"), false},
	{"numbers by value: magnitude", Number("10"), Number("100"), false},
	{"numbers are not rounded: integers beyond 2^53", Number("9007199254740993"), Number("9007199254740992"), false},
	{"numbers are not rounded: fractions", Number("0.1"), Number("0.1000000000000000055"), false},
	{"numbers beyond every float", Number("1e400"), Number("10e399"), true},
	{"numbers below every float", Number("1e-400"), Number("2e-400"), false},
	{"exponents too large to reckon: the literal", Number("1e99999999999999999999"), Number("1e99999999999999999999"),
		true},
	{"exponents too large to reckon: another literal", Number("1e99999999999999999999"),
		Number("10e99999999999999999998"), false},
	{"exponents at the edge do not wrap", Number("1e-9223372036854775808"), Number("1e9223372036854775807"), false},

	{"arrays in order", []any{"a", nil}, []any{"a", nil}, true},
	{"arrays in another order", []any{"a", "b"}, []any{"b", "a"}, false},
	{"arrays of other lengths", []any{"a"}, []any{"a", "b"}, false},
	{"an empty array is not null", []any{}, nil, false},
	{"objects, deep", Object{"a": []any{Number("1")}}, Object{"a": []any{Number("1.0")}}, true},
	{"objects with another value", Object{"a": nil}, Object{"a": false}, false},
	{"objects with another key", Object{"a": nil}, Object{"b": nil}, false},
	{"objects with a key more", Object{"a": nil}, Object{"a": nil, "b": nil}, false},
	{"keys are case sensitive", Object{"a": nil}, Object{"A": nil}, false},
	{"an empty object is not an empty array", Object{}, []any{}, false},

	{"Go: int", Number("1e0"), 1, true},
	{"Go: the greatest uint64", Number("18446744073709551615"), uint64(math.MaxUint64), true},
	{"Go: the least int64", Number("-9223372036854775808"), int64(math.MinInt64), true},
	{"Go: float", Number("0.1"), 0.1, true},
	{"Go: float32 by its shortest literal", Number("0.1"), float32(0.1), true},
	{"Go: maps and slices", Object{"a": []any{"x", "y"}}, map[string][]name{"a": {"x", "y"}}, true},
	{"Go: a nil slice is empty", []any{}, []string(nil), true},
	{"Go: a pointer", pointer("a"), "a", true},
	{"NaN equals nothing", math.NaN(), math.NaN(), false},
	{"a non-value equals nothing", struct{}{}, struct{}{}, false},
	{"a cycle equals nothing", cycle(), cycle(), false},
}

func TestEqual(t *testing.T) {
	tests := equalRows
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := Equal(tt.a, tt.b); got != tt.want {
				t.Errorf("Equal(%v, %v) = %v", Compact(tt.a), Compact(tt.b), got)
			}
			if got := Equal(tt.b, tt.a); got != tt.want {
				t.Errorf("Equal(%v, %v) = %v", Compact(tt.b), Compact(tt.a), got)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	tests := []struct {
		reason string
		in     any
		want   string
	}{
		{"null", nil, `null`},
		{"booleans", []any{true, false}, `[true,false]`},
		{"a number keeps its literal", Number("1.50E+3"), `1.50E+3`},
		{"keys are in the order of their bytes", Object{"b": 1, "a": 2, "B": 3, "é": 4, "": 5},
			`{"":5,"B":3,"a":2,"b":1,"é":4}`},
		{"empty containers", []any{Object{}, []any{}}, `[{},[]]`},
		{"nothing is escaped that need not be", "<é/&>\u2028", "\"<é/&>\u2028\""},
		{"required escapes", "\"\\\n\x00\x1f", `"\"\\\n\u0000\u001f"`},
		{"Go: integers", []any{int8(-1), uint16(2), int64(math.MinInt64), uint64(math.MaxUint64)},
			`[-1,2,-9223372036854775808,18446744073709551615]`},
		{"Go: floats are as short as they can be", []float64{0, 1, 0.1, 1e20, 1e21, 1e-6, 1e-7, math.MaxFloat64},
			`[0,1,0.1,100000000000000000000,1e+21,0.000001,1e-07,1.7976931348623157e+308]`},
		{"Go: float32", float32(0.1), `0.1`},
		{"Go: strings and maps of other types", map[name]names{"b": {"x"}, "a": nil}, `{"a":[],"b":["x"]}`},
		{"Go: pointers", []*int{pointer(1), nil}, `[1,null]`},
		{"Go: a nil object", Object(nil), `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := Encode(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, Compact(tt.in)); diff != "" {
				t.Errorf("Compact: want(-) got(+):\n%s", diff)
			}
			if _, faults, err := Decode(got); err != nil || faults != nil {
				t.Errorf("it decodes with error %v and faults %v", err, faults)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	tests := []struct {
		reason  string
		in      any
		want    string // part of the error
		compact string
	}{
		{"NaN", map[string]any{"a": []any{1, math.NaN()}}, `at "/a/1": NaN is no JSON value`,
			`{"a":[1,<NaN is no JSON value>]}`},
		{"infinity", math.Inf(-1), `at "": -Inf is no JSON value`, `<-Inf is no JSON value>`},
		{"a struct", Object{"a/b": struct{}{}}, `at "/a~1b": struct {} is no JSON value`,
			`{"a/b":<struct {} is no JSON value>}`},
		{"bytes", []byte("x"), `[]uint8 is no JSON value`, `<[]uint8 is no JSON value>`},
		{"a map with other keys", map[int]int{1: 1}, `map[int]int is no JSON value`, `<map[int]int is no JSON value>`},
		{"an empty Number", Number(""), `"" is no JSON number`, `<"" is no JSON number>`},
		{"an invalid Number", []any{Number("0x1")}, `at "/0": "0x1" is no JSON number`, `[<"0x1" is no JSON number>]`},
		{"a Number with white space", Number("1 "), `"1 " is no JSON number`, `<"1 " is no JSON number>`},
		{"a string that is not UTF-8", []any{"a\xFF"}, `at "/0": "a\xff" is not UTF-8`, "[\"a\uFFFD\"]"},
		{"a key that is not UTF-8", Object{"a\xFF": 1}, `"a\xff" is not UTF-8`, "{\"a\uFFFD\":1}"},
		{"a pointer to itself", selfPointer(), "nested deeper than 1000", "<nested deeper than 1000>"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := Encode(tt.in)
			if got != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want an error with %q, got %q and %v", tt.want, got, err)
			}
			if diff := cmp.Diff(tt.compact, Compact(tt.in)); diff != "" {
				t.Errorf("Compact: want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestCyclesEnd(t *testing.T) {
	if _, err := Encode(cycle()); err == nil || len(err.Error()) > 400 {
		t.Errorf("want a short error, got %v", err)
	}
	list := []any{nil}
	list[0] = list
	if _, err := Encode(list); err == nil {
		t.Error("a list that holds itself is encoded")
	}
	if s := Compact(cycle()); !strings.Contains(s, "<nested deeper than 1000>") {
		t.Errorf("got %.100s", s)
	}
}

func TestParseNumber(t *testing.T) {
	tests := []struct {
		reason  string
		literal string
		ok      bool
	}{
		{"zero", "0", true},
		{"minus zero", "-0", true},
		{"an integer", "-120", true},
		{"a fraction", "0.50", true},
		{"exponents", "1e5", true},
		{"an exponent with leading zeros", "1E-005", true},
		{"all of it", "-12.340e+56", true},
		{"nothing", "", false},
		{"a sign alone", "-", false},
		{"a plus", "+1", false},
		{"a leading zero", "01", false},
		{"a leading zero after the sign", "-00", false},
		{"no integer", ".5", false},
		{"no fraction", "1.", false},
		{"no fraction before the exponent", "1.e5", false},
		{"no exponent", "1e", false},
		{"a sign for an exponent", "1e+", false},
		{"a fraction in the exponent", "1e1.5", false},
		{"space before", " 1", false},
		{"space after", "1 ", false},
		{"hexadecimal", "0x1", false},
		{"a separator", "1_000", false},
		{"NaN", "NaN", false},
		{"digits that are not ASCII", "１", false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if _, _, ok := parseNumber(tt.literal); ok != tt.ok {
				t.Errorf("%q: want %v, got %v", tt.literal, tt.ok, ok)
			}
		})
	}
}
