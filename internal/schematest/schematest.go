// Package schematest checks, in tests, what JSON Schemas that are published for users accept.
package schematest

import (
	"bytes"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a JSON Schema.
type Schema struct{ of *jsonschema.Schema }

// Compile compiles a schema. The test ends if it is none.
func Compile(t testing.TB, text []byte) Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("urn:schema", doc); err != nil {
		t.Fatal(err)
	}
	of, err := c.Compile("urn:schema")
	if err != nil {
		t.Fatal(err)
	}
	return Schema{of}
}

// JSON returns what is wrong with a document.
func (s Schema) JSON(text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Value(v)
}

// Value returns what is wrong with a document that jsonschema.UnmarshalJSON has decoded.
func (s Schema) Value(v any) error { return s.of.Validate(v) }

// YAML returns what is wrong with a document.
func (s Schema) YAML(text []byte) error {
	b, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	return s.JSON(b)
}
