package toolschema

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"parley/internal/words"
	wjson "parley/transport/wire/json"
)

// Mistake is a place of a schema that JSON Schema does not know, as a JSON Pointer.
type Mistake struct{ At, Text string }

// Mistakes finds what JSON Schema does not know in a schema that its author can mend: also what Parse understands as it
// was meant, and keywords that are like one that there is.
func Mistakes(schema map[string]any) (all []Mistake) {
	told := func(at string) bool {
		return slices.ContainsFunc(all, func(m Mistake) bool { return m.At == at || strings.HasPrefix(m.At, at+"/") })
	}
	_, odd := mended(schema)
	for _, line := range odd.told {
		at, text, _ := strings.Cut(line, ": ")
		text = strings.TrimSuffix(strings.TrimSuffix(text, ", and is ignored"), ": anything is accepted there")
		all = append(all, Mistake{at, text})
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	read, err := (&reading{}).value(schema, true)
	if err == nil {
		err = c.AddResource(resource, read)
	}
	if err == nil {
		_, err = c.Compile(resource)
	}
	var invalid *jsonschema.SchemaValidationError
	var nowhere *jsonschema.JSONPointerNotFoundError
	var broken *jsonschema.ValidationError
	switch {
	case errors.As(err, &invalid) && errors.As(invalid.Err, &broken):
		for _, m := range mistakesIn(broken) {
			if !told(m.At) {
				all = append(all, m)
			}
		}
	case errors.As(err, &nowhere):
		ref := strings.TrimPrefix(nowhere.URL, resource)
		all = append(all, Mistake{placeOfRef(schema, "", ref), "the reference " + ref + " leads nowhere"})
	case err != nil && len(all) == 0:
		all = append(all, Mistake{"", plainly(err).Error()})
	}
	return append(all, misspelt(schema, "")...)
}

// mistakesIn returns what a schema breaks of the schema of schemas, place by place.
func mistakesIn(e *jsonschema.ValidationError) (all []Mistake) {
	for _, cause := range e.Causes {
		for _, m := range mistakesIn(cause) {
			if !slices.ContainsFunc(all, func(other Mistake) bool { return other.At == m.At }) {
				all = append(all, m)
			}
		}
	}
	if all == nil {
		at := ""
		for _, name := range e.InstanceLocation {
			at += wjson.FormatPointer(name)
		}
		all = []Mistake{{at, e.ErrorKind.LocalizedString(message.NewPrinter(language.English))}}
	}
	return all
}

// placeOfRef returns the place of a reference.
func placeOfRef(v any, at, ref string) string {
	switch v := v.(type) {
	case object:
		if v["$ref"] == ref {
			return at + "/$ref"
		}
		for _, name := range names(v) {
			if found := placeOfRef(v[name], at+wjson.FormatPointer(name), ref); found != "" {
				return found
			}
		}
	case []any:
		for i, item := range v {
			if found := placeOfRef(item, at+wjson.FormatPointer(strconv.Itoa(i)), ref); found != "" {
				return found
			}
		}
	}
	return ""
}

// spelt are the keywords that a misspelt one may stand for, in the order of the specification.
var spelt = strings.Fields("$schema $ref $defs allOf anyOf oneOf then else dependentSchemas prefixItems items " +
	"contains properties patternProperties additionalProperties propertyNames type enum const multipleOf maximum " +
	"exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems maxContains " +
	"minContains maxProperties minProperties required dependentRequired title description default deprecated readOnly " +
	"writeOnly examples format contentEncoding contentMediaType contentSchema unevaluatedItems unevaluatedProperties")

// others are words that are like one of them, and are known elsewhere: in other drafts and in OpenAPI.
var others = strings.Fields("if not id $id example definitions dependencies additionalItems nullable $comment $anchor")

// misspelt finds keywords that are like one that there is. Names of members are none.
func misspelt(schema any, at string) (all []Mistake) {
	list, _ := schema.([]any)
	for i, item := range list {
		all = append(all, misspelt(item, at+wjson.FormatPointer(strconv.Itoa(i)))...)
	}
	of, _ := schema.(object)
	for _, name := range names(of) {
		below := at + wjson.FormatPointer(name)
		near := words.Near(name, spelt, 1)
		switch {
		case slices.Contains([]string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}, name):
			members, _ := of[name].(object)
			for _, member := range names(members) {
				all = append(all, misspelt(members[member], below+wjson.FormatPointer(member))...)
			}
		case slices.Contains([]string{"const", "enum", "default", "examples", "example", "required"}, name):
		case slices.Contains(spelt, name) || slices.Contains(others, name):
			all = append(all, misspelt(of[name], below)...)
		case len(near) > 0 && words.Distance(name, near[0]) <= max(1, len(name)/8):
			all = append(all, Mistake{below, "JSON Schema has no " + name + " (did you mean " + near[0] + "?)"})
		}
	}
	return all
}
