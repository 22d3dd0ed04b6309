package toolschema

import (
	"strings"
	"testing"

	wjson "parley/transport/wire/json"
)

// TestMisfitsAreTold: why params are not accepted is told by place, without the words of the validator.
func TestMisfitsAreTold(t *testing.T) {
	const seats = `{"type":"object","required":["seat","n"],"additionalProperties":false,
		"properties":{"seat":{"enum":["A1","B2"]},"n":{"type":"integer","minimum":1},"l":{"items":{"const":1}}}}`
	for _, c := range []struct{ schema, params, want string }{
		{seats, `{}`, "missing properties 'seat', 'n'"},
		{seats, `{"seat":"C9","n":0}`, "/n: minimum: got 0, want 1; /seat: value must be one of 'A1', 'B2'"},
		{seats, `{"seat":"A1","n":"x"}`, "/n: got string, want integer"},
		{seats, `{"seat":"A1","n":1,"l":[2]}`, "/l/0: value must be 1"},
		{seats, `{"seat":"A1","n":1,"z":2}`, "additional properties 'z' not allowed"},
		{seats, `3`, "got number, want object"},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`,
			"no alternative matches (missing property 'a'; missing property 'b')"},
		{`{"items":{"const":1}}`, `[2,2,2,2,2,2]`,
			"/0: value must be 1; /1: value must be 1; /2: value must be 1; /3: value must be 1; /4: value must be 1; and more"},
		{`{"propertyNames":{"maxLength":2}}`, `{"long":1}`, "invalid propertyName 'long'"},
	} {
		list, _, err := wjson.Decode([]byte(`[{"name":"book","parameters":` + c.schema + `}]`))
		if err != nil {
			t.Fatal(err)
		}
		tools, err := Parse(list.([]any))
		if err != nil {
			t.Fatal(err)
		}
		params, _, err := wjson.Decode([]byte(c.params))
		if err != nil {
			t.Fatal(err)
		}
		got := tools.Find("book").Accepts(params)
		if got == nil || got.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.params, got, c.want)
		}
	}
}

// TestReferencesThatLeadNowhere: why a schema is left out is told without the words of the validator.
func TestReferencesThatLeadNowhere(t *testing.T) {
	_, err := compile(object{"type": "object", "properties": object{"a": object{"$ref": "#/nope"}}})
	if err == nil || !strings.HasSuffix(err.Error(), "the reference #/nope leads nowhere") {
		t.Errorf("%v", err)
	}
}
