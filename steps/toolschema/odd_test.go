package toolschema

import (
	"strings"
	"testing"

	wjson "parley/transport/wire/json"
)

var oddSchemasRows = []struct {
	reason, parameters string
	right, wrong       string // params that are accepted and, unless "", params that are not
	odd                string // text in the report; "" for none
	settled            bool   // the schema settles that the example is valid
}{
	{"an unknown type in a flat map", `{"field":{"type":"any"}}`, `{"field":[7]}`, `{}`,
		`/properties/field/type: "any" is not a type`, false},
	{"such a type with an enum", `{"field":{"type":"any","enum":["a"]}}`, `{"field":"a"}`, `{"field":"b"}`, `"any"`,
		false},
	{"such a type as a word", `{"field":"text"}`, `{"field":7}`, `{}`, `"text"`, false},
	{"such a type that may be left out", `{"field":"string?"}`, `{}`, ``, `"string?"`, false},
	{"such a type that says so in words", `{"field":{"type":"string (optional)"}}`, `{}`, ``, `optional`, false},
	{"an unknown type beside a known one", `{"field":{"type":["string","Date"]}}`, `{"field":{}}`, `{}`, `"Date"`,
		false},
	{"such a type within a schema", requiring(`{"type":"any"}`), `{"p":{}}`, `{}`, `/properties/p/type`, false},
	{"such a type of the params", `{"type":"OBJECT","properties":{"p":{"type":"STRING"}},"required":["p"]}`, `{"p":1}`,
		`[]`, `"OBJECT"`, false},
	{"such a type among items", `{"type":"object","properties":{"p":{"type":"array","items":{"type":"str"}}}}`,
		`{"p":[1]}`, `{"p":1}`, `/properties/p/items/type`, false},
	{"a type that is a number", `{"type":7}`, `{"a":1}`, `[]`, `7 is not a type`, false},
	{"a type of nothing", requiring(`{"type":[]}`), `{"p":1}`, `{}`, `[] is not a type`, false},
	{"a type twice", requiring(`{"type":["string","string"]}`), `{"p":"a"}`, `{"p":1}`, ``, false},
	{"a type that is null", requiring(`{"type":null,"enum":[1]}`), `{"p":1}`, `{"p":2}`, ``, true},
	{"a property that is the name of a type", `{"type":"object","properties":{"p":"integer"}}`, `{"p":1}`, `{"p":"a"}`,
		``, true},
	{"a property that is null", `{"type":"object","properties":{"p":null}}`, `{"p":1}`, ``, ``, true},
	{"a required of draft 3", `{"type":"object","properties":{"p":{"type":"boolean","required":true}}}`, `{"p":true}`,
		`{}`, ``, false},
	{"a required that is true", `{"type":"object","required":true}`, `{}`, `[]`, ``, true},
	{"a required that is a name", `{"type":"object","properties":{"p":{}},"required":"p"}`, `{}`, ``,
		`/required: "p" is not a list`, false},
	{"a required that is null", `{"type":"object","required":null}`, `{}`, ``, ``, true},
	{"a required with a name twice", `{"type":"object","properties":{"p":{"enum":[1]}},"required":["p","p"]}`, `{"p":1}`,
		`{}`, ``, true},
	{"properties that are an empty list", `{"type":"object","properties":[]}`, `{}`, ``, ``, true},
	{"null that goes in OpenAPI", requiring(`{"type":"string","nullable":true,"enum":["a"]}`), `{"p":null}`, `{"p":"b"}`,
		``, true},
	{"a minimum of draft 4 that is not reached", requiring(`{"type":"integer","minimum":0,"exclusiveMinimum":true}`),
		`{"p":1}`, `{"p":0}`, ``, true},
	{"a minimum of draft 4 that may be reached", requiring(`{"type":"integer","minimum":0,"exclusiveMinimum":false}`),
		`{"p":0}`, `{"p":-1}`, ``, true},
	{"a minimum in quotes", requiring(`{"type":"integer","minimum":"1"}`), `{"p":1}`, `{"p":0}`, ``, true},
	{"a minimum that is a word", requiring(`{"type":"integer","minimum":"none"}`), `{"p":-9}`, `{"p":"a"}`, `/minimum`,
		false},
	{"a length that cannot be", requiring(`{"type":"string","minLength":-1,"enum":["a"]}`), `{"p":"a"}`, `{"p":"b"}`, ``,
		true},
	{"items of a draft before", `{"type":"object","properties":{"p":{"type":"array","items":[{"type":"string"}]}}}`,
		`{"p":["a",1]}`, `{"p":[1]}`, ``, true},
	{"a pattern of another dialect", requiring(`{"type":"string","pattern":"^(?=a)"}`), `{"p":"b"}`, `{"p":1}`,
		`/pattern`, false},
	{"an invalid description", requiring(`{"type":"boolean","description":null,"title":7}`), `{"p":true}`, `{"p":1}`,
		``, true},
	{"an unknown dialect", `{"$schema":"https://example.com/ours","type":"object"}`, `{}`, `[]`, ``, true},
	{"a reference to nothing", requiring(`{"$ref":"#/$defs/none"}`), `{}`, `[]`, `any params are accepted`, false},
	{"an enum that is a text", requiring(`{"enum":"a|b"}`), `{"p":"c"}`, `{}`, `/enum`, false},
	{"an odd word within a negation", `{"type":"object","not":{"required":["a"],"properties":{"a":{"type":"any"}}}}`,
		`{"a":1}`, `[]`, `"any"`, false},
	{"an odd word beside one of two", `{"oneOf":[{"required":["a"]},{"type":"any"}]}`, `{"a":1}`, ``, `"any"`, false},
	{"descriptions with names",
		`[{"name":"p","type":"string","enum":["a"]},{"name":"q","type":"integer","required":false}]`, `{"p":"a"}`, `{}`, ``,
		true},
	{"names alone", `["p","q"]`, `{"p":1,"q":2}`, `{"p":1}`, ``, false},
	{"parameters that are a text", `"none"`, `{"a":1}`, `[]`, `"none" is not an object`, false},
}

// TestOddSchemas checks that keywords unknown to JSON Schema do not make a tool untestable. Obvious meanings are
// accepted. Everything else restricts nothing, is reported, and leaves open whether params are valid.
func TestOddSchemas(t *testing.T) {
	for _, r := range oddSchemasRows {
		t.Run(r.reason, func(t *testing.T) {
			tool := announced(t, "filter", r.parameters)
			if err := tool.Accepts(decode(t, r.right)); err != nil {
				t.Errorf("%s is not accepted: %v", r.right, err)
			}
			if r.wrong != "" && tool.Accepts(decode(t, r.wrong)) == nil {
				t.Errorf("%s is accepted", r.wrong)
			}
			told := strings.Join((Tools{*tool}).Odd(), "\n")
			if r.odd == "" && told != "" || !strings.Contains(told, r.odd) {
				t.Errorf("told: %q, want %q in it", told, r.odd)
			}
			if r.odd != "" && !strings.HasPrefix(told, "filter: ") {
				t.Errorf("told: %q, without the tool", told)
			}
			params, settled := tool.Example(nil)
			if params == nil || settled != r.settled {
				t.Errorf("the example %s, settled %v; want one, settled %v", wjson.Compact(params), settled, r.settled)
			}
			for _, how := range ways {
				for _, w := range tool.Wrong(how, nil, nil) {
					if err := tool.Accepts(w.Params); err == nil {
						t.Errorf("%s is called wrong: %s", wjson.Compact(w.Params), how)
					}
				}
			}
		})
	}
}

// TestOtherKeys checks that parameters are found under the names of other tool protocols.
func TestOtherKeys(t *testing.T) {
	for _, key := range []string{"parameters", "inputSchema", "input_schema", "params"} {
		tools, err := Parse([]any{object{"name": "a", key: object{"p": "integer"}}})
		if err != nil {
			t.Fatal(err)
		}
		if tools[0].Accepts(object{"p": "a"}) == nil {
			t.Errorf("%s is not read", key)
		}
	}
}
