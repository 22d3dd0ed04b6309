package toolschema

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

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
