// Package schemas has JSON Schemas, for forms, of messages that parties of the protocols send: they describe usual,
// correct messages, not everything that a target may get.
package schemas

import (
	"embed"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"

	"parley/internal/jsonform"
)

//go:embed *.yaml
var files embed.FS

// Schema is the schema of one message.
type Schema struct {
	Type         string         `yaml:"type"` // of the message
	From         string         `yaml:"from"` // the party that sends it; "" for any
	Method, Path string         // of the HTTP request, over transports that have one
	Schema       map[string]any `yaml:"schema"` // JSON Schema, draft 2020-12, with an example
}

// List returns the schemas of a protocol, in the order of a conversation; none for an unknown protocol.
func List(protocol string) []Schema {
	text, err := files.ReadFile(protocol + ".yaml")
	if err != nil {
		return nil
	}
	var out []Schema
	if err := yaml.UnmarshalWithOptions(text, &out, yaml.Strict()); err != nil {
		panic(err) // they are embedded
	}
	return out
}

// JSON returns the schema as JSON.
func (s Schema) JSON() ([]byte, error) { return json.Marshal(s.Schema, jsonform.Escaped) }
