package agent

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	proto "parley/protocol/externalagent"
)

// generator makes values that a schema may allow. It need not be exact, because the values are validated later.
type generator struct {
	source
	root   object // the target of references
	budget *int   // schemas left to visit: a few schemas can refer to each other very often
}

// Name patterns that give the purpose of a parameter.
var (
	itemNames      = regexp.MustCompile(`(?i)id$|ids$|item|seat|movie|theater|ticket|option|choice`)
	textNames      = regexp.MustCompile(`(?i)text|message|comment|note|content|query`)
	attributeNames = regexp.MustCompile(`(?i)attribute|field|column|^by$`)
)

const mostValues = 256

// valuesFor returns values for one parameter, best first.
func (g generator) valuesFor(name string, schema any, depth int) (found []any) {
	o, _ := schema.(object)
	o = g.followReference(o)
	if *g.budget--; *g.budget < 0 || depth > mostNesting {
		return nil
	}
	if v, present := o["const"]; present {
		return []any{v}
	}
	if enum, isArray := o["enum"].([]any); isArray {
		return g.orderChoices(enum)
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		branches, _ := o[word].([]any)
		for _, b := range branches {
			found = append(found, g.valuesFor(name, b, depth+1)...)
		}
	}
	for _, kind := range typesOf(o) {
		found = append(found, g.ofType(kind, name, o, depth)...)
	}
	return found[:min(len(found), mostValues)]
}

// typesOf lists the types that a schema allows; without any, the likely ones.
func typesOf(o object) []string {
	switch kind := o["type"].(type) {
	case string:
		return []string{kind}
	case []any:
		var kinds []string
		for _, v := range kind {
			if k, isText := v.(string); isText {
				kinds = append(kinds, k)
			}
		}
		return kinds
	}
	if o["properties"] != nil {
		return []string{"object"}
	}
	return []string{"string", "number"}
}

func (g generator) ofType(kind, name string, o object, depth int) []any {
	switch kind {
	case "string":
		return g.makeStrings(name, o)
	case "number", "integer":
		return g.makeNumbers(name, o)
	case "boolean":
		return []any{true, false}
	case "array":
		return g.makeArrays(name, o, depth)
	case "object":
		found := g.makeObjects(o, depth, func(_ string, required bool) bool { return required })
		return found[:min(len(found), mostValues)]
	case "null":
		return []any{nil}
	}
	return nil
}

// givenValues returns the values given in the schema itself.
func givenValues(o object) (found []any) {
	if v, present := o["default"]; present {
		found = append(found, v)
	}
	examples, _ := o["examples"].([]any)
	return append(found, examples...)
}

// choiceIDs returns the ids of the available choices.
func (g generator) choiceIDs() (found []any) {
	for _, i := range g.items {
		found = append(found, i.value)
	}
	return found
}

func (g generator) makeStrings(name string, o object) (found []any) {
	switch {
	case textNames.MatchString(name):
		found = append(found, "I am going on with the booking.")
	case attributeNames.MatchString(name):
		found = append(found, givenValues(o)...)
	case itemNames.MatchString(name):
		found = append(g.choiceIDs(), givenValues(o)...)
	case name == "value" && g.screen.filtered: // clears the filter
		found = append(found, "")
	default:
		found = append(append(found, givenValues(o)...), g.choiceIDs()...)
	}
	found = append(found, "yes")
	least, _ := o["minLength"].(float64)
	most, limited := o["maxLength"].(float64)
	for n, v := range found {
		text, isText := v.(string)
		if !isText {
			continue
		}
		if short := int(least) - len([]rune(text)); short > 0 && short < 10_000 && textNames.MatchString(name) {
			text += strings.Repeat(".", short)
		}
		if runes := []rune(text); limited && len(runes) > int(most) && most >= 0 && textNames.MatchString(name) {
			text = string(runes[:int(most)])
		}
		found[n] = text
	}
	return found
}

func (g generator) makeNumbers(name string, o object) (found []any) {
	if itemNames.MatchString(name) {
		found = append(found, g.choiceIDs()...)
	}
	if g.quantity != nil && !itemNames.MatchString(name) {
		return append(found, *g.quantity)
	}
	found = append(found, givenValues(o)...)
	for _, word := range []string{"minimum", "maximum"} {
		if v, isNumber := o[word].(float64); isNumber {
			found = append(found, v)
		}
	}
	if v, isNumber := o["exclusiveMinimum"].(float64); isNumber {
		found = append(found, v+1)
	}
	if v, isNumber := o["multipleOf"].(float64); isNumber {
		found = append(found, v)
	}
	return append(found, 1.0, 0.0)
}

// makeArrays returns arrays with as few elements as possible, preferably at least one.
func (g generator) makeArrays(name string, o object, depth int) (found []any) {
	least, _ := o["minItems"].(float64)
	n := max(1, min(int(least), mostValues))
	values := g.valuesFor(strings.TrimSuffix(name, "s"), o["items"], depth+1)
	for len(values) >= n {
		found = append(found, slices.Clone(values[:n]))
		values = values[1:]
	}
	if least == 0 {
		found = append(found, []any{})
	}
	return found
}

// orderChoices moves the available choices to the front and other items to the end.
func (g generator) orderChoices(enum []any) []any {
	ranks := map[string]int{}
	for _, i := range g.screen.items {
		ranks[i.id] = 1
	}
	for n, i := range g.items {
		ranks[i.id] = n - len(g.items)
	}
	sorted := slices.Clone(enum)
	slices.SortStableFunc(sorted, func(a, b any) int { return ranks[idOf(a)] - ranks[idOf(b)] })
	return sorted[:min(len(sorted), mostValues)]
}

// followReference follows a reference within the schema. Members beside it also apply, and take precedence.
func (g generator) followReference(o object) object {
	for range mostNesting {
		ref, isRef := o["$ref"].(string)
		if !isRef || !strings.HasPrefix(ref, "#") {
			return o
		}
		merged := object{}
		maps.Copy(merged, g.resolveReference(ref))
		for member, v := range o {
			if member != "$ref" {
				merged[member] = v
			}
		}
		o = merged
	}
	return nil
}

// resolveReference resolves a local reference, a JSON Pointer; nil if it has no target.
func (g generator) resolveReference(ref string) object {
	found := g.root
	for name := range jsontext.Pointer(strings.TrimPrefix(ref, "#")).Tokens() {
		found, _ = found[name].(object)
	}
	return found
}

// source is where parameter values come from.
type source struct {
	screen   screen
	items    []item   // choices, best first
	quantity *float64 // to set; nil if none
}

const (
	mostParams = 64   // parameter sets tried for one tool in one state
	mostTries  = 1000 // combinations of values

	mostSchemas = 10_000 // schemas visited to make them
)

// paramsFor returns parameters that the tool's schema allows, best first. It first tries the required members plus
// those for an item or a quantity.
func (c schemas) paramsFor(t proto.Tool, src source) (found []object) {
	schema := toSchema(t.Parameters)
	compiled := c.compileSchema(schema)
	budget := mostSchemas
	g := generator{source: src, root: schema, budget: &budget}
	seen := map[string]bool{}
	for _, choose := range []func(name string, required bool) bool{
		func(name string, required bool) bool { return required || g.isMeant(name) },
		func(_ string, required bool) bool { return required },
		func(string, bool) bool { return true },
	} {
		for _, v := range g.makeObjects(schema, 0, choose) {
			if len(found) == mostParams {
				return found
			}
			params := v.(object)
			text := canonicalText(params)
			if seen[text] {
				continue
			}
			seen[text] = true
			if compiled == nil || compiled.Validate(params) == nil {
				found = append(found, params)
			}
		}
	}
	return found
}

// isMeant reports whether a parameter selects an item, when there is one to choose, or sets the wanted quantity.
func (g generator) isMeant(name string) bool {
	return len(g.items) > 0 && itemNames.MatchString(name) || g.quantity != nil && counting.MatchString(name)
}

// makeObjects returns objects with the chosen members in all combinations; the last name varies fastest.
func (g generator) makeObjects(schema object, depth int, choose func(name string, required bool) bool) (found []any) {
	schema = g.followReference(schema)
	properties, _ := schema["properties"].(object)
	requiredNames, _ := schema["required"].([]any)
	var names []string
	var values [][]any
	for _, name := range membersOf(properties, requiredNames) {
		if choose(name, slices.Contains(requiredNames, any(name))) {
			names = append(names, name)
			values = append(values, g.valuesFor(name, properties[name], depth+1))
		}
	}
	at := make([]int, len(names))
	for range mostTries {
		o := object{}
		for n, name := range names {
			if len(values[n]) == 0 {
				return nil // no value for it
			}
			o[name] = values[n][at[n]]
		}
		found = append(found, o)
		n := len(names) - 1
		for ; n >= 0; n-- {
			if at[n]++; at[n] < len(values[n]) {
				break
			}
			at[n] = 0
		}
		if n < 0 {
			break
		}
	}
	return found
}

// membersOf lists the properties, then the required members that are not properties.
func membersOf(properties object, required []any) []string {
	names := slices.Sorted(maps.Keys(properties))
	for _, v := range required {
		if name, isText := v.(string); isText && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

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

// compileSchema returns nil for an invalid schema, which allows any parameters.
func (c schemas) compileSchema(schema object) *jsonschema.Schema {
	const most = 500
	text := canonicalText(schema)
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
