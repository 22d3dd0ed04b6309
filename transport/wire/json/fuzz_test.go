package json

import (
	stdjson "encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzDecode checks that Decode never panics, that it agrees with encoding/json
// on what is valid and with a strict decoder on what is free of faults, and
// that its result is encoded to an equal value.
func FuzzDecode(f *testing.F) {
	for _, tt := range decodable {
		f.Add([]byte(tt.in))
	}
	for _, tt := range undecodable {
		if len(tt.in) < 1<<10 {
			f.Add([]byte(tt.in))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, faults, err := Decode(text)
		if errors.Is(err, ErrDepth) {
			return
		}
		if (err == nil) != stdjson.Valid(text) {
			t.Fatalf("%q: encoding/json disagrees with %v", text, err)
		}
		if strict := jsontext.Value(text).IsValid(); strict != (err == nil && len(faults) == 0) {
			t.Fatalf("%q: jsontext disagrees with %v, %v", text, err, faults)
		}
		for _, fault := range faults {
			if fault.Offset < 0 || fault.Offset >= int64(len(text)) {
				t.Errorf("%q: %v is outside", text, fault)
			}
			if _, err := ParsePointer(fault.Pointer); err != nil {
				t.Errorf("%q: %v: %v", text, fault, err)
			}
		}
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > int64(len(text)) {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		checkEncode(t, v)
	})
}

func checkEncode(t *testing.T, v any) {
	t.Helper()
	text, err := Encode(v)
	if err != nil {
		t.Fatalf("%v: %v", v, err)
	}
	back, faults, err := Decode(text)
	if err != nil || faults != nil {
		t.Fatalf("%q: error %v, faults %v", text, err, faults)
	}
	if !Equal(v, back) {
		t.Fatalf("%q is decoded to another value than it was encoded from", text)
	}
	if again := Compact(back); again != string(text) {
		t.Fatalf("%q is encoded as %q", text, again)
	}
}

// FuzzPointer checks that a valid pointer is formatted to itself.
func FuzzPointer(f *testing.F) {
	for _, pointer := range []string{"", "/", "/a~1b/0", "/~01", "a", "/~"} {
		f.Add(pointer)
	}
	f.Fuzz(func(t *testing.T, pointer string) {
		tokens, err := ParsePointer(pointer)
		if back := FormatPointer(tokens...); err == nil && back != pointer {
			t.Errorf("%q becomes %q", pointer, back)
		}
	})
}

// FuzzQuick compares the quick decoder, which knows no defects, with the one that says what they are.
func FuzzQuick(f *testing.F) {
	for _, tt := range decodable {
		f.Add([]byte(tt.in))
	}
	for _, tt := range undecodable {
		if len(tt.in) < 1<<10 {
			f.Add([]byte(tt.in))
		}
	}
	for _, text := range []string{`"\ud83d\ude00"`, `"\ud83d\u0041"`, `"\ud83d"`, `"\ud83d\n"`, `"\u00"`, `"\u00G0"`,
		`"\u00g0"`, `"\u:000"`, `"\ud83d\ude0x"`,
		`"\"`, `"\\"`,
		`"12345678\u00e9 é主🙂 to the end"`, "\"1234567\x1f\"", "\"12345678\x7f\"", "\"1234567\xff\"", `"123456\`, `1.0E+09`,
		`-`, `-0`, `01`, `1.`, `1e`, `{"a":1,"a":1}`, `[1,]`, `{"a"}`, ` [ ] `, `[[],{},[[null,true],false]]`, `nul`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, ok := decodeQuick(text)
		want, faults, err := decodeSlowly(text)
		if sound := err == nil && len(faults) == 0; ok != sound {
			t.Fatalf("%q: decoded quickly: %v; otherwise %v, %v", text, ok, faults, err)
		}
		if ok && !reflect.DeepEqual(v, want) {
			t.Fatalf("%q: %#v, want %#v", text, v, want)
		}
	})
}
