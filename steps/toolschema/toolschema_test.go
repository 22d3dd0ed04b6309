package toolschema

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	wjson "parley/transport/wire/json"
)

// decode returns a JSON value as decoded from the wire.
func decode(t testing.TB, text string) any {
	t.Helper()
	v, _, err := wjson.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// announced returns a tool with the given parameters.
func announced(t testing.TB, name, parameters string) *Tool {
	t.Helper()
	tools, err := Parse([]any{object{"name": name, "parameters": decode(t, parameters)}})
	if err != nil {
		t.Fatal(err)
	}
	return &tools[0]
}

// requiring returns a JSON Schema with one required param, p.
func requiring(property string) string {
	return `{"type":"object","properties":{"p":` + property + `},"required":["p"]}`
}

// TestParse checks that anything but a list of named tools is an error that names the item. Whether parameters are a
// JSON Schema shows only when params are checked.
func TestParse(t *testing.T) {
	for _, r := range []struct{ reason, in, names, err string }{
		{"none", `[]`, "", ""},
		{"one without parameters", `[{"name":"next"}]`, "next", ""},
		{"parameters that are null", `[{"name":"next","parameters":null}]`, "next", ""},
		{"parameters that are empty", `[{"name":"next","parameters":{}}]`, "next", ""},
		{"in their order", `[{"name":"b"},{"name":"a"},{"name":"c"}]`, "b a c", ""},
		{"one name twice", `[{"name":"a"},{"name":"a","parameters":{"p":"string"}}]`, "a a", ""},
		{"an empty name", `[{"name":""}]`, "", ""},
		{"unknown members", `[{"name":"a","description":7,"x":[]}]`, "a", ""},
		{"parameters that are not a JSON Schema", `[{"name":"a","parameters":{"type":7}}]`, "a", ""},

		{"a name alone", `["next"]`, "next", ""},
		{"a function", `[{"type":"function","function":{"name":"next"}}]`, "next", ""},
		{"a toolName", `[{"toolName":"next"}]`, "next", ""},
		{"parameters that are a list", `[{"name":"a","parameters":[]}]`, "a", ""},
		{"parameters that are a text", `[{"name":"a"},{"name":"b","parameters":"{}"}]`, "a b", ""},
		{"parameters that are false", `[{"name":"a","parameters":false}]`, "a", ""},

		{"an empty text", `[""]`, "", "item 0 is not an object with a name"},
		{"null", `[null]`, "", "item 0 is not an object with a name"},
		{"a list", `[[]]`, "", "item 0 is not an object with a name"},
		{"no name, after one that has a name", `[{"name":"a"},{"parameters":{}}]`, "", "item 1 is not an object with a name"},
		{"a name that is a number", `[{"name":7}]`, "", "item 0 is not an object with a name"},
		{"a name that is null", `[{"name":null}]`, "", "item 0 is not an object with a name"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			tools, err := Parse(decode(t, r.in).([]any))
			if r.err != "" {
				if err == nil || err.Error() != r.err || tools != nil {
					t.Errorf("%v, %v, want the error %q", tools, err, r.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range tools {
				names = append(names, tool.Name)
			}
			if got := strings.Join(names, " "); got != r.names {
				t.Errorf("the tools %q, want %q", got, r.names)
			}
		})
	}
	if tools, err := Parse(nil); err != nil || len(tools) != 0 {
		t.Errorf("of nothing there are %v, %v", tools, err)
	}
}

func TestFind(t *testing.T) {
	tools, err := Parse(decode(t,
		`[{"name":"a","parameters":{"p":"string"}},{"name":"b"},{"name":"a"},{"name":""}]`).([]any))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		reason, name string
		want         *Tool
	}{
		{"the first of its name", "a", &tools[0]},
		{"after others", "b", &tools[1]},
		{"an empty name", "", &tools[3]},
		{"a tool that is not announced", "c", nil},
		{"other capitals", "A", nil},
		{"a part of a name", "a ", nil},
	} {
		if got := tools.Find(r.name); got != r.want {
			t.Errorf("%s: %v, want %v", r.reason, got, r.want)
		}
	}
	if got := Tools(nil).Find("a"); got != nil {
		t.Errorf("among none there is %v", got)
	}
}

const (
	acceptsSchema = `{"type":"object","properties":{"itemId":{"type":"string","enum":["m1","m2"]},"n":{"type":"integer",` +
		`"minimum":0}},"required":["itemId"],"additionalProperties":false}`
	acceptsFlat = `{"itemId":{"type":"string","enum":["m1","m2"]},"n":{"type":"integer","optional":true}}`
)

var acceptsRows = []struct {
	reason, parameters, params string
	want                       bool
}{
	{"no parameters", `null`, `{}`, true},
	{"no parameters, but params", `null`, `{"a":1}`, true},
	{"no parameters, and params that are not an object", `null`, `[]`, false},
	{"no parameters, and params that are null", `null`, `null`, false},
	{"empty parameters", `{}`, `{}`, true},
	{"empty parameters, and params that are a text", `{}`, `"{}"`, false},

	{"a schema", acceptsSchema, `{"itemId":"m1"}`, true},
	{"a schema, and an optional param", acceptsSchema, `{"itemId":"m1","n":0}`, true},
	{"a schema, and a number with an empty fraction", acceptsSchema, `{"itemId":"m1","n":1.0}`, true},
	{"a schema, and a number in another notation", acceptsSchema, `{"itemId":"m1","n":2e1}`, true},
	{"a schema, and nothing", acceptsSchema, `{}`, false},
	{"a schema, and a value that is not in the enum", acceptsSchema, `{"itemId":"m3"}`, false},
	{"a schema, and a value in other capitals", acceptsSchema, `{"itemId":"M1"}`, false},
	{"a schema, and a value of another type", acceptsSchema, `{"itemId":1}`, false},
	{"a schema, and a value below the minimum", acceptsSchema, `{"itemId":"m1","n":-1}`, false},
	{"a schema, and a fraction", acceptsSchema, `{"itemId":"m1","n":1.5}`, false},
	{"a schema, and a param that it does not know", acceptsSchema, `{"itemId":"m1","x":1}`, false},
	{"a schema, and params that are a list", acceptsSchema, `["m1"]`, false},
	{"a schema, and params that are null", acceptsSchema, `null`, false},

	{"a flat map", acceptsFlat, `{"itemId":"m1"}`, true},
	{"a flat map, and an optional param", acceptsFlat, `{"itemId":"m1","n":-3}`, true},
	{"a flat map does not close the list of params", acceptsFlat, `{"itemId":"m1","x":1}`, true},
	{"a flat map, and a param that is missing", acceptsFlat, `{"n":1}`, false},
	{"a flat map, and a value that is not in the enum", acceptsFlat, `{"itemId":"m3"}`, false},
	{"a flat map, and an optional param of another type", acceptsFlat, `{"itemId":"m1","n":"1"}`, false},
	{"a flat map, and params that are null", acceptsFlat, `null`, false},
	{"a flat map with required: false", `{"p":{"type":"string","required":false}}`, `{}`, true},
	{"a flat map with required: true", `{"p":{"type":"string","required":true}}`, `{}`, false},
	{"a flat map with optional: false", `{"p":{"type":"string","optional":false}}`, `{}`, false},
	{"a flat map with a type as a text", `{"p":"integer"}`, `{"p":1}`, true},
	{"a flat map with a type as a text, and another one", `{"p":"integer"}`, `{"p":"1"}`, false},
	{"a flat map with a type as a text, and nothing", `{"p":"integer"}`, `{}`, false},
	{"a flat map that says nothing of a param", `{"p":null}`, `{"p":[1]}`, true},
	{"a flat map with an empty description of a required param", `{"p":{}}`, `{}`, false},

	{"a flat map with a param named type", `{"type":{"type":"string"}}`, `{"type":"adult"}`, true},
	{"a flat map with a param named type, and none", `{"type":{"type":"string"}}`, `{}`, false},
	{"a flat map with a param named type, and another kind of value", `{"type":{"type":"string"},"n":"integer"}`,
		`{"type":1,"n":1}`, false},
	{"a flat map with params named type and properties", `{"type":{"type":"string"},"properties":{"type":"object"}}`,
		`{"type":"a","properties":{}}`, true},
	{"a flat map with params named type and required", `{"type":{"type":"string"},"required":{"type":"boolean"}}`,
		`{"type":"a"}`, false},
	{"a schema with a property named type",
		`{"type":"object","properties":{"type":{"type":"string"}},"required":["type"]}`, `{"type":"adult"}`, true},
	{"a schema with a property named type, and none",
		`{"type":"object","properties":{"type":{"type":"string"}},"required":["type"]}`, `{}`, false},
	{"a schema with a property named properties",
		`{"properties":{"properties":{"type":"string"}},"required":["properties"]}`, `{"properties":"a"}`, true},

	{"a schema without type", `{"properties":{"p":{"type":"string"}}}`, `{"p":1}`, false},
	{"a schema of required alone", `{"required":["p"]}`, `{}`, false},
	{"a schema of several", `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"b":1}`, true},
	{"a schema with no alternative that fits", `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"c":1}`, false},
	{"a schema with a reference into itself",
		`{"type":"object","properties":{"p":{"$ref":"#/$defs/id"}},"$defs":{"id":{"type":"string"}}}`, `{"p":1}`, false},
	{"a schema of an older draft",
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"p":{"type":"string"}}}`,
		`{"p":1}`, false},
	{"a const", requiring(`{"const":null}`), `{"p":null}`, true},
	{"a const, and another value", requiring(`{"const":null}`), `{"p":0}`, false},

	{"a schema of another word alone", `{"minProperties":1}`, `{"a":1}`, true},
	{"a schema that only describes", `{"description":"takes nothing"}`, `{}`, true},
	{"a flat map with a param named required", `{"required":{"type":"boolean"}}`, `{"required":true}`, true},
	{"a flat map with a param named properties", `{"properties":{"type":"object"}}`, `{"properties":{}}`, true},
	{"nor one with a title", `{"title":"takes nothing"}`, `{}`, true},
	{"a flat map with a description of its own", `{"description":"books a seat","seat":{"type":"string"}}`,
		`{"seat":"a1"}`, true},
	{"a flat map with a description of its own, and nothing", `{"description":"books a seat","seat":{"type":"string"}}`,
		`{}`, false},
	{"a flat map with a param named description", `{"description":"string"}`, `{}`, false},
	{"a flat map with a param named title", `{"title":{"type":"string"}}`, `{}`, false},
	{"a flat map with a param named required, and nothing", `{"required":{"type":"boolean"}}`, `{}`, false},
	{"a flat map with a param named items", `{"items":{"type":"array"}}`, `{"items":[]}`, true},
	{"a flat map with a param named format", `{"format":"string"}`, `{}`, false},
	{"a schema of properties that has one named type", `{"properties":{"type":{"type":"string"}}}`, `{"type":1}`, false},
	{"a schema of what it is not", `{"not":{"required":["a"]}}`, `{"a":1}`, false},
	{"a flat map with a default", `{"n":{"type":"integer","default":1}}`, `{}`, true},
	{"a flat map with a default that is still required", `{"n":{"type":"integer","default":1,"required":true}}`,
		`{}`, false},
	{"a flat map that marks what is required, and lacks others",
		`{"a":{"type":"string","required":true},"b":{"type":"string"}}`, `{"a":"x"}`, true},
	{"a flat map that marks what is required, and lacks it",
		`{"a":{"type":"string","required":true},"b":{"type":"string"}}`, `{"b":"x"}`, false},
	{"a flat map that marks both", `{"a":{"type":"string","required":true},"b":{"type":"string","optional":false}}`,
		`{"a":"x"}`, false},
	{"a flat map with an object that requires something", `{"o":{"type":"object","required":["a"]}}`, `{"o":{}}`, false},
}

// TestAccepts checks that both forms of parameters mean what their author intends.
func TestAccepts(t *testing.T) {

	for _, r := range acceptsRows {
		t.Run(r.reason, func(t *testing.T) {
			err := announced(t, "tool", r.parameters).Accepts(decode(t, r.params))
			if (err == nil) != r.want {
				t.Errorf("%s takes %s: %v", r.parameters, r.params, err)
			}
		})
	}
}

// TestAcceptsExactly checks that numbers are compared as written, not as float64.
func TestAcceptsExactly(t *testing.T) {
	for _, r := range []struct {
		reason, property, value string
		want                    bool
	}{
		{"the greatest, one beyond what a float64 has", `{"type":"integer","maximum":9007199254740993}`, `9007199254740993`,
			true},
		{"one more than that", `{"type":"integer","maximum":9007199254740993}`, `9007199254740994`, false},
		{"one less than the least", `{"type":"integer","minimum":9007199254740993}`, `9007199254740992`, false},
		{"the one of an enum", `{"enum":[9007199254740993]}`, `9007199254740993`, true},
		{"its neighbour, which is the same float64", `{"enum":[9007199254740993]}`, `9007199254740992`, false},
		{"the same in another notation", `{"enum":[100]}`, `1e2`, true},
		{"an integer of many digits", `{"type":"integer"}`, strings.Repeat("9", 400), true},
		{"a number that no float64 has", `{"type":"integer","minimum":0,"maximum":8}`, `1e400`, false},
		{"a number too large to write out", `{"type":"integer","minimum":0,"maximum":8}`, `1e999999999`, false},
		{"a fraction that a float64 would round away", `{"type":"integer"}`, `1.00000000000000000001`, false},
		{"a little below the minimum", `{"type":"number","minimum":0}`, `-0.00000000000000000000001`, false},
		{"minus zero", `{"type":"integer","minimum":0}`, `-0`, true},
	} {
		t.Run(r.reason, func(t *testing.T) {
			err := announced(t, "tool", requiring(r.property)).Accepts(decode(t, `{"p":`+r.value+`}`))
			if (err == nil) != r.want {
				t.Errorf("%s takes %s: %v", r.property, r.value, err)
			}
		})
	}
}

// TestAcceptsTells checks that an error says what is wrong with the params or the schema.
func TestAcceptsTells(t *testing.T) {
	for _, r := range []struct{ reason, parameters, params, has string }{
		{"params", requiring(`{"type":"integer"}`), `{"p":"a"}`, "/p"},
		{"a missing param", requiring(`{}`), `{}`, "'p'"},
		{"params for invalid parameters", `{"type":7}`, `[]`, "object"},
	} {
		err := announced(t, "tool", r.parameters).Accepts(decode(t, r.params))
		if err == nil || !strings.Contains(err.Error(), r.has) {
			t.Errorf("%s: %v, want %q in it", r.reason, err, r.has)
		}
	}
}

// TestTheAnnouncementStays checks that the announcement is not modified, as it belongs to the transcript and other
// scenarios read it concurrently.
func TestTheAnnouncementStays(t *testing.T) {
	list := decode(t, `[{"name":"select","parameters":{"itemId":{"type":"string","enum":["a","b"]},
		"n":{"type":"integer","minimum":1,"optional":true}}},
		{"name":"setQuantity","parameters":{"type":"object",
		"properties":{"quantity":{"type":"integer","minimum":0}},"required":["quantity"]}}]`).([]any)
	before := wjson.Compact(list)
	tools, err := Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for i := range tools {
				params, _ := tools[i].Example(nil)
				if err := tools[i].Accepts(params); err != nil {
					t.Error(err)
				}
				for _, how := range ways {
					tools[i].Wrong(how, nil, nil)
				}
			}
		})
	}
	work.Wait()
	if diff := cmp.Diff(before, wjson.Compact(list)); diff != "" {
		t.Errorf("the announcement has changed:\n%s", diff)
	}
}
