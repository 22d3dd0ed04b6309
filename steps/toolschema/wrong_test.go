package toolschema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	wjson "parley/transport/wire/json"
)

// ways are all ways known to Wrong.
var ways = []string{"missing", "of another type", "null", "not in the enum", "below the minimum", "above the maximum",
	"fractional", "negative", "unknown"}

// stage is what a host may announce at a stage with ticket counts.
const stage = `{"type":"object","properties":{
	"itemId":{"type":"string","enum":["adult","child"]},
	"quantity":{"type":"integer","minimum":0,"maximum":8},"note":{"type":"string"}},
	"required":["itemId","quantity"],"additionalProperties":false}`

var wrongRows = []struct {
	reason, how, parameters, known string
	want                           string // the expected params, one set per call
}{
	{"each of those that are required", "missing", stage, `{}`, `{"quantity":0} {"itemId":"adult"}`},
	{"known values stay", "missing", stage, `{"quantity":2,"itemId":"child"}`, `{"quantity":2} {"itemId":"child"}`},
	{"an optional one may be missing", "missing", `{"p":{"type":"string","optional":true}}`, `{"p":"a"}`, ``},
	{"none is required", "missing", `{"type":"object","properties":{"p":{"enum":["a"]}}}`, `{}`, ``},
	{"of a flat map", "missing", `{"p":"string"}`, `{}`, `{}`},

	{"every other kind", "of another type", requiring(`{"type":"string"}`), `{}`,
		`{"p":{"a":1}} {"p":["a"]} {"p":7} {"p":true}`},
	{"than a number", "of another type", requiring(`{"type":"integer"}`), `{}`,
		`{"p":{"a":1}} {"p":["a"]} {"p":"a text"} {"p":true} {"p":"1"}`},
	{"than a number that is known", "of another type", requiring(`{"type":"number"}`), `{"p":2.5}`,
		`{"p":{"a":1}} {"p":["a"]} {"p":"a text"} {"p":true} {"p":"2.5"}`},
	{"than a number that may be a text", "of another type", requiring(`{"type":["number","string"]}`), `{}`,
		`{"p":{"a":1}} {"p":["a"]} {"p":true}`},
	{"than a boolean", "of another type", requiring(`{"type":"boolean"}`), `{}`,
		`{"p":{"a":1}} {"p":["a"]} {"p":"a text"} {"p":7} {"p":"true"}`},
	{"than a list", "of another type", requiring(`{"type":"array"}`), `{}`,
		`{"p":{"a":1}} {"p":"a text"} {"p":7} {"p":true}`},
	{"than an object", "of another type", requiring(`{"type":"object"}`), `{}`,
		`{"p":["a"]} {"p":"a text"} {"p":7} {"p":true}`},
	{"than one of two", "of another type", requiring(`{"type":["string","number"]}`), `{}`,
		`{"p":{"a":1}} {"p":["a"]} {"p":true}`},
	{"than those of an enum", "of another type", requiring(`{"enum":["a"]}`), `{}`,
		`{"p":{"a":1}} {"p":["a"]} {"p":7} {"p":true}`},
	{"where any goes", "of another type", requiring(`{}`), `{}`, ``},
	{"of an optional param", "of another type", `{"type":"object","properties":{"p":{"type":"boolean"}}}`, `{}`,
		`{"p":{"a":1}} {"p":["a"]} {"p":"a text"} {"p":7} {"p":"true"}`},

	{"null", "null", requiring(`{"type":"string"}`), `{}`, `{"p":null}`},
	{"null of several params", "null", stage, `{}`,
		`{"itemId":null,"quantity":0} {"itemId":"adult","note":null,"quantity":0} {"itemId":"adult","quantity":null}`},
	{"null where it goes", "null", requiring(`{"type":["string","null"]}`), `{}`, ``},
	{"null where anything goes", "null", requiring(`{}`), `{}`, ``},
	{"null in the enum", "null", requiring(`{"enum":["a",null]}`), `{}`, ``},

	{"not in the enum", "not in the enum", requiring(`{"enum":["a","b"]}`), `{}`,
		`{"p":"parley-not-in-the-enum"} {"p":""}`},
	{"an empty text that is in the enum", "not in the enum", requiring(`{"enum":["a",""]}`), `{}`,
		`{"p":"parley-not-in-the-enum"}`},
	{"no enum", "not in the enum", requiring(`{"type":"string"}`), `{}`, ``},
	{"of a flat map", "not in the enum", `{"p":{"type":"string","enum":["a"],"optional":true}}`, `{}`,
		`{"p":"parley-not-in-the-enum"} {"p":""}`},

	{"one below", "below the minimum", requiring(`{"type":"integer","minimum":1}`), `{}`, `{"p":0}`},
	{"below zero", "below the minimum", stage, `{}`, `{"itemId":"adult","quantity":-1}`},
	{"below a fraction", "below the minimum", requiring(`{"type":"number","minimum":0.5}`), `{"p":1}`, `{"p":-1}`},
	{"below what no float64 has", "below the minimum", requiring(`{"type":"integer","minimum":9007199254740993}`), `{}`,
		`{"p":9007199254740992}`},
	{"at a minimum that is excluded", "below the minimum", requiring(`{"type":"number","exclusiveMinimum":0.50}`), `{}`,
		`{"p":0.5}`},
	{"no minimum", "below the minimum", requiring(`{"type":"integer"}`), `{}`, ``},
	{"a minimum in quotes", "below the minimum", requiring(`{"type":"integer","minimum":"0"}`), `{}`, `{"p":-1}`},

	{"one above", "above the maximum", stage, `{}`, `{"itemId":"adult","quantity":9}`},
	{"above a fraction", "above the maximum", requiring(`{"type":"number","maximum":1.5}`), `{}`, `{"p":3}`},
	{"above what no float64 has", "above the maximum", requiring(`{"type":"integer","maximum":9007199254740993}`), `{}`,
		`{"p":9007199254740994}`},
	{"at a maximum that is excluded", "above the maximum", requiring(`{"type":"integer","exclusiveMaximum":5}`), `{}`,
		`{"p":5}`},
	{"no maximum", "above the maximum", requiring(`{"type":"integer","minimum":0}`), `{}`, ``},

	{"a fraction", "fractional", requiring(`{"type":"integer"}`), `{}`, `{"p":1.5}`},
	{"a fraction where it goes", "fractional", requiring(`{"type":"number"}`), `{}`, ``},
	{"a fraction of a flat map", "fractional", `{"n":"integer","x":"number"}`, `{}`, `{"n":1.5,"x":1}`},

	{"unknown", "unknown", stage, `{}`, `{"itemId":"adult","parleyUnknown":"x","quantity":0}`},
	{"unknown where nothing is known", "unknown", `{"type":"object","properties":{},"additionalProperties":false}`, `{}`,
		`{"parleyUnknown":"x"}`},
	{"unknown where more goes", "unknown", `{"type":"object","properties":{}}`, `{}`, ``},
	{"unknown to a flat map", "unknown", `{"p":"string"}`, `{}`, ``},
	{"unknown where there are no parameters", "unknown", `null`, `{}`, ``},

	{"negative", "negative", stage, `{}`, `{"itemId":"adult","quantity":-1}`},
	{"negative where nothing is said of it", "negative", requiring(`{"type":"integer"}`), `{}`, ``},
	{"negative where the minimum is lower, in other words", "negative",
		requiring(`{"type":"integer","exclusiveMinimum":-2}`), `{}`, ``},
	{"negative where only some numbers go", "negative", requiring(`{"enum":[1,2]}`), `{}`, `{"p":-1}`},
	{"negative, and optional, with a minimum", "negative",
		`{"type":"object","properties":{"p":{"type":"integer","minimum":0}}}`, `{}`, `{"p":-1}`},
	{"negative where there are no numbers", "negative", requiring(`{"enum":["a"]}`), `{}`, ``},
	{"negative, and optional", "negative", `{"type":"object","properties":{"p":{"type":"integer"}}}`, `{}`, ``},

	{"an unknown way", "backwards", stage, `{}`, ``},
	{"in the empty way", "", stage, `{}`, ``},
	{"of what nothing keeps to", "missing", requiring(`false`), `{}`, ``},
	{"a param of an unknown type", "missing", requiring(`{"type":7}`), `{}`, `{}`},

	{"negative where it goes", "negative", requiring(`{"type":"integer","minimum":-10}`), `{}`, ``},
	{"a fraction where an integer or nothing goes", "fractional", requiring(`{"type":["integer","null"]}`), `{"p":1}`,
		`{"p":1.5}`},
}

// TestWrong checks that each way of being wrong yields the calls that are wrong in it, and none if the schema has no
// such rule.
func TestWrong(t *testing.T) {
	for _, r := range wrongRows {
		t.Run(r.how+"/"+r.reason, func(t *testing.T) {
			tool := announced(t, "tool", r.parameters)
			var got []string
			for _, w := range tool.Wrong(r.how, decode(t, r.known).(object), nil) {
				got = append(got, wjson.Compact(w.Params))
			}
			if diff := cmp.Diff(r.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("params; want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestNegativeQuantity checks that a negative quantity of setQuantity is wrong by the document, whatever the schema
// says.
func TestNegativeQuantity(t *testing.T) {
	for _, r := range []struct{ reason, name, parameters, known, want string }{
		{"the schema says nothing of it", "setQuantity", `{"itemId":"string","quantity":"integer"}`, `{"itemId":"adult"}`,
			`{"itemId":"adult","quantity":-1}`},
		{"it may be of any kind, and a number is known", "setQuantity", `{"quantity":{}}`, `{"quantity":2}`,
			`{"quantity":-1}`},
		{"it may be of any kind", "setQuantity", `{"quantity":{}}`, `{}`, ``},
		{"it is the only number, by another name", "setQuantity", `{"itemId":"string","count":"integer"}`,
			`{"itemId":"adult"}`, `{"count":-1,"itemId":"adult"}`},
		{"which of two numbers is the quantity is unknown", "setQuantity", `{"row":"integer","count":"integer"}`, `{}`, ``},
		{"the schema announces some", "setQuantity", `{"quantity":{"type":"integer","minimum":-5}}`, `{}`, ``},
		{"the schema announces some, in other words", "setQuantity", `{"quantity":{"type":"integer","exclusiveMinimum":-5}}`,
			`{}`, ``},
		{"the schema lists it", "setQuantity", `{"quantity":{"enum":[1,-1]}}`, `{}`, ``},
		{"it need not be given", "setQuantity", `{"quantity":{"type":"integer","optional":true}}`, `{}`, `{"quantity":-1}`},
		{"of another tool", "select", `{"quantity":"integer"}`, `{}`, ``},
		{"in other capitals it is another tool", "SetQuantity", `{"quantity":"integer"}`, `{}`, ``},
		{"of another param", "setQuantity", `{"row":"integer","quantity":"integer"}`, `{}`, `{"quantity":-1,"row":1}`},
		{"of another param, which the schema guards", "setQuantity",
			`{"row":{"type":"integer","minimum":1},"quantity":"integer"}`, `{}`,
			`{"quantity":-1,"row":1}{"quantity":1,"row":-1}`},
	} {
		t.Run(r.reason, func(t *testing.T) {
			got := ""
			for _, w := range announced(t, r.name, r.parameters).Wrong("negative", decode(t, r.known).(object), nil) {
				got += wjson.Compact(w.Params)
			}
			if got != r.want {
				t.Errorf("%q, want %q", got, r.want)
			}
		})
	}
}

// TestWrongByOthers checks values that other stages announce for a param of the same name: they are not in this enum.
func TestWrongByOthers(t *testing.T) {
	for _, r := range []struct{ reason, parameters, others, want string }{
		{"each of them once", requiring(`{"enum":["a","b"]}`), `{"p":["m1","a","m2","m1",""]}`,
			`{"p":"parley-not-in-the-enum"} {"p":""} {"p":"m1"} {"p":"m2"}`},
		{"of every kind, by their values", requiring(`{"enum":[1]}`), `{"p":[{"a":1},1.0,2,2.0,[1],[1.0]]}`,
			`{"p":"parley-not-in-the-enum"} {"p":""} {"p":{"a":1}} {"p":2} {"p":[1]}`},
		{"of other params", requiring(`{"enum":["a"]}`), `{"q":["m1"]}`, `{"p":"parley-not-in-the-enum"} {"p":""}`},
		{"no enum", requiring(`{"type":"string"}`), `{"p":["m1"]}`, ``},
	} {
		t.Run(r.reason, func(t *testing.T) {
			others := map[string][]any{}
			for name, list := range decode(t, r.others).(object) {
				others[name], _ = list.([]any)
			}
			tool := announced(t, "tool", r.parameters)
			var got []string
			for _, w := range tool.Wrong("not in the enum", nil, others) {
				got = append(got, wjson.Compact(w.Params))
			}
			if diff := cmp.Diff(r.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("params; want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestWrongInOneWay checks that a wrong call names its tool and param, breaks the schema, and is valid except for
// that param.
func TestWrongInOneWay(t *testing.T) {
	for _, parameters := range []string{stage,
		`{"type":{"type":"string","enum":["adult"]},"quantity":{"type":"integer","minimum":1,"maximum":2},"x":"boolean"}`} {
		tool := announced(t, "setQuantity", parameters)
		right, _ := tool.Example(nil)
		for _, how := range ways {
			for _, w := range tool.Wrong(how, nil, nil) {
				params := w.Params.(object)
				if w.Tool != "setQuantity" || tool.Accepts(params) == nil {
					t.Errorf("%s: %s keeps to the schema: %+v", how, parameters, w)
				}
				if how == "unknown" {
					continue
				}
				if _, there := right[w.Param]; there {
					params[w.Param] = right[w.Param]
				} else {
					delete(params, w.Param)
				}
				if err := tool.Accepts(params); err != nil {
					t.Errorf("%s: %+v is wrong in more than %s: %v", how, w, w.Param, err)
				}
			}
		}
		if again, _ := tool.Example(nil); !wjson.Equal(right, again) {
			t.Errorf("the legal params have become %s", wjson.Compact(again))
		}
	}
}

func TestSameKind(t *testing.T) {
	kinds := map[string]any{"string": "a", "number": json.Number("1"), "integer": json.Number("2"), "boolean": false,
		"array": []any{}, "object": object{}}
	for kind, v := range kinds {
		for other := range kinds {
			same := kind == other || slices.Contains([]string{"number", "integer"}, kind) &&
				slices.Contains([]string{"number", "integer"}, other)
			if got := sameKind(v, nil, other); got != same {
				t.Errorf("a value of kind %s is a %s: %v", kind, other, got)
			}
		}
	}
	if sameKind(nil, nil, "string") || !sameKind("a", "b", "") || sameKind("a", json.Number("1"), "") {
		t.Error("what stands there now tells of what type a param is that does not say")
	}
}
