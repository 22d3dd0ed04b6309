package toolschema

import (
	"errors"
	"slices"
	"strings"
)

// Words of JSON Schema that make parameters a schema. The value of one decides: see isSchema.
var (
	// schemaOnly are no names that a param has.
	schemaOnly = []string{"$ref", "$schema", "$id", "$defs", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef",
		"$recursiveAnchor", "$vocabulary",
		"definitions", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"unevaluatedProperties", "unevaluatedItems",
		"dependencies", "dependentRequired", "dependentSchemas", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
		"additionalItems", "prefixItems",
		"minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf",
		"contentEncoding", "contentMediaType", "contentSchema"}
	// schemaToo may be names of params as well.
	schemaToo = []string{"properties", "required", "items", "contains", "enum", "const", "format", "pattern", "minimum",
		"maximum", "minLength", "maxLength"}
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

// describesParam reports whether a value is what a flat map says of a param: an object with a type, or the name of a
// type. A schema with a property that is named type has an object there.
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

// saysOptional reports whether the name of a type says that the param may be left out: string?, or "text (optional)".
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

// errForm is that an announced item has no form of which anything can be made.
var errForm = errors.New("is not an object with a name")

// item finds the name and the parameters of an announced item, in the forms that authors of tools write: that of the
// default binding; a name alone; that of function calls, {type, function: {name, parameters}}; toolName for name, and
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

// paramsOf makes a schema of what stands for the parameters of a tool.
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
