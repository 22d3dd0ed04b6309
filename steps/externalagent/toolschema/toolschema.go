package toolschema

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	wjson "parley/wire/json"
)

type object = map[string]any

// Tool is one announced tool. What it announces is read when it is first asked for.
type Tool struct {
	Name      string
	read      func() announcement
	validator func() (*jsonschema.Schema, error) // compiles the schema, once
}

// announcement is what was read of a tool's parameters.
type announcement struct {
	schema object // JSON Schema of its params
	odd    []string
	loose  bool // it does not settle that params are right: something of what was announced is passed over
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

// Odd says what of the announced parameters is passed over, as JSON Schema does not know it: a line for each place.
func (t Tools) Odd() []string {
	var out []string
	for _, tool := range t {
		for _, line := range tool.read().odd {
			out = append(out, tool.Name+": "+line)
		}
	}
	return out
}

// Parse reads a toolSchema: items {name, description?, parameters}, where parameters is a JSON Schema object or a flat
// map {param: {type, enum?, optional?}}; doc.go tells what else is understood. The document leaves the form of an item
// open, so that an error here is nobody's fault.
func Parse(list []any) (Tools, error) { return new(Memory).Parse(list) }

// Memory keeps the schemas that were read, as a host announces most of its tools again and again as they were. The zero
// value is ready; it is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]Tool // by what is announced of the parameters; their names are not kept
}

// maxRemembered bounds the schemas that are kept; those beyond are read each time.
const maxRemembered = 1000

// Parse is [Parse] for a toolSchema of which parts may have been read before.
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

// tool is one of the given parameters, without its name.
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

// reader reads parameters when they are asked for. What is no JSON Schema even then restricts nothing.
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

// noLoader keeps a schema from being read from anywhere else: it came off the wire.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not read", url) }

// Accepts reports whether params keep to the announced schema; nothing keeps to what is no JSON Schema, or is not
// understood.
func (t *Tool) Accepts(params any) error {
	_, err := t.accepts(params)
	return err
}

// accepts is Accepts, and counts the steps that it takes.
func (t *Tool) accepts(params any) (steps int, err error) {
	schema, err := t.validator()
	if err != nil {
		return 0, err
	}
	// Whatever comes off the wire must not end the run. Nothing is known that gets here.
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
	return steps, schema.Validate(value)
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
	of, _ = t.read().schema["properties"].(object)
	return names(of), of
}

func (t *Tool) requires(name string) bool {
	list, _ := t.read().schema["required"].([]any)
	return slices.Contains(list, any(name)) // a text: values of other kinds are compared by their kinds alone
}
