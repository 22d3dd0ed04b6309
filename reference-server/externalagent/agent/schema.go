package agent

import (
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// toSchema makes a JSON Schema from either form of announced parameters: a JSON Schema, or a flat map {param: {type,
// enum?, optional?}}.
func toSchema(parameters any) object {
	o, _ := parameters.(object)
	if isSchema(o) {
		return o
	}
	properties, required := object{}, []any{}
	for name, v := range o {
		p := object{}
		optional := false
		if kind, isText := v.(string); isText { // {param: type}
			v = object{"type": kind}
		}
		if flat, isObject := v.(object); isObject {
			for member, v := range flat {
				p[member] = v
			}
			optional = flat["optional"] == true || flat["required"] == false
		}
		delete(p, "optional")
		delete(p, "required")
		if kind, isText := p["type"].(string); isText {
			p["type"] = typeName(kind)
		}
		if p["type"] == "" {
			delete(p, "type")
		}
		properties[name] = p
		if !optional {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// isSchema reports whether parameters are a JSON Schema; a flat map has an object for each parameter, whatever its
// name.
func isSchema(o object) bool {
	switch o["type"].(type) {
	case string, []any:
		return true
	}
	for name := range o {
		if strings.HasPrefix(name, "$") {
			return true
		}
	}
	properties, isObject := o["properties"].(object)
	if !isObject {
		return false
	}
	for _, p := range properties {
		switch p.(type) {
		case object, bool:
		default: // the definition of a flat parameter with this name
			return false
		}
	}
	return true
}

// typeName returns the JSON Schema name of a type; "" for an unknown one.
func typeName(kind string) string {
	switch kind = strings.ToLower(kind); kind {
	case "string", "number", "integer", "boolean", "array", "object", "null":
		return kind
	case "int":
		return "integer"
	case "float", "double":
		return "number"
	case "bool":
		return "boolean"
	}
	return ""
}

// schemas caches compiled schemas by their text.
type schemas map[string]*jsonschema.Schema

// compile returns nil for an invalid schema, which allows any parameters.
func (c schemas) compile(schema object) *jsonschema.Schema {
	const most = 500
	text := canonical(schema)
	if s, found := c[text]; found {
		return s
	}
	if len(c) == most {
		clear(c)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	var s *jsonschema.Schema
	if err := compiler.AddResource(schemaURL, schema); err == nil {
		if s, err = compiler.Compile(schemaURL); err != nil {
			s = nil
		}
	}
	c[text] = s
	return s
}

const schemaURL = "tool:parameters"

// noLoader refuses to load anything: a schema from the wire must not refer to files or addresses.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not followed")
}
