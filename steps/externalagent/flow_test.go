package externalagent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/target"
	wjson "parley/transport/wire/json"
)

// TestPut checks what a call sets in a uiSpec.
func TestPut(t *testing.T) {
	for _, r := range []struct{ reason, doc, pointer, want string }{
		{"a member", `{"a":1}`, "/a", `{"a":"v"}`},
		{"a new member", `{}`, "/a", `{"a":"v"}`},
		{"a member of a missing member", `{}`, "/a/b", `{"a":{"b":"v"}}`},
		{"a member of what is not an object", `{"a":7}`, "/a/b", `{"a":{"b":"v"}}`},
		{"a member of null", `{"a":null}`, "/a/b", `{"a":{"b":"v"}}`},
		{"an item", `{"l":[1,2]}`, "/l/1", `{"l":[1,"v"]}`},
		{"the next item", `{"l":[1]}`, "/l/1", `{"l":[1,"v"]}`},
		{"the first item of an empty list", `{"l":[]}`, "/l/0", `{"l":["v"]}`},
		{"a member of the next item", `{"l":[]}`, "/l/0/a", `{"l":[{"a":"v"}]}`},
		{"an item after the next one", `{"l":[1]}`, "/l/2", `{"l":[1]}`},
		{"an item that is not a number", `{"l":[1]}`, "/l/-", `{"l":[1]}`},
		{"an item below the first", `{"l":[1]}`, "/l/-1", `{"l":[1]}`},
		{"a number is a name in an object", `{}`, "/l/0", `{"l":{"0":"v"}}`},
		{"an empty name", `{}`, "/", `{"":"v"}`},
		{"all of it", `{"a":1}`, "", `"v"`},
		{"a name that has to be escaped", `{"a/b":1}`, "/a~1b", `{"a/b":"v"}`},
		{"a name that is escaped twice", `{}`, "/a~01b", `{"a~1b":"v"}`},
		{"no pointer", `{"ab":1}`, "ab", `{"ab":1}`},
	} {
		if got := wjson.Compact(put(value(t, r.doc), r.pointer, "v")); got != r.want {
			t.Errorf("%s: %s, want %s", r.reason, got, r.want)
		}
	}
}

func TestCopied(t *testing.T) {
	const text = `{"a":[1,{"b":[]}],"c":{},"d":null}`
	v := value(t, text)
	c := copied(v)
	put(put(c, "/a/1/b/0", "x"), "/c/x", 1)
	if got := wjson.Compact(v); got != text {
		t.Errorf("what was copied has become %s", got)
	}
	if got := wjson.Compact(copied(v)); got != text {
		t.Errorf("the copy is %s", got)
	}
}

const goodFlow = `
stages:
  - name: only
    uiSpec: {items: [{id: 9007199254740993}], none: null, price: 1.50}
    toolSchema: [{name: pick, parameters: {id: integer}}]
    effects: {pick: {set: /picked, from: id}}
booking:
  - {tool: pick, params: {id: {pointer: /items/0/id}}}
`

func TestParseFlow(t *testing.T) {
	f, err := parseFlow("a flow", []byte(goodFlow))
	if err != nil {
		t.Fatal(err)
	}
	st := f.Stages[0]
	if got := wjson.Compact(st.UISpec); got != `{"items":[{"id":9007199254740993}],"none":null,"price":1.5}` {
		t.Errorf("uiSpec is %s", got)
	}
	if st.tools.Find("pick") == nil || st.Effects["pick"].Set != "/picked" || st.Effects["pick"].From != "id" ||
		len(f.Booking) != 1 {
		t.Errorf("the flow is %+v", f)
	}
	params, err := paramsFor(f.Booking[0], st.UISpec)
	if err != nil || wjson.Compact(params) != `{"id":9007199254740993}` {
		t.Errorf("the params are %s, %v", wjson.Compact(params), err)
	}
	if err := st.tools.Find("pick").Accepts(params); err != nil {
		t.Error(err)
	}
}

// TestBadFlows checks that an error says where the mistake is.
func TestBadFlows(t *testing.T) {
	for _, r := range []struct{ reason, text, has string }{
		{"no YAML", "stages: [", "a flow: "},
		{"nothing", "", "a flow: it has no stages"},
		{"no stages", "booking: []", "a flow: it has no stages"},
		{"an empty list of stages", "stages: []", "a flow: it has no stages"},
		{"a member that it does not know", "stages: [{name: a, uiSpec: {}, tools: []}]", "unknown key \"tools\""},
		{"an effect that it does not know", "stages: [{name: a, uiSpec: {}, effects: {next: {goto: 1}}}]",
			"unknown key \"goto\""},
		{"a step that is not a number", "stages: [{name: a, uiSpec: {}, effects: {next: {go: on}}}]", "a flow: "},
		{"no uiSpec", "stages: [{name: a}]", "a flow: stage 1 (a): uiSpec is not an object"},
		{"a uiSpec that is a list", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x}]}, {name: b, uiSpec: []}]",
			"a flow: stage 2 (b): uiSpec is not an object"},
		{"a uiSpec that is a text", "stages: [{name: a, uiSpec: hello}]", "a flow: stage 1 (a): uiSpec is not an object"},
		{"a uiSpec that no JSON can say", "stages: [{name: a, uiSpec: {x: .nan}}]", "a flow: stage 1 (a): uiSpec: "},
		{"a tool without a name", "stages: [{name: a, uiSpec: {}, toolSchema: [{parameters: {}}]}]",
			"a flow: stage 1 (a): toolSchema: item 0 is not an object with a name"},
		{"a tool that is a text", "stages: [{name: a, uiSpec: {}, toolSchema: [next]}]",
			"a flow: stage 1 (a): toolSchema: item 0 is not an object with a name"},
		{"parameters that are a list", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x, parameters: []}]}]",
			"item 0, x: its parameters are not an object"},
		{"an unknown type", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x, parameters: {p: any}}]}]",
			"a flow: stage 1 (a): toolSchema: x: /properties/p/type: \"any\" is not a type"},
		{"a toolSchema that is not a list", "stages: [{name: a, uiSpec: {}, toolSchema: {name: x}}]", "a flow: "},
		{"an invalid call", "stages: [{name: a, uiSpec: {}}]\nbooking: [next]", "a flow: "},
		{"no tools", "stages: [{name: a, uiSpec: {}}]", "a flow: stage 1 (a): toolSchema: no tool leads to another stage"},
		{"a tool twice", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x}, {name: x}]}]",
			"a flow: stage 1 (a): toolSchema: it has two tools \"x\""},
		{"a stage twice", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x}]}, {name: a, uiSpec: {}, toolSchema: " +
			"[{name: x}]}]", "a flow: stage 2 (a): name: another stage has it"},
		{"an effect of an unknown tool", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x}], effects: {next: {go: 1}}}]",
			"a flow: stage 1 (a): effects.next: toolSchema has no such tool"},
		{"needs is not a pointer", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: next}], effects: {next: {go: 1, " +
			"needs: selected}}}]", "(a): effects.next.needs: \"selected\" is not a JSON Pointer"},
		{"set that is not a pointer", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x, parameters: {p: string}}], " +
			"effects: {x: {set: selected, from: p}}}]", "(a): effects.x.set: \"selected\" is not a JSON Pointer"},
		{"from an unknown param", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x, parameters: {p: string}}], " +
			"effects: {x: {set: /s, from: q}}}]", "(a): effects.x.from: the tool has no param \"q\""},
		{"from an unknown property", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x, parameters: {type: object, " +
			"properties: {p: {}}}}], effects: {x: {set: /s, from: q}}}]", "(a): effects.x.from: the tool has no param \"q\""},
		{"a value of a tool without params", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x}], effects: {x: {set: " +
			"/s, from: q}}}]", "(a): effects.x.from: the tool has no param \"q\""},
		{"say with an unknown param", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x}], effects: {x: {say: text}}}]",
			"(a): effects.x.say: the tool has no param \"text\""},
		{"a place without a value", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x}], effects: {x: {set: /s}}}]",
			"(a): effects.x.set: it needs from"},
		{"a value without a place", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x, parameters: {p: string}}], " +
			"effects: {x: {from: p}}}]", "(a): effects.x.from: it needs set"},
		{"two steps at once", "stages: [{name: a, uiSpec: {}, toolSchema: [{name: x}], effects: {x: {go: 2}}}]",
			"(a): effects.x.go: 2 is neither 1 nor -1"},
	} {
		f, err := parseFlow("a flow", []byte(r.text))
		if err == nil || !strings.Contains(err.Error(), r.has) {
			t.Errorf("%s: %+v, %v; want %q", r.reason, f, err, r.has)
		}
	}
}

func TestLoadFlow(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for name, text := range map[string]string{good: goodFlow, bad: "stages: []"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if f, err := loadFlow(good); err != nil || len(f.Stages) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	for name, has := range map[string]string{bad: "external-agent.flow " + bad + ": it has no stages",
		filepath.Join(dir, "none.yaml"): "external-agent.flow: open "} {
		if _, err := loadFlow(name); err == nil || !strings.Contains(err.Error(), has) {
			t.Errorf("%s: %v, want %q", name, err, has)
		}
	}
	if one, err := loadFlow(""); err != nil {
		t.Error(err)
	} else if two, _ := loadFlow(""); one != two {
		t.Error("the built-in flow is read twice")
	}
}

// TestBuiltInFlow checks that the booking leads through all stages, with announced params.
func TestBuiltInFlow(t *testing.T) {
	f, err := loadFlow("")
	if err != nil {
		t.Fatal(err)
	}
	before := wjson.Compact([]any{f.Stages[0].UISpec, f.Stages[1].UISpec})
	p := newPlay(nil, f, "n")
	p.active = true
	for i, c := range f.Booking {
		tool := f.Stages[p.at].tools.Find(c.Tool)
		if tool == nil {
			t.Fatalf("call %d: %s is not announced at stage %s", i+1, c.Tool, f.Stages[p.at].Name)
		}
		params, err := paramsFor(c, p.ui)
		if err != nil {
			t.Fatal(err)
		}
		out := p.called("id", object{vocab.ToolName: c.Tool, vocab.Params: params}, func(code, text string) []any {
			t.Fatalf("call %d: %s: %s", i+1, code, text)
			return nil
		})
		if len(out) != 2 || kindOfObject(out[0]) != vocab.ToolResult || kindOfObject(out[1]) != vocab.StateUpdated {
			t.Errorf("call %d is answered by %s", i+1, wjson.Compact(out))
		}
	}
	if p.at != len(f.Stages) || p.ui != nil || len(p.state()[vocab.ToolSchema].([]any)) != 0 {
		t.Errorf("behind the booking it is at stage %d, with %s", p.at, wjson.Compact(p.state()))
	}
	if after := wjson.Compact([]any{f.Stages[0].UISpec, f.Stages[1].UISpec}); after != before {
		t.Errorf("the flow itself has become %s", after)
	}
}

// TestParamsFor checks that a value missing from the uiSpec is an error that names the param.
func TestParamsFor(t *testing.T) {
	call := binding.ToolCall{Tool: "select",
		Params: map[string]binding.Value{"itemId": {Of: target.Pointer("/items/0/id")}, "n": {Of: uint64(2)}}}
	got, err := paramsFor(call, value(t, `{"items":[{"id":"m1"}]}`))
	if err != nil || wjson.Compact(got) != `{"itemId":"m1","n":2}` {
		t.Errorf("%s, %v", wjson.Compact(got), err)
	}
	for _, ui := range []string{`null`, `{}`, `{"items":[]}`, `{"items":{}}`} {
		if _, err := paramsFor(call, value(t, ui)); err == nil ||
			!strings.Contains(err.Error(), "param itemId of select: the uiSpec has nothing at /items/0/id") {
			t.Errorf("from %s: %v", ui, err)
		}
	}
	if got, err := paramsFor(binding.ToolCall{Tool: "next"}, nil); err != nil || got == nil || len(got) != 0 {
		t.Errorf("of no params: %v, %v", got, err)
	}
}
