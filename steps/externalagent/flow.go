package externalagent

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/input"
	"parley/internal/yamltext"
	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/steps/toolschema"
	wjson "parley/transport/wire/json"
)

//go:embed flow.yaml
var builtIn []byte

// flow is what the host played by the harness shows and announces; flow.yaml documents the members. It is read-only.
type flow struct {
	Stages  []stage            `yaml:"stages"`
	Booking []binding.ToolCall `yaml:"booking"`
}

// stage is one stage of a flow. Once it is read, UISpec and ToolSchema hold values as a JSON decoder returns them.
type stage struct {
	Name       string            `yaml:"name"`
	UISpec     any               `yaml:"uiSpec"`
	ToolSchema []any             `yaml:"toolSchema"`
	Effects    map[string]effect `yaml:"effects"`
	tools      toolschema.Tools
}

// effect is the effect of a call.
type effect struct {
	Set   string `yaml:"set"`
	From  string `yaml:"from"`
	Go    int    `yaml:"go"`
	Needs string `yaml:"needs"`
	Say   string `yaml:"say"`
}

var theBuiltIn = sync.OnceValues(func() (*flow, error) { return parseFlow("the built-in flow", builtIn) })

// maxFlow bounds the bytes of a flow.
const maxFlow = 4 << 20

// loadFlow reads the flow that a profile names; "" means the built-in one.
func loadFlow(path string) (*flow, error) {
	if path == "" {
		return theBuiltIn()
	}
	b, err := input.Read(path, maxFlow)
	if err != nil {
		return nil, fmt.Errorf("external-agent.flow: %w", err)
	}
	return parseFlow("external-agent.flow "+path, b)
}

func parseFlow(name string, b []byte) (*flow, error) {
	var f flow
	if err := yamltext.Strict(b, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(f.Stages) == 0 {
		return nil, fmt.Errorf("%s: it has no stages", name)
	}
	for i := range f.Stages {
		st := &f.Stages[i]
		at := fmt.Sprintf("%s: stage %d (%s)", name, i+1, st.Name)
		ui, err := asJSON(st.UISpec)
		if err != nil {
			return nil, fmt.Errorf("%s: uiSpec: %w", at, err)
		}
		if _, ok := ui.(object); !ok {
			return nil, fmt.Errorf("%s: uiSpec is not an object", at)
		}
		list, err := asJSON(st.ToolSchema)
		if err != nil {
			return nil, fmt.Errorf("%s: toolSchema: %w", at, err)
		}
		st.UISpec, st.ToolSchema = ui, list.([]any)
		if st.tools, err = plainly(st.ToolSchema); err != nil {
			return nil, fmt.Errorf("%s: toolSchema: %w", at, err)
		}
		if err := st.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		if slices.ContainsFunc(f.Stages[:i], func(other stage) bool { return other.Name == st.Name }) {
			return nil, fmt.Errorf("%s: name: another stage has it", at)
		}
	}
	return &f, nil
}

// plainly parses a toolSchema of our own. It rejects what is tolerated in a target's.
func plainly(list []any) (toolschema.Tools, error) {
	for i, item := range list {
		o, _ := item.(object)
		if _, named := o["name"].(string); !named {
			return nil, fmt.Errorf("item %d is not an object with a name", i)
		}
		if params := o["parameters"]; params != nil && wjson.Kind(params) != "object" {
			return nil, fmt.Errorf("item %d, %s: its parameters are not an object", i, o["name"])
		}
	}
	tools, err := toolschema.Parse(list)
	if err == nil && len(tools.Odd()) > 0 {
		return nil, errors.New(tools.Odd()[0])
	}
	return tools, err
}

// check reports what can never work in a stage, such as an effect that no call can have.
func (st *stage) check() error {
	if len(st.tools) == 0 {
		return fmt.Errorf("toolSchema: no tool leads to another stage")
	}
	var seen []string
	for _, t := range st.tools {
		if slices.Contains(seen, t.Name) {
			return fmt.Errorf("toolSchema: it has two tools %q", t.Name)
		}
		seen = append(seen, t.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(st.Effects)) {
		t := slices.IndexFunc(st.ToolSchema, func(item any) bool { return item.(object)["name"] == name })
		if t < 0 {
			return fmt.Errorf("effects.%s: toolSchema has no such tool", name)
		}
		params, _ := st.ToolSchema[t].(object)["parameters"].(object)
		if err := st.Effects[name].check(params); err != nil {
			return fmt.Errorf("effects.%s.%w", name, err)
		}
	}
	return nil
}

// check compares an effect with the announced parameters. Its errors begin with a key.
func (e effect) check(params object) error {
	for _, p := range []struct{ key, pointer string }{{"set", e.Set}, {"needs", e.Needs}} {
		if p.pointer != "" && p.pointer[0] != '/' {
			return fmt.Errorf("%s: %q is not a JSON Pointer: it does not begin with /", p.key, p.pointer)
		}
	}
	for _, p := range []struct{ key, param string }{{"from", e.From}, {"say", e.Say}} {
		if p.param != "" && !hasParam(params, p.param) {
			return fmt.Errorf("%s: the tool has no param %q", p.key, p.param)
		}
	}
	switch {
	case e.Go < -1 || e.Go > 1:
		return fmt.Errorf("go: %d is neither 1 nor -1", e.Go)
	case e.Set != "" && e.From == "":
		return fmt.Errorf("set: it needs from, the param whose value is put there")
	case e.From != "" && e.Set == "":
		return fmt.Errorf("from: it needs set, the place for its value")
	}
	return nil
}

// hasParam reports whether parameters of either form have a param with the given name.
func hasParam(params object, name string) bool {
	properties, listed := params["properties"].(object)
	if !listed {
		if _, isSchema := params[vocab.Type].(string); isSchema {
			return params["additionalProperties"] != false // any name is allowed
		}
		properties = params
	}
	_, ok := properties[name]
	return ok
}

// asJSON converts a value from YAML to what a JSON decoder returns.
func asJSON(v any) (any, error) {
	if v == nil {
		return []any{}, nil
	}
	b, err := wjson.Encode(v)
	if err != nil {
		return nil, err
	}
	out, _, err := wjson.Decode(b)
	return out, err
}

// copied returns a deep copy of a JSON value.
func copied(v any) any { return replaced(v, func(text string) string { return text }) }

// replaced returns a deep copy of a JSON value with each text replaced, except member names.
func replaced(v any, by func(string) string) any {
	switch v := v.(type) {
	case string:
		return by(v)
	case object:
		out := make(object, len(v))
		for k, m := range v {
			out[k] = replaced(m, by)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = replaced(m, by)
		}
		return out
	}
	return v
}

// put sets the target of a JSON Pointer and returns the document. It creates missing objects, and an array may grow
// by one.
func put(doc any, pointer string, v any) any {
	switch {
	case pointer == "":
		return v
	case pointer[0] != '/':
		return doc
	}
	name, rest, _ := strings.Cut(pointer[1:], "/")
	name = jsontext.Pointer("/" + name).LastToken()
	if rest != "" {
		rest = "/" + rest
	}
	if list, ok := doc.([]any); ok {
		i, err := strconv.Atoi(name)
		switch {
		case err != nil || i < 0 || i > len(list):
			return doc
		case i == len(list):
			list = append(list, nil)
		}
		list[i] = put(list[i], rest, v)
		return list
	}
	obj, ok := doc.(object)
	if !ok {
		obj = object{}
	}
	obj[name] = put(obj[name], rest, v)
	return obj
}

// paramsFor returns the params of a call of a booking path, taken from the latest uiSpec.
func paramsFor(c binding.ToolCall, uiSpec any) (object, error) {
	params, err := c.ParamsFor(uiSpec)
	if err != nil {
		return nil, err
	}
	v, err := asJSON(params)
	if err != nil {
		return nil, err
	}
	out, ok := v.(object)
	if !ok {
		out = object{}
	}
	return out, nil
}

// names returns the sorted member names of an object.
func names(o object) []string { return slices.Sorted(maps.Keys(o)) }
