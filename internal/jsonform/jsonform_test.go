package jsonform_test

import (
	"bytes"
	stdjson "encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"parley/internal/jsonform"
)

type inner struct {
	A *int           `json:"a"`
	B []string       `json:"b"`
	C map[string]any `json:"c,omitempty"`
}

type outer struct {
	inner
	D time.Duration   `json:"d,omitempty"`
	E []byte          `json:"e"`
	F [2]byte         `json:"f"`
	G time.Time       `json:"g,omitempty"`
	H jsontext.Value  `json:"h,omitempty"`
	I *bool           `json:"i,omitempty"`
	J float32         `json:"j,omitempty"`
	K map[int]float64 `json:"k"`
	l int
	M any
}

// written are values whose bytes are compared with those of encoding/json.
var written = []any{
	nil, "", "<a href=\"b\">&amp;</a>", "\u2028\u2029\u007f\x00\b\f\n\r\t\x1f\\/", "\xff\xc3(\xed\xa0\x80",
	"\uFFFD \xff\u2028<\"\n", "日本 😀", map[string]any{"<": "\xff>"}, jsontext.Value("\"<\xff\""),
	[]string(nil), []string{}, map[string]any(nil),
	map[string]string{"b": "1", "a": "2", "é": "3", "<": "4", "😀": "5", "ﬀ": "6"},
	[]any{1, -1, uint8(3), 1.0, 1e20, 1e21, 1e-6, 1e-7, math.MaxFloat64, float32(0.1), math.Copysign(0, -1)},
	map[string]any{"n": jsonform.Number("1.50"), "e": jsonform.Number("1E400"), "z": jsonform.Number("")},
	jsontext.Value(`{"b": "<\u00e9\/>", "a" : [1.0, 1E2]}`),
	stdjson.RawMessage(` [ "&" ] `), stdjson.RawMessage(nil),
	map[string]any{"raw": stdjson.RawMessage(`{"z":1,"a":"<"}`), "in": []any{map[string]any{"x": nil}}},
	outer{},
	&outer{inner: inner{B: []string{"<"}, C: map[string]any{}}, E: []byte("abc"), D: 5, H: jsontext.Value("1"), l: 1},
	map[int]string{10: "a", 9: "b"}, [][]byte{nil, {}}, struct{}{}, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
}

// TestWritten compares with encoding/json, in whose form published reports, recordings and documents are.
func TestWritten(t *testing.T) {
	for _, v := range written {
		for _, indent := range []string{"", "  "} {
			for escape, form := range map[bool]json.Options{true: jsonform.Escaped, false: jsonform.Unescaped} {
				var want bytes.Buffer
				e := stdjson.NewEncoder(&want)
				e.SetEscapeHTML(escape)
				e.SetIndent("", indent)
				if err := e.Encode(v); err != nil {
					t.Fatal(err)
				}
				if indent != "" {
					form = json.JoinOptions(form, jsontext.WithIndent(indent))
				}
				got, err := json.Marshal(v, form)
				if diff := cmp.Diff(strings.TrimSuffix(want.String(), "\n"), string(got)); diff != "" || err != nil {
					t.Errorf("%#v, for HTML %v, indent %q: %v\n%s", v, escape, indent, err, diff)
				}
			}
		}
	}
}

// TestLenient checks what is tolerated, and that the case of a name is not.
func TestLenient(t *testing.T) {
	var got struct {
		A, B, C, D string
		E          any
	}
	text := `{"A":"1","A":"2","B":3,"C":"` + "\xff" + `","d":"4","E":[1.50,{"n":1E400},"5",null]}`
	if err := json.Unmarshal([]byte(text), &got, jsonform.Lenient, jsonform.Numbers); err == nil {
		t.Error("B is a number, and no error")
	}
	want := got
	want.A, want.B, want.C, want.D = "2", "", "\uFFFD", ""
	want.E = []any{jsonform.Number("1.50"), map[string]any{"n": jsonform.Number("1E400")}, "5", nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
