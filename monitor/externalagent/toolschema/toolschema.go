// Package toolschema reads the toolSchema that a host announces: what its tools are, which params keep to their schemas, and
// which params break them in which way. The document leaves the form of an item open; these are the forms of the default
// binding. It is pure, and safe for concurrent use.
package toolschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sort"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

type object = map[string]any

// Tool is one announced tool.
type Tool struct {
	Name      string
	schema    object                             // JSON Schema of its params; nil where what was announced is not understood
	validator func() (*jsonschema.Schema, error) // compiles it, once
}

// Tools are those of one toolSchema, in its order.
type Tools []Tool

// Find returns the tool of a name; nil: it is not announced.
func (t Tools) Find(name string) *Tool {
	for i := range t {
		if t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}

// Parse reads a toolSchema: items {name, description?, parameters}, where parameters is a JSON Schema object or a flat map
// {param: {type, enum?, optional?}}. The document leaves the form of an item open, so that an error here is nobody's fault.
func Parse(list []any) (Tools, error) {
	out := Tools{}
	for i, item := range list {
		obj, ok := item.(object)
		name, named := obj["name"].(string)
		if !ok || !named {
			return nil, fmt.Errorf("item %d is no object with a name", i)
		}
		t := Tool{Name: name}
		if params, ok := obj["parameters"].(object); ok {
			t.schema = schemaOf(params)
		} else if obj["parameters"] == nil {
			t.schema = object{"type": "object"}
		} else {
			return nil, fmt.Errorf("item %d, %s: its parameters are no object", i, name)
		}
		t.validator = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(t.schema) })
		out = append(out, t)
	}
	return out, nil
}

// schemaOf makes a JSON Schema of a flat map, and leaves one as it is.
func schemaOf(params object) object {
	if _, flat := params["type"].(object); !flat {
		for _, word := range []string{"type", "properties", "required", "$ref", "$schema", "additionalProperties", "anyOf", "oneOf", "allOf"} {
			if _, ok := params[word]; ok {
				return params
			}
		}
	}
	properties, required := object{}, []any{}
	for _, name := range names(params) {
		p, ok := params[name].(object)
		if !ok {
			if kind, isText := params[name].(string); isText { // {param: "string"}
				p = object{"type": kind}
			} else {
				p = object{}
			}
		}
		property := object{}
		for k, v := range p {
			if k != "optional" && k != "required" {
				property[k] = v
			}
		}
		properties[name] = property
		if p["optional"] != true && p["required"] != false {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

func compile(schema object) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("parley:tool", schema); err != nil {
		return nil, err
	}
	return c.Compile("parley:tool")
}

// noLoader keeps a schema from being read from anywhere else: it came off the wire.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not read", url) }

// Accepts tells whether params keep to the announced schema; nothing keeps to what is no JSON Schema.
func (t *Tool) Accepts(params any) error {
	v, err := t.validator()
	if err != nil {
		return fmt.Errorf("its parameters are no JSON Schema: %w", err)
	}
	return v.Validate(params)
}

func names(o object) []string {
	out := make([]string, 0, len(o))
	for k := range o {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// properties are the params that a schema names, sorted.
func (t *Tool) properties() (all []string, of object) {
	of, _ = t.schema["properties"].(object)
	return names(of), of
}

func (t *Tool) requires(name string) bool {
	list, _ := t.schema["required"].([]any)
	return slices.Contains(list, any(name))
}

// Example makes params that keep to the announced schema, and tells whether they leave the tool no reason to find them
// wrong: every value is settled by the schema itself. known may offer values that the target itself has shown. nil: no
// such params were found.
func (t *Tool) Example(known map[string]any) (params map[string]any, settled bool) {
	all, of := t.properties()
	params, settled = object{}, true
	for _, name := range all {
		v, sure := value(of[name], known[name])
		_, offered := known[name]
		if !t.requires(name) && !sure && !offered {
			continue
		}
		params[name] = v
		settled = settled && (sure || offered)
	}
	if t.Accepts(params) != nil {
		return nil, false
	}
	return params, settled
}

// Examples are legal params.
func (t *Tool) Examples(known map[string]any) []map[string]any {
	if params, _ := t.Example(known); params != nil {
		return []map[string]any{params}
	}
	return nil
}

// value makes a value for a property, and tells whether the schema settles it.
func value(schema, known any) (v any, sure bool) {
	s, _ := schema.(object)
	if c, ok := s["const"]; ok {
		return c, true
	}
	if list, _ := s["enum"].([]any); len(list) > 0 {
		if known != nil && slices.Contains(list, known) {
			return known, true
		}
		return list[0], true
	}
	if known != nil {
		return known, true
	}
	switch kind(s) {
	case "integer", "number":
		low, _ := number(s["minimum"])
		if low == nil {
			low = big.NewRat(1, 1)
		}
		return json.Number(low.FloatString(0)), s["minimum"] != nil
	case "boolean":
		return true, true
	case "array":
		return []any{}, false
	case "object":
		return object{}, false
	}
	text := "parley"
	if n, ok := number(s["maxLength"]); ok && n.IsInt() && n.Num().Int64() < int64(len(text)) {
		text = text[:max(0, n.Num().Int64())]
	}
	return text, false
}

// kind is the type of a property; "" where it may be of several.
func kind(s object) string {
	k, _ := s["type"].(string)
	return k
}

func number(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok || len(n) > 40 {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// Wrong is a call that breaks the announced schema.
type Wrong struct {
	Tool   string
	Param  string // the one that is wrong
	Params any
}

// Wrong derives calls of an announced tool that break its schema in one way: "missing", "of another type", "null", "not in
// the enum", "below the minimum", "above the maximum", "fractional", "negative", "unknown". Each starts from legal params.
func (t *Tool) Wrong(how string, known map[string]any) []Wrong {
	return t.WrongWith(how, known, nil)
}

// WrongWith is Wrong, with values that were announced elsewhere for the params of these names.
func (t *Tool) WrongWith(how string, known map[string]any, others map[string][]any) []Wrong {
	right, _ := t.Example(known)
	if right == nil {
		return nil
	}
	all, of := t.properties()
	var out []Wrong
	add := func(name string, v any, there bool) {
		params := maps.Clone(right)
		if there {
			params[name] = v
		} else {
			delete(params, name)
		}
		if t.Accepts(params) != nil { // the schema itself says that it is wrong
			out = append(out, Wrong{t.Name, name, params})
		}
	}
	if how == "unknown" {
		add("parleyUnknown", "x", true)
		return out
	}
	for _, name := range all {
		s, _ := of[name].(object)
		switch how {
		case "missing":
			if t.requires(name) {
				add(name, nil, false)
			}
		case "of another type":
			for _, v := range []any{object{"a": json.Number("1")}, []any{"a"}, "a text", json.Number("7"), true} {
				if !sameKind(v, right[name], kind(s)) {
					add(name, v, true)
				}
			}
		case "null":
			add(name, nil, true)
		case "not in the enum":
			if _, ok := s["enum"]; ok {
				add(name, "parley-not-in-the-enum", true)
				add(name, "", true)
			}
		case "below the minimum":
			if low, ok := number(s["minimum"]); ok {
				add(name, json.Number(new(big.Rat).Sub(low, big.NewRat(1, 1)).FloatString(0)), true)
			}
		case "above the maximum":
			if high, ok := number(s["maximum"]); ok {
				add(name, json.Number(new(big.Rat).Add(high, big.NewRat(1, 1)).FloatString(0)), true)
			}
		case "negative":
			// A negative quantity breaks the rule that the document states of setQuantity, whatever the schema says.
			if _, isNumber := right[name].(json.Number); isNumber && (t.Name == "setQuantity" || s["minimum"] != nil) {
				params := maps.Clone(right)
				params[name] = json.Number("-1")
				out = append(out, Wrong{t.Name, name, params})
			}
		case "fractional":
			if kind(s) == "integer" {
				add(name, json.Number("1.5"), true)
			}
		}
	}
	return out
}

// sameKind tells whether a value is of the type that a property has.
func sameKind(v, right any, kind string) bool {
	switch v.(type) {
	case string:
		_, same := right.(string)
		return same || kind == "string"
	case json.Number:
		_, same := right.(json.Number)
		return same || kind == "integer" || kind == "number"
	case bool:
		_, same := right.(bool)
		return same || kind == "boolean"
	case []any:
		return kind == "array"
	}
	return kind == "object"
}
