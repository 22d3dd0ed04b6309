package json

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePointer(t *testing.T) {
	tests := []struct {
		reason string
		in     string
		want   []string
		bad    bool
	}{
		{"the whole value", "", nil, false},
		{"the member with the empty key", "/", []string{""}, false},
		{"two tokens", "/a/0", []string{"a", "0"}, false},
		{"a last empty token", "/a/", []string{"a", ""}, false},
		{"an escaped slash", "/a~1b", []string{"a/b"}, false},
		{"an escaped tilde", "/a~0b", []string{"a~b"}, false},
		{"~01 is ~1, not a slash", "/~01", []string{"~1"}, false},
		{"percent signs stand for themselves", "/a%20b", []string{"a%20b"}, false},
		{"no leading slash", "a/b", nil, true},
		{"a URI fragment", "#/a", nil, true},
		{"a tilde alone", "/a~", nil, true},
		{"a tilde before another character", "/a~2", nil, true},
		{"a tilde at the end of a token that is not the last", "/a~/1", nil, true},
		{"two tildes", "/~~0", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := ParsePointer(tt.in)
			if (err != nil) != tt.bad {
				t.Errorf("%q: error %v", tt.in, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q\nwant(-) got(+):\n%s", tt.in, diff)
			}
			if back := FormatPointer(got...); err == nil && back != tt.in {
				t.Errorf("%q becomes %q", tt.in, back)
			}
		})
	}
}

func TestLookup(t *testing.T) {
	// The document of RFC 6901, section 5, and more.
	doc, _, err := Decode([]byte(`{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,
		"m~n":8,		"null":null,"list":[[],{"0":"zero"}],"object":{"0":"zero","-":"dash"}}`))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		reason  string
		pointer string
		want    any
		ok      bool
	}{
		{"RFC 6901: the whole", "", doc, true},
		{"RFC 6901: an array", "/foo", []any{"bar", "baz"}, true},
		{"RFC 6901: an element", "/foo/0", "bar", true},
		{"RFC 6901: the empty key", "/", Number("0"), true},
		{"RFC 6901: a slash", "/a~1b", Number("1"), true},
		{"RFC 6901: a percent sign", "/c%d", Number("2"), true},
		{"RFC 6901: a caret", "/e^f", Number("3"), true},
		{"RFC 6901: a bar", "/g|h", Number("4"), true},
		{"RFC 6901: a backslash", `/i\j`, Number("5"), true},
		{"RFC 6901: a quote", `/k"l`, Number("6"), true},
		{"RFC 6901: a space", "/ ", Number("7"), true},
		{"RFC 6901: a tilde", "/m~0n", Number("8"), true},
		{"null is there", "/null", nil, true},
		{"through arrays and objects", "/list/1/0", "zero", true},
		{"a digit is a key of an object", "/object/0", "zero", true},
		{"a dash is a key of an object", "/object/-", "dash", true},
		{"no such key", "/bar", nil, false},
		{"keys are case sensitive", "/Foo", nil, false},
		{"beyond the end", "/foo/2", nil, false},
		{"in an empty array", "/list/0/0", nil, false},
		{"a dash is after the end of an array", "/foo/-", nil, false},
		{"an index has no leading zero", "/foo/00", nil, false},
		{"an index has no sign", "/foo/+0", nil, false},
		{"a word is not an index", "/foo/length", nil, false},
		{"an index is not empty", "/foo/", nil, false},
		{"an index that would wrap around", "/foo/18446744073709551616", nil, false},
		{"nothing is in null", "/null/a", nil, false},
		{"nothing is in a string", "/foo/0/0", nil, false},
		{"a malformed pointer", "foo", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, ok := Lookup(doc, tt.pointer)
			if ok != tt.ok {
				t.Errorf("%q: want %v, got %v", tt.pointer, tt.ok, ok)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q\nwant(-) got(+):\n%s", tt.pointer, diff)
			}
		})
	}
	if got, ok := Lookup(map[string][]int{"a": {7}}, "/a/0"); !ok || got != any(7) {
		t.Errorf("in Go's own values: got %v, %v", got, ok)
	}
	if _, ok := Lookup(struct{}{}, "/a"); ok {
		t.Error("something was found in a struct")
	}
}
