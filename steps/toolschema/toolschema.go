// Package toolschema reads the toolSchema that a host announces: its tools, which params keep to their schemas, and
// which params break them in which way. The document leaves the form of an item open; these are the forms of the
// default binding. The package is pure and safe for concurrent use.
//
// # The forms of parameters
//
// Parameters are a JSON Schema or a flat map {param: {type, enum?, optional?}}. They are a JSON Schema if they have a
// keyword of JSON Schema whose value does not describe a param: {"required": ["a"]} is a schema, {"required":
// {"type": "boolean"}} a flat map. Keywords that only describe, such as title, make a schema if there is nothing
// else.
//
// In a flat map a param is required unless it has optional: true, required: false or a default. If any param has
// required: true, those without such a mark are optional.
//
// A list of parameters is a flat map too: a list of objects with a name, or of names. The forms of other tool
// protocols are also understood: {type: "function", function: {…}}, toolName for name, and inputSchema, input_schema
// or params for parameters.
//
// # What JSON Schema does not know
//
// Authors write types such as any, text or STRING, bounds in quotes, or a required that is not a list. This does not
// make a tool untestable. Obvious meanings are accepted: nullable of OpenAPI, the booleans of draft 4 for exclusive
// bounds, required: true of draft 3, a number in quotes, items of older drafts. Any other keyword whose value JSON
// Schema does not know is ignored, so that anything is accepted there. Then not, oneOf and if are ignored too,
// because there this would cause refusals. Odd reports what was ignored. No example for such a tool counts as
// settled.
//
// # The bounds
//
// Schemas and params come off the wire. A schema is not understood (ErrNotUnderstood) if it has more than 2000
// members or 20,000 values, a number of more than 40 digits or with an exponent beyond ±400, a pattern that compiles
// to more than 2000 instructions, a dynamic reference, or a reference that leads back to itself for the same value.
// Params are not understood if a number has more than 2000 digits, or if they take more than 65,536 steps. Steps are
// counted beforehand from the schema and the value. The count computes each pair of the two once, so it is cheap even
// for references that multiply. What is not understood is not legal, yields no example, and is never called wrong.
//
// For each way of being wrong, a tool has at most 64 calls, out of 256 that are tried.
//
// # Examples
//
// The value of a param is the first available of: its const; a known value, if it is in the enum; the first of the
// enum; a known value; its default; a value made up for its type, within the bounds of its own schema. A value is
// settled unless it is made up, but a made-up boolean and a number at its minimum also count as settled. A default
// that breaks the schema is omitted.
package toolschema

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	wjson "parley/transport/wire/json"
)

type object = map[string]any

// Tool is one announced tool. Its announcement is parsed on first use.
type Tool struct {
	Name      string
	read      func() announcement
	validator func() (*jsonschema.Schema, error) // compiles the schema, once
}

// announcement is the parsed announcement of a tool's parameters.
type announcement struct {
	schema object // JSON Schema of its params
	odd    []string
	loose  bool // something was ignored, so the schema does not settle that params are valid
}

// Tools are the tools of one toolSchema, in order.
type Tools []Tool

// Names returns the names of the tools, in order.
func (t Tools) Names() (out []string) {
	for i := range t {
		out = append(out, t[i].Name)
	}
	return out
}

// Find returns the tool with a name, or nil if it is not announced.
func (t Tools) Find(name string) *Tool {
	for i := range t {
		if t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}

// Odd reports what was ignored in the announced parameters because JSON Schema does not know it, with one line per
// place.
func (t Tools) Odd() []string {
	var out []string
	for _, tool := range t {
		for _, line := range tool.read().odd {
			out = append(out, tool.Name+": "+line)
		}
	}
	return out
}

// Parse parses a toolSchema with items {name, description?, parameters}, where parameters is a JSON Schema object or
// a flat map {param: {type, enum?, optional?}}; doc.go describes what else is understood. The document leaves the
// form of an item open, so an error breaks no clause.
func Parse(list []any) (Tools, error) { return new(Memory).Parse(list) }

// Memory caches parsed schemas, because a host announces most of its tools repeatedly and unchanged. The zero value
// is ready to use. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]Tool // by a hash of the parameters, without the tool's name
}

// maxRemembered limits the cached schemas; further ones are parsed each time.
const maxRemembered = 1000

// Parse is [Parse] with a cache.
func (m *Memory) Parse(list []any) (Tools, error) {
	out := Tools{}
	for i, v := range list {
		name, params, err := item(v)
		if err != nil {
			return nil, fmt.Errorf("item %d %w", i, err)
		}
		t := m.tool(params)
		t.Name = name
		out = append(out, t)
	}
	return out, nil
}

// tool returns a tool with the given parameters and no name.
func (m *Memory) tool(params any) (t Tool) {
	key := sha256.Sum256([]byte(wjson.Compact(params)))
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.known[key]
	if ok {
		return t
	}
	t.read, t.validator = reader(params)
	if m.known == nil {
		m.known = map[[sha256.Size]byte]Tool{}
	}
	if len(m.known) < maxRemembered {
		m.known[key] = t
	}
	return t
}

// reader parses parameters on first use. A mended schema that is still invalid restricts nothing.
func reader(params any) (func() announcement, func() (*jsonschema.Schema, error)) {
	type result struct {
		announcement
		compiled *jsonschema.Schema
		err      error
	}
	all := sync.OnceValue(func() result {
		schema, o := paramsOf(params)
		r := result{announcement: announcement{schema, o.told, o.loose}}
		if r.compiled, r.err = compile(schema); r.err != nil && !errors.Is(r.err, ErrNotUnderstood) {
			o.leave("parameters", "any params are accepted: %v", r.err)
			r.announcement = announcement{object{"type": "object"}, o.told, true}
			r.compiled, r.err = compile(r.schema)
		}
		return r
	})
	return func() announcement { return all().announcement }, func() (*jsonschema.Schema, error) {
		r := all()
		return r.compiled, r.err
	}
}

// noLoader prevents a schema, which came off the wire, from loading others.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not read", url) }

// Accepts returns nil if params keep to the announced schema. It returns an error for any params if the schema is
// invalid or not understood.
func (t *Tool) Accepts(params any) error {
	_, err := t.accepts(params)
	return err
}

// accepts is Accepts, and also counts the steps.
func (t *Tool) accepts(params any) (steps int, err error) {
	schema, err := t.validator()
	if err != nil {
		return 0, err
	}
	// Input from the wire must not end the run. No input is known to panic here.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("params are %w: %v", ErrNotUnderstood, r)
		}
	}()
	value, err := within(params)
	if err != nil {
		return 0, err
	}
	if steps, err = stepsOf(schema, value); err != nil {
		return steps, err
	}
	return steps, plainly(schema.Validate(value))
}

func names(o object) []string {
	out := make([]string, 0, len(o))
	for k := range o {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// properties returns the params named by the schema, sorted.
func (t *Tool) properties() (all []string, of object) {
	of, _ = t.read().schema["properties"].(object)
	return names(of), of
}

func (t *Tool) requires(name string) bool {
	list, _ := t.read().schema["required"].([]any)
	return slices.Contains(list, any(name)) // values of other types differ by type, without a panic
}

// misfit is why params do not match a schema, in words that name each place: "/seat: got number, want string".
type misfit struct{ err *jsonschema.ValidationError }

func (m *misfit) Unwrap() error { return m.err }

func (m *misfit) Error() string {
	const most = 5
	places := placesOf(m.err)
	if len(places) > most {
		places = append(places[:most], "and more")
	}
	return strings.Join(places, "; ")
}

// placesOf returns what is wrong, place by place. Alternatives of which none matches are one place.
func placesOf(e *jsonschema.ValidationError) (all []string) {
	var below []string
	for _, cause := range e.Causes {
		below = append(below, placesOf(cause)...)
	}
	text := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	switch alternatives := strings.HasPrefix(text, "'anyOf'") || strings.HasPrefix(text, "'oneOf'"); {
	case alternatives && len(below) > 0:
		text = "no alternative matches (" + strings.Join(below, "; ") + ")"
	case len(below) > 0 && !strings.HasPrefix(text, "invalid propertyName"): // which has lost its place below
		slices.Sort(below) // the validator looks at members in any order
		return below
	}
	if len(e.InstanceLocation) > 0 {
		text = "/" + strings.Join(e.InstanceLocation, "/") + ": " + text
	}
	return []string{text}
}

// plainly returns an error of the validator in plain words.
func plainly(err error) error {
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return &misfit{invalid}
	}
	var nowhere *jsonschema.JSONPointerNotFoundError
	if errors.As(err, &nowhere) {
		return fmt.Errorf("the reference %s leads nowhere", strings.TrimPrefix(nowhere.URL, resource))
	}
	return err
}

// Others returns legal params that differ from those of Example in one value each: the last value of an enum, or else
// the first; the neighbours of a number and its limits, the lowest last; the opposite of a boolean. Texts stay as they
// are. A null is never one of them.
func (t *Tool) Others(known map[string]any) []map[string]any {
	usual, _ := t.Example(known)
	if usual == nil {
		return nil
	}
	var out []map[string]any
	all, of := t.properties()
	for _, name := range all {
		s, _ := of[name].(object)
		for _, v := range otherValues(s, usual[name]) {
			params := maps.Clone(usual)
			params[name] = v
			if t.Accepts(params) == nil {
				out = append(out, params)
			}
		}
	}
	return out
}

// otherValues returns values of a property other than its usual one, the likeliest to be accepted first.
func otherValues(s object, usual any) (out []any) {
	add := func(v any) {
		if v == nil || wjson.Equal(v, usual) {
			return
		}
		for _, had := range out {
			if wjson.Equal(had, v) {
				return
			}
		}
		out = append(out, v)
	}
	if list, _ := s["enum"].([]any); len(list) > 0 {
		if add(list[len(list)-1]); len(out) == 0 {
			add(list[0])
		}
		return out
	}
	if b, ok := usual.(bool); ok {
		return []any{!b}
	}
	n, ok := number(usual)
	if !ok {
		return nil
	}
	for _, step := range []int64{1, -1} {
		if next := new(big.Rat).Add(n, big.NewRat(step, 1)); next.IsInt() {
			add(wjson.Number(next.Num().String()))
		}
	}
	limits := limitsOf(s)
	for _, bound := range []*big.Rat{limits.high, limits.low} {
		if bound != nil && bound.IsInt() {
			add(wjson.Number(bound.Num().String()))
		}
	}
	return out
}
