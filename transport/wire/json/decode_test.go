package json

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// deep returns open and close n times around inner.
func deep(n int, open, inner, end string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

var decodable = []struct {
	reason string
	in     string
	want   any
	faults []Fault
}{
	{"null", `null`, nil, nil},
	{"true", `true`, true, nil},
	{"false", `false`, false, nil},
	{"a string", `"x"`, "x", nil},
	{"an empty string", `""`, "", nil},
	{"an empty array is not nil", `[]`, []any{}, nil},
	{"an empty object is not nil", `{}`, Object{}, nil},
	{"arrays keep their order", `[1,"a",null,[true]]`, []any{Number("1"), "a", nil, []any{true}}, nil},
	{"objects in objects", `{"a":{"b":{}}}`, Object{"a": Object{"b": Object{}}}, nil},
	{"a null member is there", `{"a":null}`, Object{"a": nil}, nil},
	{"white space around and between", " \t\r\n{ \"a\" :\n[ 1 , 2 ] } \n", Object{"a": []any{Number("1"), Number("2")}},
		nil},

	{"an integer keeps its literal", `9007199254740993`, Number("9007199254740993"), nil},
	{"a fraction keeps its zeros", `1.00`, Number("1.00"), nil},
	{"an exponent keeps its form", `1E+02`, Number("1E+02"), nil},
	{"minus zero is a number", `-0`, Number("-0"), nil},
	{"a number beyond every float", `1e999999999999999999999`, Number("1e999999999999999999999"), nil},
	{"many digits", strings.Repeat("1", 500), Number(strings.Repeat("1", 500)), nil},

	{"keys are case sensitive", `{"id":1,"ID":2,"Id":3}`, Object{"id": Number("1"), "ID": Number("2"), "Id": Number("3")},
		nil},
	{"a key may be empty", `{"":1}`, Object{"": Number("1")}, nil},
	{"keys are not normalised", "{\"\u00e9\":1,\"e\u0301\":2}", Object{"\u00e9": Number("1"), "e\u0301": Number("2")},
		nil},

	{"all short escapes", `"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", nil},
	{"a unicode escape, in either case", `"\u00e9\u00E9"`, "éé", nil},
	{"an escaped NUL", `"\u0000"`, "\x00", nil},
	{"a surrogate pair is one character", `"\ud83d\ude00\uD83D\uDE00"`, "😀😀", nil},
	{"an escaped backslash before u is not an escape", `"\\ud800"`, `\ud800`, nil},
	{"a replacement character that was sent is not a fault", "\"\uFFFD\\ufffd\"", "\uFFFD\uFFFD", nil},
	{"DEL and U+2028 need no escape", "\"\x7f\u2028\"", "\x7f\u2028", nil},
	{"a byte order mark in a string is text", "\"\uFEFF\"", "\uFEFF", nil},

	{
		"a duplicate key: the last one wins", `{"a":1,"b":2,"a":3}`,
		Object{"a": Number("3"), "b": Number("2")},
		[]Fault{{DuplicateKey, "/a", 13}},
	},
	{
		"each duplicate is a fault, though its value is the same", `{"a":1,"a":1,"a":1}`,
		Object{"a": Number("1")},
		[]Fault{{DuplicateKey, "/a", 7}, {DuplicateKey, "/a", 13}},
	},
	{
		"a duplicate after unescaping", `{"a":1,"\u0061":2}`,
		Object{"a": Number("2")},
		[]Fault{{DuplicateKey, "/a", 7}},
	},
	{
		"a duplicate replaces, it does not merge", `{"a":{"x":1},"a":{"y":2}}`,
		Object{"a": Object{"y": Number("2")}},
		[]Fault{{DuplicateKey, "/a", 13}},
	},
	{
		"the pointer of a duplicate goes through arrays", `[0,{"x":[{"a":1, "a":2}]}]`,
		[]any{Number("0"), Object{"x": []any{Object{"a": Number("2")}}}},
		[]Fault{{DuplicateKey, "/1/x/0/a", 17}},
	},
	{
		"the pointer of a duplicate is escaped", `{"a/b~":1,"a/b~":2}`,
		Object{"a/b~": Number("2")},
		[]Fault{{DuplicateKey, "/a~1b~0", 10}},
	},
	{
		"one key in two objects is no duplicate", `[{"a":1},{"a":1}]`,
		[]any{Object{"a": Number("1")}, Object{"a": Number("1")}}, nil,
	},
	{
		"invalid UTF-8 is replaced byte by byte", "[\"ok\",\"a\xFF\xE4\xBCb\"]",
		[]any{"ok", "a\uFFFD\uFFFD\uFFFDb"},
		[]Fault{{InvalidUTF8, "/1", 8}},
	},
	{
		"invalid UTF-8 in a key", "{\"a\xFF\":1}",
		Object{"a\uFFFD": Number("1")},
		[]Fault{{InvalidUTF8, "/a\uFFFD", 3}},
	},
	{
		"keys that replacing makes one", "{\"\xFF\":1,\"\xFE\":2}",
		Object{"\uFFFD": Number("2")},
		[]Fault{{InvalidUTF8, "/\uFFFD", 2}, {InvalidUTF8, "/\uFFFD", 8}, {DuplicateKey, "/\uFFFD", 7}},
	},
	{
		"an encoded surrogate is invalid UTF-8", "\"\xED\xA0\x80\"",
		"\uFFFD\uFFFD\uFFFD",
		[]Fault{{InvalidUTF8, "", 1}},
	},
	{
		"a lone high surrogate", `["\uD83Dx"]`,
		[]any{"\uFFFDx"},
		[]Fault{{LoneSurrogate, "/0", 2}},
	},
	{
		"a lone low surrogate", `"a\udE00"`,
		"a\uFFFD",
		[]Fault{{LoneSurrogate, "", 2}},
	},
	{
		"a pair in the wrong order", `"\ude00\ud83d"`,
		"\uFFFD\uFFFD",
		[]Fault{{LoneSurrogate, "", 1}},
	},
	{
		"a high surrogate before a pair", `"\ud83d\ud83d\ude00"`,
		"\uFFFD😀",
		[]Fault{{LoneSurrogate, "", 1}},
	},
	{
		"a lone one after a pair and other escapes", `"\n\ud83d\ude00\u0041\udc00"`,
		"\n😀A\uFFFD",
		[]Fault{{LoneSurrogate, "", 21}},
	},
	{
		"a lone surrogate at the very end", `"\ud83d"`,
		"\uFFFD",
		[]Fault{{LoneSurrogate, "", 1}},
	},
	{
		"a lone surrogate in a key", `{"\ud83d":1}`,
		Object{"\uFFFD": Number("1")},
		[]Fault{{LoneSurrogate, "/\uFFFD", 2}},
	},
	{
		"both defects of one string", "\"\\ud83d \xFF\"",
		"\uFFFD \uFFFD",
		[]Fault{{InvalidUTF8, "", 8}, {LoneSurrogate, "", 1}},
	},
}

func TestDecode(t *testing.T) {
	for _, tt := range decodable {
		t.Run(tt.reason, func(t *testing.T) {
			text := []byte(tt.in)
			got, faults, err := Decode(text)
			if err != nil {
				t.Fatalf("%q: %v", tt.in, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q\nwant(-) got(+):\n%s", tt.in, diff)
			}
			if diff := cmp.Diff(tt.faults, faults); diff != "" {
				t.Errorf("%q: faults\nwant(-) got(+):\n%s", tt.in, diff)
			}
			if string(text) != tt.in {
				t.Errorf("the text became %q", text)
			}
		})
	}
}

var undecodable = []struct {
	reason  string
	in      string
	offset  int64
	pointer string
	text    string // part of the error
	is      error  // nil: a violation of the grammar
}{
	{"an empty text", ``, 0, "", "empty text", ErrEmpty},
	{"white space only", " \n", 2, "", "empty text", ErrEmpty},
	{"a truncated object", `{`, 1, "", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a truncated key", `{"a`, 3, "", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a key without its value", `{"a"`, 4, "/a", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a colon without its value", `{"a": `, 6, "/a", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a truncated array", `[1,2`, 4, "", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a truncated string", `{"a":["xy`, 9, "/a/0", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a truncated escape", `"\u12`, 5, "", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a truncated character", "\"\xE4\xBC", 3, "", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a truncated literal", `tru`, 3, "", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a truncated number", `-`, 1, "", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a number without its fraction", `1.`, 2, "", "it ends in the middle", io.ErrUnexpectedEOF},
	{"a number without its exponent", `1e`, 2, "", "it ends in the middle", io.ErrUnexpectedEOF},

	{"a second value", `1 2`, 2, "", `trailing data after the value: "2"`, ErrTrailing},
	{"a second value in its own line", "{}\n{}", 3, "", `trailing data after the value: "{}"`, ErrTrailing},
	{"a bracket too many", `{"a":1}}`, 7, "", "trailing data", ErrTrailing},
	{"a comma after the value", `1,`, 1, "", "trailing data", ErrTrailing},
	{"a comment after the value", `1 // one`, 2, "", "trailing data", ErrTrailing},
	{"a NUL after the value", "1\x00", 1, "", `"\x00"`, ErrTrailing},
	{"a no-break space after the value", "1\u00a0", 1, "", "trailing data", ErrTrailing},
	{"a leading zero", `01`, 1, "", "trailing data", ErrTrailing},
	{"a hexadecimal number", `0x1`, 1, "", "trailing data", ErrTrailing},

	{"a byte order mark", "\uFEFF1", 0, "", `'\ufeff'`, nil},
	{"single quotes", `'a'`, 0, "", `'\''`, nil},
	{"a bare word", `hello`, 0, "", "'h'", nil},
	{"NaN", `NaN`, 0, "", "'N'", nil},
	{"Infinity", `[-Infinity]`, 2, "/0", "'I'", nil},
	{"a literal in upper case", `nulL`, 3, "", "'L'", nil},
	{"a number that starts with a plus", `+1`, 0, "", "'+'", nil},
	{"a number that starts with a point", `[.5]`, 1, "/0", "'.'", nil},
	{"a comment", `/**/1`, 0, "", "'/'", nil},
	{"a comma after the last element", `[1,]`, 2, "", "','", nil},
	{"a comma after the last member", `{"a":1,}`, 6, "", "','", nil},
	{"two commas", `[1,,2]`, 3, "/1", "','", nil},
	{"no comma", `[1 2]`, 3, "", "'2'", nil},
	{"no colon", `{"a" 1}`, 5, "/a", "'1'", nil},
	{"a key without a value", `{"a"}`, 4, "/a", "'}'", nil},
	{"a number as a key", `{1:2}`, 1, "", "must be a string", nil},
	{"an array as a key", `{[1]:2}`, 1, "", "must be a string", nil},
	{"null as a key", `{null:2}`, 1, "", "must be a string", nil},
	{"a key without quotes", `{a:2}`, 1, "", "'a'", nil},
	{"an array closed as an object", `[1}`, 2, "", "'}'", nil},
	{"an object closed as an array", `{"a":1]`, 6, "", "']'", nil},
	{"a bracket that nothing opened", `]`, 0, "", "']'", nil},
	{"a raw line end in a string", "\"a\nb\"", 2, "", `'\n'`, nil},
	{"a raw NUL in a string", "\"a\x00b\"", 2, "", `'\x00'`, nil},
	{"an unknown escape", `"\x41"`, 1, "", `\x`, nil},
	{"an escape of too few digits", `"\u12"`, 1, "", `\u12`, nil},
	{"a NUL before the value", "\x001", 0, "", `'\x00'`, nil},
	{"a vertical tab is not white space", "\v1", 0, "", `'\v'`, nil},
	{"invalid UTF-8 outside of strings", "[\xFF]", 1, "/0", `'\xff'`, nil},

	{"arrays too deep", deep(MaxDepth+1, "[", "", "]"), MaxDepth, strings.Repeat("/0", MaxDepth),
		"nested deeper than 1000", ErrDepth},
	{"objects too deep", deep(MaxDepth+1, `{"":`, "1", "}"), 4 * MaxDepth, strings.Repeat("/", MaxDepth),
		"nested deeper than 1000", ErrDepth},
	{"excess depth takes precedence over later mistakes", strings.Repeat("[", 1<<20), MaxDepth,
		strings.Repeat("/0", MaxDepth), "nested deeper", ErrDepth},
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range undecodable {
		t.Run(tt.reason, func(t *testing.T) {
			v, _, err := Decode([]byte(tt.in))
			if v != nil {
				t.Errorf("a value came with the error: %v", v)
			}
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("%.40q: want a SyntaxError, got %v", tt.in, err)
			}
			if syntax.Offset != tt.offset || syntax.Pointer != tt.pointer {
				t.Errorf("%.40q: want byte %d in %q, got byte %d in %q", tt.in, tt.offset, tt.pointer, syntax.Offset,
					syntax.Pointer)
			}
			if !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%.40q: want an error with %q, got %q", tt.in, tt.text, err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%.40q: %q is not %q", tt.in, err, tt.is)
			}
		})
	}
}

func TestDecodeTakesTheGreatestDepth(t *testing.T) {
	for _, text := range []string{
		deep(MaxDepth, "[", "", "]"),
		deep(MaxDepth, "[", "1", "]"),
		deep(MaxDepth, `{"a":`, "null", "}"),
	} {
		v, _, err := Decode([]byte(text))
		if err != nil {
			t.Fatalf("%.20q…: %v", text, err)
		}
		back, err := Encode(v)
		if err != nil || string(back) != text {
			t.Errorf("%.20q… is encoded as %.20q…, error %v", text, back, err)
		}
		if !Equal(v, v) {
			t.Errorf("%.20q… does not equal itself", text)
		}
	}
}

func TestFaultsBeforeAnErrorAreKept(t *testing.T) {
	_, faults, err := Decode([]byte(`{"a":1,"a":2,`))
	if err == nil || len(faults) != 1 {
		t.Errorf("want an error and one fault, got %v and %v", err, faults)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	key := strings.Repeat("k", 1<<20)
	text := `{"` + key + `":[` + strings.Repeat(`"\ud800",`, 1000) + `0]}`
	_, faults, err := Decode([]byte(text))
	if err != nil || len(faults) != MaxFaults {
		t.Errorf("want %d faults, got %d and error %v", MaxFaults, len(faults), err)
	}
	if s := faults[0].String(); len(s) > 300 {
		t.Errorf("a message of %d bytes", len(s))
	}
}

func TestMessages(t *testing.T) {
	_, faults, err := Decode([]byte(`{"a":[{"b":1,"b":2}], "c":?}`))
	for _, tt := range []struct{ want, got string }{
		{`duplicate key at "/a/0/b" (byte 13)`, faults[0].String()},
		{`not JSON at byte 26, in "/c": invalid character '?' at start of value`, err.Error()},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("want(-) got(+):\n%s", diff)
		}
	}
}
