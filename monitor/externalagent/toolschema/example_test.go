package toolschema

import (
	"strings"
	"testing"

	wjson "parley/wire/json"
)

// TestExample: params are made from the schema, and from what the target itself has shown; settled are those of which no
// value was made up.
func TestExample(t *testing.T) {
	const none = "none"
	for _, r := range []struct {
		reason, parameters, known string
		want                      string // "none": no such params were found
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
		{"a minimum beyond what a float64 has", requiring(`{"type":"integer","minimum":9007199254740993}`), `{}`, `{"p":9007199254740993}`, true},
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
		{"what is known and breaks the schema", requiring(`{"type":"string"}`), `{"p":7}`, none, false},

		{"an optional param that the schema settles", `{"type":"object","properties":{"p":{"enum":["a"]}}}`, `{}`, `{"p":"a"}`, true},
		{"an optional param that would be made up", `{"type":"object","properties":{"p":{"type":"string"}}}`, `{}`, `{}`, true},
		{"an optional param that is known", `{"type":"object","properties":{"p":{"type":"string"}}}`, `{"p":"m1"}`, `{"p":"m1"}`, true},
		{"an optional param of a flat map", `{"a":{"type":"string","enum":["x"]},"b":{"type":"string","optional":true}}`, `{}`, `{"a":"x"}`, true},
		{"one that is settled, and one that is not", `{"a":{"enum":["x"]},"b":"string"}`, `{}`, `{"a":"x","b":"parley"}`, false},

		{"a schema that nothing keeps to", `{"type":"object","not":{}}`, `{}`, none, false},
		{"a param that nothing keeps to", requiring(`false`), `{}`, none, false},
		{"a minimum beyond the maximum", requiring(`{"type":"integer","minimum":3,"maximum":2}`), `{}`, none, false},
		{"a text that must be long", requiring(`{"type":"string","minLength":7}`), `{}`, none, false},
		{"a text of a pattern", requiring(`{"type":"string","pattern":"^\\d+$"}`), `{}`, none, false},
		{"a list that must not be empty", requiring(`{"type":"array","minItems":1}`), `{}`, none, false},
		{"a param that is required and not described", `{"type":"object","required":["p"]}`, `{}`, none, false},
		{"no JSON Schema", `{"type":7}`, `{}`, none, false},
		{"a minimum of many digits", requiring(`{"type":"integer","minimum":` + strings.Repeat("9", 50) + `}`), `{}`, none, false},

		// finds: a null that is known is not used, and what is made up in its place counts as settled.
		// {"what is known and is null is not known", requiring(`{"type":"string"}`), `{"p":null}`, `{"p":"parley"}`, false},
		// finds: where enum and what is known are both objects, or both lists, comparing them panics.
		// {"what is known of an enum of objects", requiring(`{"enum":[{"a":1},{"a":2}]}`), `{"p":{"a":2}}`, `{"p":{"a":2}}`, true},
		// {"what is known of an enum of lists", requiring(`{"enum":[[1],[2]]}`), `{"p":[2]}`, `{"p":[2]}`, true},
		// finds: the literal of what is known is compared, and not its value.
		// {"what is known of an enum, in another notation", requiring(`{"enum":[1,2]}`), `{"p":2.0}`, `{"p":2.0}`, true},
		// finds: a minimum is rounded, downwards too, and then nothing is found though the schema has plenty.
		// {"a minimum that is a fraction", requiring(`{"type":"number","minimum":1.25}`), `{}`, `{"p":2}`, true},
		// {"a number within a narrow range", requiring(`{"type":"number","minimum":0.25,"maximum":0.5}`), `{}`, `{"p":0.25}`, true},
		// finds: neither exclusiveMinimum nor a maximum below 1 is heeded.
		// {"an exclusive minimum", requiring(`{"type":"integer","exclusiveMinimum":1}`), `{}`, `{"p":2}`, true},
		// {"a maximum below one", requiring(`{"type":"integer","maximum":0}`), `{}`, `{"p":0}`, false},
		// finds: a type that is a list is not looked into.
		// {"a number that may be null", requiring(`{"type":["integer","null"],"minimum":0}`), `{}`, `{"p":0}`, true},
		// finds: the length is cut to 64 bits before it is compared.
		// {"a text that may be very long", requiring(`{"type":"string","minLength":1,"maxLength":18446744073709551616}`), `{}`, `{"p":"parley"}`, false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			tool := announced(t, "tool", r.parameters)
			known := decode(t, r.known).(object)
			params, settled := tool.Example(known)
			got := none
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
