package toolschema

import (
	"errors"
	"slices"
	"strings"
)

// The keywords that make parameters a JSON Schema, depending on their values: see isSchema.
var (
	// schemaOnly are keywords that are not names of params.
	schemaOnly = []string{"$ref", "$schema", "$id", "$defs", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef",
		"$recursiveAnchor", "$vocabulary",
		"definitions", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"unevaluatedProperties", "unevaluatedItems",
		"dependencies", "dependentRequired", "dependentSchemas", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
		"additionalItems", "prefixItems",
		"minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf",
		"contentEncoding", "contentMediaType", "contentSchema"}
	// schemaToo may also be names of params.
	schemaToo = []string{"properties", "required", "items", "contains", "enum", "const", "format", "pattern", "minimum",
		"maximum", "minLength", "maxLength"}
	// describing are keywords that do not restrict values.
	describing = []string{"title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"}
	typeNames  = []string{"string", "number", "integer", "boolean", "object", "array", "null"}
)

// isSchema distinguishes a JSON Schema from a flat map.
func isSchema(params object) bool {
	if t, ok := params["type"]; ok {
		if _, param := t.(object); !param {
			return true
		}
		return false // a param named type: a type is never an object
	}
	for _, word := range schemaOnly {
		if v, ok := params[word]; ok && !namesType(v) {
			return true
		}
	}
	for _, word := range schemaToo {
		if v, ok := params[word]; ok && !describesParam(v) {
			return true
		}
	}
	// Keywords that only describe make a schema if there is nothing else.
	for name, v := range params {
		if !slices.Contains(describing, name) || describesParam(v) {
			return false
		}
	}
	return len(params) > 0
}

func namesType(v any) bool {
	text, ok := v.(string)
	return ok && slices.Contains(typeNames, text)
}

// describesParam reports whether a value describes a param of a flat map: an object with a type, or the name of a
// type. In a schema with a property named type, the value there is an object.
func describesParam(v any) bool {
	o, ok := v.(object)
	if !ok {
		return namesType(v)
	}
	switch t := o["type"].(type) {
	case string:
		return true
	case []any:
		return len(t) > 0
	}
	return false
}

// schemaOf converts a flat map to a JSON Schema, and returns a schema unchanged.
func schemaOf(params object) object {
	if isSchema(params) {
		return params
	}
	return flatSchema(params)
}

// flatSchema converts a flat map to a JSON Schema.
func flatSchema(params object) object {
	marked := false // some param is marked as required, so the others are not
	for _, v := range params {
		p, _ := v.(object)
		marked = marked || p["required"] == true
	}
	properties, required := object{}, []any{}
	for _, name := range names(params) {
		v := params[name]
		if slices.Contains(describing, name) && !describesParam(v) {
			if _, param := v.(object); !param {
				continue // describes the tool, not a param
			}
		}
		p, ok := v.(object)
		if !ok {
			if kind, isText := v.(string); isText { // {param: "string"}
				p = object{"type": kind}
			} else {
				p = object{}
			}
		}
		property := object{}
		for k, v := range p {
			_, mark := v.(bool)
			if k == "optional" || k == "required" && mark { // but not the required list of an object schema
				continue
			}
			property[k] = v
		}
		properties[name] = property
		if needed(p, marked) && !saysOptional(p["type"]) {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// saysOptional reports whether a type's name says that the param is optional: string?, or "text (optional)".
func saysOptional(t any) bool {
	text, _ := t.(string)
	return strings.HasSuffix(text, "?") || strings.Contains(strings.ToLower(text), "optional")
}

// needed reports whether a param of a flat map is required.
func needed(p object, marked bool) bool {
	switch {
	case p["optional"] == true || p["required"] == false:
		return false
	case p["optional"] == false || p["required"] == true:
		return true
	}
	_, preset := p["default"]
	return !preset && !marked
}

// errForm means that an announced item has no usable form.
var errForm = errors.New("is not an object with a name")

// item finds the name and the parameters of an announced item in the forms that authors use: that of the default
// binding; a name alone; that of function calls, {type, function: {name, parameters}}; toolName for name, and
// inputSchema, input_schema or params for parameters.
func item(v any) (name string, params any, err error) {
	if text, ok := v.(string); ok && text != "" {
		return text, nil, nil
	}
	obj, _ := v.(object)
	if inner, wrapped := obj["function"].(object); wrapped && obj["name"] == nil {
		obj = inner
	}
	name, ok := obj["name"].(string)
	if !ok {
		if name, ok = obj["toolName"].(string); !ok {
			return "", nil, errForm
		}
	}
	for _, key := range []string{"parameters", "inputSchema", "input_schema", "params"} {
		if obj[key] != nil {
			return name, obj[key], nil
		}
	}
	return name, nil, nil
}

// paramsOf converts the parameters of a tool to a schema.
func paramsOf(v any) (object, oddities) {
	switch v := v.(type) {
	case nil:
		return object{"type": "object"}, oddities{}
	case object:
		return mended(schemaOf(v))
	case []any: // descriptions with names, or names
		flat := object{}
		for _, x := range v {
			o, described := x.(object)
			name, named := o["name"].(string)
			if !described {
				name, named = x.(string)
			}
			if !named {
				flat = nil
				break
			}
			p := object{}
			for key, y := range o {
				if key != "name" {
					p[key] = y
				}
			}
			flat[name] = p
		}
		if len(flat) > 0 {
			return mended(flatSchema(flat))
		}
		if len(v) == 0 { // how some languages write an empty object
			return object{"type": "object"}, oddities{}
		}
	}
	o := oddities{}
	o.leave("parameters", "%s is not an object: any params are accepted", short80(v))
	return object{"type": "object"}, o
}
