package externalagent

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"parley/monitor/externalagent/toolschema"
	"parley/target"
	wjson "parley/wire/json"
)

//go:embed flow.yaml
var builtIn []byte

// flow is what the host that the harness plays shows and announces; flow.yaml says what the members mean. It is read-only.
type flow struct {
	Stages  []stage           `yaml:"stages"`
	Booking []target.ToolCall `yaml:"booking"`
}

// stage is one stage of a flow. Once it is read, UISpec and ToolSchema hold what a JSON decoder would give.
type stage struct {
	Name       string            `yaml:"name"`
	UISpec     any               `yaml:"uiSpec"`
	ToolSchema []any             `yaml:"toolSchema"`
	Effects    map[string]effect `yaml:"effects"`
	tools      toolschema.Tools
}

// effect is what a call does.
type effect struct {
	Set   string `yaml:"set"`
	From  string `yaml:"from"`
	Go    int    `yaml:"go"`
	Needs string `yaml:"needs"`
	Say   string `yaml:"say"`
}

var theBuiltIn = sync.OnceValues(func() (*flow, error) { return parseFlow("the built-in flow", builtIn) })

// loadFlow reads the flow that a profile names; "" is the built-in one.
func loadFlow(path string) (*flow, error) {
	if path == "" {
		return theBuiltIn()
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("external-agent.flow: %w", err)
	}
	return parseFlow("external-agent.flow "+path, b)
}

func parseFlow(name string, b []byte) (*flow, error) {
	var f flow
	if err := yaml.UnmarshalWithOptions(b, &f, yaml.Strict()); err != nil {
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
			return nil, fmt.Errorf("%s: uiSpec is no object", at)
		}
		list, err := asJSON(st.ToolSchema)
		if err != nil {
			return nil, fmt.Errorf("%s: toolSchema: %w", at, err)
		}
		st.UISpec, st.ToolSchema = ui, list.([]any)
		if st.tools, err = toolschema.Parse(st.ToolSchema); err != nil {
			return nil, fmt.Errorf("%s: toolSchema: %w", at, err)
		}
	}
	return &f, nil
}

// asJSON turns what YAML gave into what a JSON decoder gives.
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

// copied is a deep copy of a JSON value.
func copied(v any) any {
	switch v := v.(type) {
	case object:
		out := make(object, len(v))
		for k, m := range v {
			out[k] = copied(m)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = copied(m)
		}
		return out
	}
	return v
}

// put sets what a JSON Pointer points to, and returns the document; objects are made on the way, and an array grows by one.
func put(doc any, pointer string, v any) any {
	if pointer == "" {
		return v
	}
	name, rest, _ := strings.Cut(pointer[1:], "/")
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

// paramsFor gives the params of a call of a booking path from the latest uiSpec.
func paramsFor(c target.ToolCall, uiSpec any) (object, error) {
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

// names are the names of an object's members, sorted.
func names(o object) []string { return slices.Sorted(maps.Keys(o)) }
