package pack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaOf compiles a JSON Schema that is published for editors.
func schemaOf(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:schema", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validYAML checks a document in YAML by a schema.
func validYAML(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	b, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// TestSchema: the files of every folder in examples/packs are valid by the published schemas, and mistakes are not.
func TestSchema(t *testing.T) {
	protocols, clauses := schemaOf(t, ProtocolSchema()), schemaOf(t, ClausesSchema())
	folders, _ := filepath.Glob("../../examples/packs/*/protocol.yaml")
	if len(folders) < 3 {
		t.Fatalf("folders: %q", folders)
	}
	for _, at := range folders {
		folder := filepath.Dir(at)
		for name, schema := range map[string]*jsonschema.Schema{"protocol.yaml": protocols, "clauses.yaml": clauses} {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := validYAML(t, schema, text); err != nil {
				t.Errorf("%s/%s: %v", folder, name, err)
			}
		}
	}
	const row = "protocol: a\nsource: a.md\nclauses:\n  - {id: AB-001, level: %s, section: '1', text: a, source: a, " +
		"observed: wire, status: %s}\n"
	for text, schema := range map[string]*jsonschema.Schema{
		fmt.Sprintf(protocol, "  - {on: ping, ows: pong, clauses: PP-001}"):            protocols,
		fmt.Sprintf(protocol, "  - {on: ping, owes: pong, within: ever}"):              protocols,
		fmt.Sprintf(protocol, "  - {owes: pong, clauses: PP-001}"):                     protocols,
		fmt.Sprintf(protocol, "  - {on: {form: client}, owes: pong, clauses: PP-001}"): protocols,
		"protocol: A\nprefix: PP\ntransports: {ws: {path: /ws}}\n":                     protocols,
		"protocol: a\nprefix: PP\ntransports: {ws: {paht: /ws}}\n":                     protocols,
		fmt.Sprintf(row, "MOST", "tested"):                                             clauses,
		fmt.Sprintf(row, "MUST", "excluded"):                                           clauses,
		fmt.Sprintf(row, "MUST", "later"):                                              clauses,
	} {
		if validYAML(t, schema, []byte(text)) == nil {
			t.Errorf("valid by the schema: %s", text)
		}
	}
	for text, schema := range map[string]*jsonschema.Schema{
		fmt.Sprintf(protocol, "  - {on: ping, owes: pong, clauses: PP-001}"): protocols,
		fmt.Sprintf(row, "MUST", "tested"):                                   clauses,
	} {
		if err := validYAML(t, schema, []byte(text)); err != nil {
			t.Errorf("%v: %s", err, text)
		}
	}
}
