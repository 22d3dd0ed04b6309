package toolschema

import (
	"strings"
	"testing"

	wjson "parley/transport/wire/json"
)

const exampleNone = "none"

var exampleRows = []struct {
	reason, parameters, known string
	want                      string // "none": no params were found
	settled                   bool
}{
	{"no parameters", `null`, `{}`, `{}`, true},
	{"no params that it needs", `{"type":"object","properties":{},"additionalProperties":false}`, `{}`, `{}`, true},
	{"the first of an enum", requiring(`{"enum":["b","a"]}`), `{}`, `{"p":"b"}`, true},
	{"the first of an enum of all kinds", requiring(`{"enum":[null,"a"]}`), `{}`, `{"p":null}`, true},
	{"an enum of one object", requiring(`{"enum":[{"a":[1]}]}`), `{}`, `{"p":{"a":[1]}}`, true},
	{"a const", requiring(`{"const":{"a":1}}`), `{}`, `{"p":{"a":1}}`, true},
	{"a const that is null", requiring(`{"const":null}`), `{}`, `{"p":null}`, true},
	{"a const, whatever is known", requiring(`{"const":"a"}`), `{"p":"b"}`, `{"p":"a"}`, true},
	{"a minimum", requiring(`{"type":"integer","minimum":3}`), `{}`, `{"p":3}`, true},
	{"a minimum below zero", requiring(`{"type":"integer","minimum":-3}`), `{}`, `{"p":-3}`, true},
	{"a minimum of zero", requiring(`{"type":"number","minimum":0}`), `{}`, `{"p":0}`, true},
	{"a minimum in another notation", requiring(`{"type":"integer","minimum":2e1}`), `{}`, `{"p":20}`, true},
	{"a minimum beyond what a float64 has", requiring(`{"type":"integer","minimum":9007199254740993}`), `{}`,
		`{"p":9007199254740993}`, true},
	{"a boolean", requiring(`{"type":"boolean"}`), `{}`, `{"p":true}`, true},

	{"a number is made up", requiring(`{"type":"number"}`), `{}`, `{"p":1}`, false},
	{"a text is made up", requiring(`{"type":"string"}`), `{}`, `{"p":"parley"}`, false},
	{"a text is made up where anything goes", requiring(`{}`), `{}`, `{"p":"parley"}`, false},
	{"a text is made up where a schema is true", requiring(`true`), `{}`, `{"p":"parley"}`, false},
	{"a text is made up where several types go", requiring(`{"type":["string","null"]}`), `{}`, `{"p":"parley"}`, false},
	{"a short text", requiring(`{"type":"string","maxLength":3}`), `{}`, `{"p":"par"}`, false},
	{"an empty text", requiring(`{"type":"string","maxLength":0}`), `{}`, `{"p":""}`, false},
	{"a text that may be long", requiring(`{"type":"string","maxLength":1000}`), `{}`, `{"p":"parley"}`, false},
	{"a list is made up", requiring(`{"type":"array"}`), `{}`, `{"p":[]}`, false},
	{"an object is made up", requiring(`{"type":"object"}`), `{}`, `{"p":{}}`, false},

	{"what is known", requiring(`{"type":"string"}`), `{"p":"m1"}`, `{"p":"m1"}`, true},
	{"what is known where anything goes", requiring(`{}`), `{"p":[1]}`, `{"p":[1]}`, true},
	{"what is known of an enum", requiring(`{"enum":["a","b"]}`), `{"p":"b"}`, `{"p":"b"}`, true},
	{"what is known and is not in the enum", requiring(`{"enum":["a","b"]}`), `{"p":"c"}`, `{"p":"a"}`, true},
	{"what is known and is of another kind than the enum", requiring(`{"enum":["a"]}`), `{"p":{}}`, `{"p":"a"}`, true},
	{"what is known of other params", requiring(`{"type":"string"}`), `{"q":"m1"}`, `{"p":"parley"}`, false},
	{"what is known and breaks the schema", requiring(`{"type":"string"}`), `{"p":7}`, exampleNone, false},

	{"an optional param that the schema settles", `{"type":"object","properties":{"p":{"enum":["a"]}}}`, `{}`,
		`{"p":"a"}`, true},
	{"an optional param that would be made up", `{"type":"object","properties":{"p":{"type":"string"}}}`, `{}`, `{}`,
		true},
	{"an optional param that is known", `{"type":"object","properties":{"p":{"type":"string"}}}`, `{"p":"m1"}`,
		`{"p":"m1"}`, true},
	{"an optional param of a flat map", `{"a":{"type":"string","enum":["x"]},"b":{"type":"string","optional":true}}`,
		`{}`, `{"a":"x"}`, true},
	{"one that is settled, and one that is not", `{"a":{"enum":["x"]},"b":"string"}`, `{}`, `{"a":"x","b":"parley"}`,
		false},

	{"a schema that nothing keeps to", `{"type":"object","not":{}}`, `{}`, exampleNone, false},
	{"a param that nothing keeps to", requiring(`false`), `{}`, exampleNone, false},
	{"a minimum beyond the maximum", requiring(`{"type":"integer","minimum":3,"maximum":2}`), `{}`, exampleNone, false},
	{"a text that must be long", requiring(`{"type":"string","minLength":7}`), `{}`, exampleNone, false},
	{"a text of a pattern", requiring(`{"type":"string","pattern":"^\\d+$"}`), `{}`, exampleNone, false},
	{"a list that must not be empty", requiring(`{"type":"array","minItems":1}`), `{}`, exampleNone, false},
	{"a param that is required and not described", `{"type":"object","required":["p"]}`, `{}`, exampleNone, false},
	{"no JSON Schema", `{"type":7}`, `{}`, `{}`, false},
	{"a minimum of many digits", requiring(`{"type":"integer","minimum":` + strings.Repeat("9", 50) + `}`), `{}`,
		exampleNone,
		false},

	{"what is known and is null is not known", requiring(`{"type":"string"}`), `{"p":null}`, `{"p":"parley"}`, false},
	{"what is known of an enum of objects", requiring(`{"enum":[{"a":1},{"a":2}]}`), `{"p":{"a":2}}`, `{"p":{"a":2}}`,
		true},
	{"what is known of an enum of lists", requiring(`{"enum":[[1],[2]]}`), `{"p":[2]}`, `{"p":[2]}`, true},
	{"what is known of an enum, in another notation", requiring(`{"enum":[1,2]}`), `{"p":2.0}`, `{"p":2.0}`, true},
	{"a minimum that is a fraction", requiring(`{"type":"number","minimum":1.25}`), `{}`, `{"p":2}`, true},
	{"a number within a narrow range", requiring(`{"type":"number","minimum":0.25,"maximum":0.5}`), `{}`, `{"p":0.25}`,
		true},
	{"an exclusive minimum", requiring(`{"type":"integer","exclusiveMinimum":1}`), `{}`, `{"p":2}`, true},
	{"a maximum below one", requiring(`{"type":"integer","maximum":0}`), `{}`, `{"p":0}`, false},
	{"a number that may be null", requiring(`{"type":["integer","null"],"minimum":0}`), `{}`, `{"p":0}`, true},
	{"a text that may be very long", requiring(`{"type":"string","minLength":1,"maxLength":18446744073709551616}`), `{}`,
		`{"p":"parley"}`, false},
	{"a known null sets no optional param", `{"type":"object","properties":{"p":{"type":"string"}}}`, `{"p":null}`,
		`{}`, true},
	{"a minimum that is a fraction, of an integer", requiring(`{"type":"integer","minimum":1.25}`), `{}`, `{"p":2}`,
		true},
	{"an exclusive minimum that is a fraction", requiring(`{"type":"number","exclusiveMinimum":0,"maximum":0.5}`), `{}`,
		`{"p":0.25}`, true},
	{"an exclusive minimum, as draft 4 has it",
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"p":{"type":"integer",` +
			`"minimum":1,"exclusiveMinimum":true}},"required":["p"]}`, `{}`, `{"p":2}`, true},
	{"a maximum that is a fraction", requiring(`{"type":"integer","maximum":-0.5}`), `{}`, `{"p":-1}`, false},
	{"an exclusive maximum", requiring(`{"type":"integer","exclusiveMaximum":1}`), `{}`, `{"p":0}`, false},
	{"an exclusive maximum of a number", requiring(`{"type":"number","exclusiveMaximum":0}`), `{}`, `{"p":-1}`, false},
	{"a divisor", requiring(`{"type":"integer","minimum":3,"multipleOf":5}`), `{}`, `{"p":5}`, true},
	{"a divisor that is a fraction", requiring(`{"type":"number","exclusiveMinimum":0,"maximum":0.9,"multipleOf":0.25}`),
		`{}`, `{"p":0.25}`, true},
	{"a divisor and a maximum", requiring(`{"type":"integer","maximum":-3,"multipleOf":5}`), `{}`, `{"p":-5}`, false},
	{"a text that may be null", requiring(`{"type":["null","string"]}`), `{}`, `{"p":"parley"}`, false},
	{"a default", requiring(`{"type":"string","default":"m1"}`), `{}`, `{"p":"m1"}`, true},
	{"a default, and what is known", requiring(`{"type":"string","default":"m1"}`), `{"p":"m2"}`, `{"p":"m2"}`, true},
	{"a default that breaks the schema", requiring(`{"type":"integer","minimum":1,"default":0}`), `{}`, `{"p":1}`, true},
	{"a default of an optional param", `{"type":"object","properties":{"p":{"type":"integer","default":3}}}`, `{}`,
		`{"p":3}`, true},
	{"a default that is null, of an optional param",
		`{"type":"object","properties":{"p":{"type":"string","default":null}}}`, `{}`, `{}`, true},
}

// TestExample checks that params are made from the schema and from what the target has shown, and count as settled if
// no value was made up.
func TestExample(t *testing.T) {

	for _, r := range exampleRows {
		t.Run(r.reason, func(t *testing.T) {
			tool := announced(t, "tool", r.parameters)
			known := decode(t, r.known).(object)
			params, settled := tool.Example(known)
			got := exampleNone
			if params != nil {
				got = wjson.Compact(params)
			}
			if got != r.want || settled != r.settled {
				t.Errorf("%s, settled %v; want %s, settled %v", got, settled, r.want, r.settled)
			}
			if params != nil {
				if err := tool.Accepts(params); err != nil {
					t.Errorf("%s breaks the schema: %v", got, err)
				}
			}
		})
	}
}

// TestExamples checks that enums yield two legal calls, with the first and the last value of each.
func TestExamples(t *testing.T) {
	for _, r := range []struct{ reason, parameters, known, want string }{
		{"an enum", requiring(`{"enum":["a","b","c"]}`), `{}`, `{"p":"a"} {"p":"c"}`},
		{"an enum of one", requiring(`{"enum":["a"]}`), `{}`, `{"p":"a"}`},
		{"an enum that ends as it starts", requiring(`{"enum":[1,2,1.0]}`), `{}`, `{"p":1}`},
		{"what is known of an enum", requiring(`{"enum":["a","b","c"]}`), `{"p":"b"}`, `{"p":"b"} {"p":"c"}`},
		{"several enums", `{"a":{"enum":[1,2]},"b":{"enum":[3,4]},"c":"boolean"}`, `{}`,
			`{"a":1,"b":3,"c":true} {"a":2,"b":4,"c":true}`},
		{"no enum", requiring(`{"type":"integer","minimum":0}`), `{}`, `{"p":0}`},
		{"a last one that breaks the schema", requiring(`{"type":"string","enum":["a",1]}`), `{}`, `{"p":"a"}`},
		{"a first one that breaks the schema", requiring(`{"type":"string","enum":[1,"a"]}`), `{}`, `{"p":"a"}`},
		{"no parameters", `null`, `{}`, `{}`},
		{"what nothing keeps to", requiring(`false`), `{}`, ``},
		{"no JSON Schema", `{"type":7}`, `{}`, `{}`},
	} {
		t.Run(r.reason, func(t *testing.T) {
			tool := announced(t, "tool", r.parameters)
			var got []string
			for _, params := range tool.Examples(decode(t, r.known).(object)) {
				got = append(got, wjson.Compact(params))
				if err := tool.Accepts(params); err != nil {
					t.Errorf("%s breaks the schema: %v", got[len(got)-1], err)
				}
			}
			if strings.Join(got, " ") != r.want {
				t.Errorf("%q, want %q", got, r.want)
			}
		})
	}
}
