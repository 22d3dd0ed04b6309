package toolschema

import (
	"fmt"
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

// noLoader keeps a schema from being read from anywhere else: it came off the wire.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not read", url) }

// Accepts tells whether params keep to the announced schema; nothing keeps to what is no JSON Schema, or is not understood.
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
	of, _ = t.schema["properties"].(object)
	return names(of), of
}

func (t *Tool) requires(name string) bool {
	list, _ := t.schema["required"].([]any)
	return slices.Contains(list, any(name)) // a text: values of other kinds are compared by their kinds alone
}
