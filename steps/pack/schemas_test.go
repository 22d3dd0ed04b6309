package pack

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"parley/steps/obligation"
)

// withSchema is the protocol of the tests with a JSON Schema in messages.
func withSchema(file, schema, rules string) (*Pack, error) {
	return LoadFS(fstest.MapFS{"protocol.yaml": {Data: fmt.Appendf(nil, protocol, rules)},
		"clauses.yaml": {Data: []byte(ledger)}, file: {Data: []byte(schema)}}, "pp")
}

const valid = "  - {on: {from: server}, valid: true, clauses: PP-001}"

// TestValid: messages keep to the JSON Schema of their type; others have none.
func TestValid(t *testing.T) {
	p, err := withSchema("messages/pong.json", `{"type": "object", "required": ["n"],
		"properties": {"n": {"type": "integer", "minimum": 1}}}`, valid)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`A< {"type":"pong","n":1}`:                                  "+",
		`A< {"type":"pong","n":1,"more":true}`:                      "+",
		`A< {"type":"pong","n":"1"}`:                                "-",
		`A< {"type":"pong"}`:                                        "-",
		`A< {"type":"pong","n":0}`:                                  "-",
		`A< {"type":"note","n":0}`:                                  "",
		`A< {"type":"pong","n":1` + strings.Repeat("0", 9000) + "}": "+",
	} {
		got := ""
		for _, f := range obligation.Judge(newModel(p.doc, obligation.Ours), said(t, p, line)) {
			if got = "-"; f.OK {
				got = "+"
			} else if !strings.Contains(f.Observed, "n") {
				t.Errorf("%s: expected %q, observed %q", line, f.Expected, f.Observed)
			}
		}
		if got != want {
			t.Errorf("%.40s: %q, want %q", line, got, want)
		}
	}
}

// TestSchemaMistakes: a schema that cannot judge is told with its file.
func TestSchemaMistakes(t *testing.T) {
	for _, c := range []struct{ file, schema, want string }{
		{"messages/pang.json", `{"type":"object"}`, `no message has the type "pang"`},
		{"messages/pong.json", "{\n  \"type\": \"object\"", "pp/messages/pong.json:2:19: it is not JSON: it ends"},
		{"messages/pong.json", "{\n  \"type\" \"object\"}", "pp/messages/pong.json:2:10: it is not JSON: "},
		{"messages/pong.json", `[]`, "a JSON Schema of a message is an object"},
		{"messages/pong.json", `{"oneOf":[]}`, "it has no type, and a message is an object"},
		{"messages/pong.json", `{"type":["object","null"]}`, `its type is ["object","null"], and a message is an object`},
		{"messages/pong.json", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, "a $ref at the top does not say"},
		{"messages/pong.json", `{"type":"object","properties":{"n":{"type":"whole"}}}`, "whole"},
		{"messages/pong.json", `{"type":"object","properties":{"n":{"$ref":"../../x.json"}}}`, "x.json"},
		{"other/pong.json", `{}`, "protocol.yaml:12: valid: there are no JSON Schemas"},
	} {
		_, err := withSchema(c.file, c.schema, valid)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.file, c.schema, err, c.want)
		} else if strings.Contains(err.Error(), "there are no") != strings.Contains(c.want, "there are no") {
			t.Errorf("%s %s: %v", c.file, c.schema, err)
		}
	}
}

// TestSchemaOfReference: a reference within the file judges, if the object is said beside it.
func TestSchemaOfReference(t *testing.T) {
	p, err := withSchema("messages/pong.json",
		`{"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"required": ["n"]}}}`, valid)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{`A< {"type":"pong","n":1}`: true, `A< {"type":"pong"}`: false} {
		if all := obligation.Judge(newModel(p.doc, obligation.Ours), said(t, p, line)); len(all) != 1 || all[0].OK != want {
			t.Errorf("%s: %+v, want %v", line, all, want)
		}
	}
}
