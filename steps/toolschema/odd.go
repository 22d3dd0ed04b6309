package toolschema

import (
	"fmt"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"parley/internal/cut"
	wjson "parley/transport/wire/json"
)

// oddities hold what was ignored in a schema, and why.
type oddities struct {
	told  []string
	loose bool // something is accepted that the author may have meant to forbid
	plain bool // omit not, oneOf and if: accepting more inside them would refuse more outside
	old   bool // draft 4, which has booleans for exclusiveMinimum and exclusiveMaximum
	tuple bool // a draft that allows a list in items
}

// maxOdd is the maximum number of reported oddities per tool.
const maxOdd = 8

// leave notes a part of a schema that restricts nothing.
func (o *oddities) leave(at, format string, args ...any) {
	o.loose = true
	if len(o.told) < maxOdd {
		o.told = append(o.told, fmt.Sprintf("%s: ", at)+fmt.Sprintf(format, args...))
	}
}

// mended converts what an author wrote to a valid schema. It omits keywords whose value JSON Schema does not know, so
// that anything is accepted there, and accepts obvious meanings. It keeps what it understands.
func mended(params object) (object, oddities) {
	o := draftOf(params)
	out := o.root(params)
	if o.loose && o.negates(params) {
		told := o.told
		o = draftOf(params)
		o.plain, o.loose = true, true
		out, o.told = o.root(params), told
	}
	return out, o
}

func draftOf(params object) (o oddities) {
	text, _ := params["$schema"].(string)
	o.old = strings.Contains(text, "draft-04")
	o.tuple = strings.Contains(text, "draft-0") || strings.Contains(text, "2019-09")
	return o
}

// root returns the schema of the params themselves, which are always an object.
func (o *oddities) root(params object) object {
	out, _ := o.schema("", params).(object)
	if _, ok := out["type"]; !ok && params["type"] != nil {
		out["type"] = "object"
	}
	delete(out, hint)
	return out
}

// negates reports whether a schema has a keyword for which accepting too much makes a difference.
func (o *oddities) negates(v any) bool {
	switch v := v.(type) {
	case object:
		for name, x := range v {
			if slices.Contains(negating, name) || o.negates(x) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, o.negates)
	}
	return false
}

// hint is our own keyword for the type that an unknown type probably means.
const hint = "parleyHint"

// The keywords of JSON Schema by the kinds of their values.
var (
	negating = []string{"not", "oneOf", "if", "then", "else", "maxContains"}
	ofSchema = []string{"additionalProperties", "propertyNames", "contains", "not", "if", "then", "else",
		"unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema"}
	ofMemberSet = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	ofSchemas   = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	ofNumber    = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
	ofText      = []string{"title", "description", "$comment", "format", "contentEncoding", "contentMediaType", "pattern",
		"$ref", "$id", "id", "$schema", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"}
	ofTruth = []string{"uniqueItems", "deprecated", "readOnly", "writeOnly", "$recursiveAnchor"}
	idle    = []string{"title", "description", "$comment", "format", "deprecated", "readOnly", "writeOnly", "examples",
		"contentEncoding", "contentMediaType", "$schema", "$comment", "$vocabulary"}
)

// schema mends a value that should be a schema.
func (o *oddities) schema(at string, v any) any {
	switch v := v.(type) {
	case bool:
		return v
	case nil:
		return object{}
	case string: // {"a": "string"} among the properties of a schema
		return o.schema(at, object{"type": v})
	case object:
		out := make(object, len(v))
		for name, x := range v {
			o.word(at, v, out, name, x)
		}
		o.older(out)
		o.nullable(v, out)
		o.marks(v, out)
		return out
	}
	o.leave(at, "%s is not a schema: anything is accepted there", short80(v))
	return object{}
}

// word mends one member of a schema.
func (o *oddities) word(at string, schema, out object, name string, x any) {
	below := at + wjson.FormatPointer(name)
	wrong := func(want string) {
		if !slices.Contains(idle, name) {
			o.leave(below, "%s is not %s, and is ignored", short80(x), want)
		}
	}
	keep := func(ok bool, want string) {
		if !ok {
			wrong(want)
			return
		}
		out[name] = x
	}
	switch {
	case name == hint:
	case name == "const" || name == "default":
		out[name] = x
	case x == nil: // a null counts as absent
	case o.plain && slices.Contains(negating, name):
	case name == "type":
		o.types(below, x, out)
	case name == "items":
		o.items(below, x, out)
	case name == "enum" || name == "examples":
		_, ok := x.([]any)
		keep(ok, "a list")
	case name == "required":
		o.required(below, x, out)
	case slices.Contains(ofSchema, name):
		out[name] = o.schema(below, x)
	case slices.Contains(ofMemberSet, name):
		members, ok := x.(object)
		if list, empty := x.([]any); empty && len(list) == 0 { // how some languages write an empty object
			members, ok = object{}, true
		}
		if ok {
			o.members(below, name, members, out)
		} else {
			wrong("an object")
		}
	case name == "dependencies" || name == "dependentRequired":
		o.dependent(below, name, x, out)
	case slices.Contains(ofSchemas, name):
		if list, _ := x.([]any); len(list) > 0 {
			out[name] = o.each(below, list)
		} else {
			wrong("a list of schemas")
		}
	case slices.Contains(ofNumber, name), slices.Contains(lengths, name):
		o.numeric(below, out, name, x)
	case slices.Contains(ofText, name):
		o.text(below, name, x, out, wrong)
	case slices.Contains(ofTruth, name):
		_, ok := x.(bool)
		keep(ok, "a boolean")
	default:
		out[name] = x // not a keyword of JSON Schema
	}
}

func (o *oddities) each(at string, list []any) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = o.schema(at+"/"+strconv.Itoa(i), x)
	}
	return out
}

// types mends a type. An unknown type accepts anything; its probable meaning is kept as a hint for making a value.
func (o *oddities) types(at string, x any, out object) {
	var known []any
	unknown := ""
	list, many := x.([]any)
	if !many {
		list = []any{x}
	}
	for _, t := range list {
		name, ok := t.(string)
		switch {
		case ok && slices.Contains(typeNames, name):
			if !slices.Contains(known, any(name)) {
				known = append(known, name)
			}
		case unknown == "":
			unknown = short80(t)
			if kind := likely(name); ok && kind != "" {
				out[hint] = kind
			}
		}
	}
	switch {
	case unknown != "" || len(known) == 0:
		if unknown == "" {
			unknown = short80(x)
		}
		o.leave(at, "%s is not a type that JSON Schema knows: anything is accepted there", unknown)
	case many:
		out["type"] = known
	default:
		out["type"] = known[0]
	}
}

// likely returns the type that authors mean by another name for it, or "".
func likely(name string) string {
	word := strings.ToLower(strings.TrimSpace(name))
	if at := strings.IndexFunc(word, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }); at > 0 {
		word = word[:at] // string?, list[str], array<string>, number (optional)
	}
	switch word {
	case "int", "integer", "long", "int32", "int64", "uint", "short", "count":
		return "integer"
	case "float", "double", "decimal", "number", "numeric", "float64", "real":
		return "number"
	case "bool", "boolean":
		return "boolean"
	case "list", "array", "tuple", "set":
		return "array"
	case "dict", "map", "object", "record", "struct", "json":
		return "object"
	}
	return ""
}

func (o *oddities) items(at string, x any, out object) {
	list, tuple := x.([]any)
	switch {
	case !tuple:
		out["items"] = o.schema(at, x)
	case o.tuple:
		out["items"] = o.each(at, list)
	case len(list) > 0: // as in older drafts
		out["prefixItems"] = o.each(at, list)
	}
}

// required mends the names of the required members.
func (o *oddities) required(at string, x any, out object) {
	list, ok := x.([]any)
	if _, mark := x.(bool); mark { // see marks
		return
	}
	if !ok {
		o.leave(at, "%s is not a list of names, and is ignored", short80(x))
		return
	}
	names := []any{}
	for _, v := range list {
		if _, text := v.(string); !text {
			o.leave(at, "%s is not a name, and is ignored", short80(v))
			continue
		}
		if !slices.Contains(names, v) {
			names = append(names, v)
		}
	}
	if len(names) > 0 || !o.old { // draft 4 requires at least one
		out["required"] = names
	}
}

func (o *oddities) members(at, word string, members, out object) {
	mended := make(object, len(members))
	for name, x := range members {
		if word == "patternProperties" {
			if _, err := syntax.Parse(name, syntax.Perl); err != nil {
				o.leave(at, "the pattern %s is not supported, and is ignored", short80(name))
				delete(out, "additionalProperties")
				o.plain = true
				continue
			}
		}
		mended[name] = o.schema(at+wjson.FormatPointer(name), x)
	}
	out[word] = mended
}

func (o *oddities) dependent(at, word string, x any, out object) {
	members, ok := x.(object)
	if !ok {
		o.leave(at, "%s is not an object, and is ignored", short80(x))
		return
	}
	mended := object{}
	for name, v := range members {
		list, names := v.([]any)
		switch {
		case names && !slices.ContainsFunc(list, func(n any) bool { _, text := n.(string); return !text }):
			mended[name] = list
		case names || word == "dependentRequired":
			o.leave(at+wjson.FormatPointer(name), "%s is not a list of names, and is ignored", short80(v))
		default:
			mended[name] = o.schema(at+wjson.FormatPointer(name), v)
		}
	}
	out[word] = mended
}

// numeric mends a bound: a number in quotes counts as a number.
func (o *oddities) numeric(at string, out object, name string, x any) {
	if mark, ok := x.(bool); ok && strings.HasPrefix(name, "exclusive") {
		if o.old || !mark {
			if o.old {
				out[name] = x
			}
			return
		}
		out[name] = true // converted by older
		return
	}
	if text, ok := x.(string); ok {
		if n, _, err := wjson.Decode([]byte(strings.TrimSpace(text))); err == nil {
			x = n
		}
	}
	n, ok := x.(wjson.Number)
	if !ok {
		o.leave(at, "%s is not a number, and is ignored", short80(x))
		return
	}
	d, err := parse(n, maxDigits)
	switch {
	case err != nil: // compile reports what exceeds the limits
	case slices.Contains(lengths, name) && d.Negative:
		return // every length satisfies it
	case slices.Contains(lengths, name) && d.Digits != "" && d.Exponent < 0,
		name == "multipleOf" && (d.Negative || d.Digits == ""):
		o.leave(at, "%s is ignored", short80(x))
		return
	}
	out[name] = n
}

// older converts draft 4 booleans for bounds if the schema does not name that draft.
func (o *oddities) older(out object) {
	if o.old {
		return
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if out[exclusive] != true {
			continue
		}
		delete(out, exclusive)
		if n, ok := out[bound]; ok {
			out[exclusive] = n
			delete(out, bound)
		}
	}
}

func (o *oddities) text(at, name string, x any, out object, wrong func(string)) {
	text, ok := x.(string)
	if !ok {
		wrong("a text")
		return
	}
	switch name {
	case "$schema":
		if !strings.Contains(text, "json-schema.org/") {
			return // which is ignored anyway
		}
	case "$id", "id":
		if u, err := url.Parse(text); err != nil || u.Fragment != "" || name == "id" && !o.old {
			return
		}
	case "pattern":
		if _, err := syntax.Parse(text, syntax.Perl); err != nil {
			o.leave(at, "the pattern %s is not supported, and is ignored", short80(text))
			return
		}
	}
	out[name] = x
}

// nullable handles the OpenAPI keyword that allows null as well.
func (o *oddities) nullable(schema, out object) {
	if schema["nullable"] != true {
		return
	}
	switch t := out["type"].(type) {
	case string:
		out["type"] = []any{t, "null"}
	case []any:
		if !slices.Contains(t, any("null")) {
			out["type"] = append(slices.Clone(t), "null")
		}
	}
	if list, ok := out["enum"].([]any); ok && !has(list, nil) {
		out["enum"] = append(slices.Clone(list), nil)
	}
}

// marks handles marks in a property that say whether it is required: draft 3 has required there, and authors write
// optional. If there is no required list, the schema does not settle what may be omitted.
func (o *oddities) marks(schema, out object) {
	members, _ := schema["properties"].(object)
	list, listed := out["required"].([]any)
	for _, name := range names(members) {
		p, _ := members[name].(object)
		mark, marked := p["required"].(bool)
		if _, optional := p["optional"].(bool); (marked || optional) && !listed {
			o.loose = true
		}
		if marked && mark && !slices.Contains(list, any(name)) {
			list = append(slices.Clone(list), name)
			out["required"] = list
		}
	}
}

// short80 formats a value for a note.
func short80(v any) string {
	return cut.Head(wjson.Compact(v), 80)
}
