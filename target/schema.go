package target

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// SchemaID is the $id of the JSON Schema of profiles. Its number changes when a profile that was valid no longer is.
const SchemaID = "urn:parley:profile:1"

// Shape is a JSON Schema, ready to be encoded.
type Shape map[string]any

// Shaped is implemented by each Decodable: it describes the YAML that FromYAML accepts.
type Shaped interface {
	Shape(s *Shaper) Shape
}

// Shaper makes the JSON Schema of a profile from the same types and lists by which it is decoded and checked.
type Shaper struct {
	kind  Kind
	words map[string][]string // the known words of lists and the known keys of mappings, by path
	about map[string]string   // what the example says about a key, by path
}

// Schema returns the JSON Schema of profiles: what has the right keys and types, and known words where they are listed.
// Loading a profile checks more.
func (ks Kinds) Schema() Shape {
	defs, all := Shape{}, []any{}
	for i, k := range ks {
		name := Shape{"properties": Shape{"protocol": Shape{"const": k.Protocol}}}
		if i > 0 { // without the key, it is the first one
			name["required"] = []any{"protocol"}
		}
		all = append(all, Shape{"if": name, "then": Shape{"$ref": "#/$defs/" + k.Protocol}})
		defs[k.Protocol] = k.profileShape()
	}
	return Shape{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SchemaID,
		"title": "Profile of a target of Parley", "type": "object",
		"properties": Shape{"protocol": Shape{"enum": anyList(ks.Protocols())}},
		"allOf":      all, "$defs": defs,
	}
}

// profileShape returns the schema of the profiles of a kind.
func (k Kind) profileShape() Shape {
	s := &Shaper{kind: k, about: keyComments(k.Example), words: map[string][]string{
		"protocol": {k.Protocol}, "role": k.Roles, "drivers": k.Drivers, "capabilities": k.Capabilities,
	}}
	for path, known := range k.Renames {
		s.words[path] = known
	}
	out := s.Of(Profile{}, "")
	for _, section := range k.New().Sections {
		of := s.shapeOfType(reflect.TypeOf(section.Value).Elem(), section.Key)
		addDefaults(of, reflect.ValueOf(section.Value).Elem())
		out["properties"].(Shape)[section.Key] = of
	}
	return out
}

// addDefaults adds to the schema of a struct the values that its fields have unless a profile gives others.
func addDefaults(of Shape, at reflect.Value) {
	properties, _ := of["properties"].(Shape)
	for i := range at.NumField() {
		field, is := properties[at.Type().Field(i).Tag.Get("yaml")].(Shape)
		switch v := at.Field(i); {
		case !is || v.IsZero():
		case field["properties"] != nil && v.Kind() == reflect.Struct:
			addDefaults(field, v)
		default:
			if value, plain := defaultOf(v); plain {
				field["default"] = value
			}
		}
	}
}

// defaultOf returns a default as it is written in a profile, if it is a text, a number, a switch or a list of texts.
func defaultOf(v reflect.Value) (value any, plain bool) {
	if d, is := v.Interface().(Duration); is {
		return d.String(), true
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), true
	case reflect.Bool:
		return v.Bool(), true
	case reflect.Int, reflect.Int64:
		return v.Int(), true
	case reflect.Slice:
		all := []any{}
		for i := range v.Len() {
			if v.Index(i).Kind() != reflect.String {
				return nil, false
			}
			all = append(all, v.Index(i).String())
		}
		return all, true
	}
	return nil, false
}

// Of returns the schema of a value of the type of v, at a path of the profile.
func (s *Shaper) Of(v any, path string) Shape { return s.shapeOfType(reflect.TypeOf(v), path) }

func (s *Shaper) shapeOfType(t reflect.Type, path string) Shape {
	out := s.bareShape(t, path)
	if text := s.about[path]; text != "" {
		out["description"] = text
	}
	return out
}

// bareShape is shapeOfType without the description.
func (s *Shaper) bareShape(t reflect.Type, path string) Shape {
	if own, ok := reflect.New(t).Interface().(Shaped); ok {
		return own.Shape(s)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.bareShape(t.Elem(), path)
	case reflect.Struct:
		return s.structShape(t, path)
	case reflect.Map:
		out := Shape{"type": "object", "additionalProperties": s.shapeOfType(t.Elem(), path+".*")}
		if known := s.words[path]; known != nil {
			out["propertyNames"] = Shape{"enum": anyList(known)}
		}
		return out
	case reflect.Slice:
		items := s.shapeOfType(t.Elem(), path+"[]")
		if known, ok := s.words[path]; ok {
			items = Shape{"enum": anyList(known)}
		}
		return Shape{"type": "array", "items": items}
	case reflect.Bool:
		return Shape{"type": "boolean"}
	case reflect.Int:
		return Shape{"type": "integer", "minimum": 0}
	case reflect.Interface:
		return Shape{}
	}
	if known := s.words[path]; known != nil {
		return Shape{"enum": anyList(known)}
	}
	return Shape{"type": "string"}
}

// structShape returns the schema of a struct whose fields have yaml tags.
func (s *Shaper) structShape(t reflect.Type, path string) Shape {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[Decodable]()) {
		panic(fmt.Sprintf("target: %s decodes itself, but has no Shape", t))
	}
	properties := Shape{}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" && key != "-" {
			properties[key] = s.shapeOfType(t.Field(i).Type, Within(path, key))
		}
	}
	out := Shape{"type": "object", "additionalProperties": false, "properties": properties}
	switch t {
	case reflect.TypeFor[Command]():
		out["required"] = []any{"run"}
	case reflect.TypeFor[Tool]():
		out["required"] = []any{"name"}
	}
	return out
}

// OneOrMore returns the schema of one thing or a list of such things.
func OneOrMore(one Shape) Shape {
	return Shape{"anyOf": []any{one, Shape{"type": "array", "items": one}}}
}

// Shape implements Shaped.
func (t *Duration) Shape(*Shaper) Shape {
	return Shape{"type": "string", "pattern": `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`}
}

// Shape implements Shaped.
func (b *Bytes) Shape(*Shaper) Shape {
	return Shape{"anyOf": []any{Shape{"type": "integer", "minimum": 1},
		Shape{"type": "string", "pattern": `^[1-9][0-9]* ?(B|KiB|MiB|GiB)?$`}}}
}

// Shape implements Shaped.
func (p *Pointer) Shape(*Shaper) Shape { return Shape{"type": "string"} }

// Shape implements Shaped.
func (p *Pointers) Shape(*Shaper) Shape { return OneOrMore(Shape{"type": "string"}) }

// Shape implements Shaped.
func (l *Names) Shape(*Shaper) Shape { return OneOrMore(Shape{"type": "string"}) }

func anyList(words []string) []any {
	out := make([]any, 0, len(words))
	for _, w := range slices.Sorted(slices.Values(words)) {
		out = append(out, w)
	}
	return out
}

// keyLine matches a key of an example, in use or commented out, with what stands behind it.
var keyLine = regexp.MustCompile(`\A( *)#?([a-z][a-z_-]*):(?: (.*))?\z`)

// keyComments reads what an example says about each key: the lines before it, or the end of its own.
func keyComments(example string) map[string]string {
	type level struct {
		indent int
		path   string
	}
	about, above := map[string]string{}, []string(nil)
	var open []level
	for line := range strings.SplitSeq(example, "\n") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			above = append(above, strings.TrimSpace(text))
			continue
		}
		if m := keyLine.FindStringSubmatch(line); m != nil {
			for len(open) > 0 && open[len(open)-1].indent >= len(m[1]) {
				open = open[:len(open)-1]
			}
			path := m[2]
			if len(open) > 0 {
				path = Within(open[len(open)-1].path, path)
			}
			open = append(open, level{len(m[1]), path})
			if _, behind, ok := strings.Cut(" "+m[3], " # "); ok {
				above = []string{strings.TrimSpace(behind)}
			}
			about[path] = strings.Join(above, " ")
		}
		above = nil
	}
	return about
}
