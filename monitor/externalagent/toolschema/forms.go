package toolschema

import (
	"slices"
	"strings"
)

// Words of JSON Schema that make parameters a schema. The value of one decides: see isSchema.
var (
	// schemaOnly are no names that a param has.
	schemaOnly = []string{"$ref", "$schema", "$id", "$defs", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary",
		"definitions", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties", "unevaluatedItems",
		"dependencies", "dependentRequired", "dependentSchemas", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "additionalItems", "prefixItems",
		"minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"contentEncoding", "contentMediaType", "contentSchema"}
	// schemaToo may be names of params as well.
	schemaToo = []string{"properties", "required", "items", "contains", "enum", "const", "format", "pattern", "minimum", "maximum", "minLength", "maxLength"}
	// describing say nothing of what is legal.
	describing = []string{"title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"}
	typeNames  = []string{"string", "number", "integer", "boolean", "object", "array", "null"}
)

// isSchema tells a JSON Schema from a flat map.
func isSchema(params object) bool {
	if t, ok := params["type"]; ok {
		if _, param := t.(object); !param {
			return true
		}
		return false // a param that is named type: no type is an object
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
	// Words that only describe make a schema where there is nothing else.
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

// describesParam tells whether a value is what a flat map says of a param: an object with a type, or the name of a type. A
// schema with a property that is named type has an object there.
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

// schemaOf makes a JSON Schema of a flat map, and leaves one as it is.
func schemaOf(params object) object {
	if isSchema(params) {
		return params
	}
	return flatSchema(params)
}

// flatSchema makes a JSON Schema of a flat map.
func flatSchema(params object) object {
	marked := false // some param says that it is required, so that the others are not
	for _, v := range params {
		p, _ := v.(object)
		marked = marked || p["required"] == true
	}
	properties, required := object{}, []any{}
	for _, name := range names(params) {
		v := params[name]
		if slices.Contains(describing, name) && !describesParam(v) {
			if _, param := v.(object); !param {
				continue // of the tool, and no param
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
			if k == "optional" || k == "required" && mark { // the required of an object's members is none
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

// saysOptional tells whether the name of a type says that the param may be left out: string?, or "text (optional)".
func saysOptional(t any) bool {
	text, _ := t.(string)
	return strings.HasSuffix(text, "?") || strings.Contains(strings.ToLower(text), "optional")
}

// needed tells whether a param of a flat map is required.
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
