package schemas_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley/internal/schematest"
	"parley/reference-server/bundled"
	"parley/simulator/schemas"
	"parley/steps/protocols"
)

// TestSchemas checks that each schema is valid, accepts its own example, rejects an empty object, and is for the type
// of its example.
func TestSchemas(t *testing.T) {
	for _, protocol := range protocols.All.Names() {
		all := schemas.List(protocol)
		if len(all) < 3 {
			t.Errorf("%s has %d schemas", protocol, len(all))
		}
		for _, s := range all {
			text, err := s.JSON()
			if err != nil {
				t.Fatal(err)
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			compiled := schematest.Compile(t, text)
			example := doc.(map[string]any)["examples"].([]any)[0]
			if err := compiled.Value(example); err != nil {
				t.Errorf("%s %s: its example: %v", protocol, s.Type, err)
			}
			if compiled.Value(map[string]any{}) == nil {
				t.Errorf("%s %s takes an empty object", protocol, s.Type)
			}
			body, err := json.Marshal(example)
			if typ := bundled.All.Find(protocol).TypeOf(body); err != nil || typ != s.Type {
				t.Errorf("%s %s: its example is of type %q (%v)", protocol, s.Type, typ, err)
			}
		}
	}
	if schemas.List("no-such-protocol") != nil {
		t.Error("an unknown protocol has schemas")
	}
}
