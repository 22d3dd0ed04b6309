package binding

import (
	"errors"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"parley/target"
)

func TestValue(t *testing.T) {
	type object = map[string]any
	spec := object{"items": []any{object{"id": "m1"}, nil}}
	for _, tt := range []struct {
		reason string
		of     any
		want   any
		ok     bool
	}{
		{"a literal", "x", "x", true},
		{"null", nil, nil, true},
		{"from the uiSpec", target.Pointer("/items/0/id"), "m1", true},
		{"null from the uiSpec", target.Pointer("/items/1"), nil, true},
		{"the whole uiSpec", target.Pointer(""), spec, true},
		{"what the uiSpec does not have", target.Pointer("/items/2"), nil, false},
		{"within a list", []any{1, target.Pointer("/items/0/id")}, []any{1, "m1"}, true},
		{"within a mapping", object{"a": object{"b": target.Pointer("/items/0/id")}}, object{"a": object{"b": "m1"}}, true},
		{"a list that lacks something", []any{target.Pointer("/x")}, nil, false},
		{"a mapping that lacks something", object{"a": 1, "b": target.Pointer("/x")}, nil, false},
	} {
		got, ok := Value{tt.of}.Resolve(spec)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
			t.Errorf("%s: ok is %v (-want +got):\n%s", tt.reason, ok, diff)
		}
	}
	if _, ok := (Value{target.Pointer("/items")}).Resolve(nil); ok {
		t.Error("a uiSpec of null has items")
	}
	template := []any{object{"a": 1}}
	got, _ := Value{template}.Resolve(nil)
	got.([]any)[0].(object)["a"] = 2
	if template[0].(object)["a"] != 1 {
		t.Error("what a caller does with the value changes the profile")
	}
}

// TestChoice: the first element that has the members is chosen, in every list that the pointer leads to.
func TestChoice(t *testing.T) {
	type object = map[string]any
	type where = map[target.Pointer]any
	spec := object{
		"items": []any{
			"no object", object{"id": "A1", "isDisabled": true}, object{"isDisabled": false},
			object{"id": "A2", "isDisabled": false, "price": object{"cents": 900.0}, "note": nil},
			object{"id": "A3", "isDisabled": false, "price": object{"cents": 700.0}, "note": "aisle"},
			object{"id": "A4", "isDisabled": "false"}, object{"id": "A5"},
		},
		"rows": []any{
			object{"seats": []any{object{"id": "A1", "free": false}}}, object{}, object{"seats": object{"0": 1}},
			object{"seats": []any{object{"id": "B1", "free": false}, object{"id": "B2", "free": true}}},
			object{"seats": []any{object{"id": "C1", "free": true}}},
		},
		"ids": []any{[]any{"a", 1.0}, []any{"b", 2.0}}, "none": []any{},
	}
	for _, tt := range []struct {
		reason string
		at     target.Pointer
		where  where
		want   any
		ok     bool
	}{
		{"the first that is free and has an id", "/items/*/id", where{"/isDisabled": false}, "A2", true},
		{"a member of a member, equal as a number", "/items/*/id", where{"/price/cents": uint64(700)}, "A3", true},
		{"two members", "/items/*/id", where{"/isDisabled": false, "/note": "aisle"}, "A3", true},
		{"null, or no such member", "/items/*/id", where{"/isDisabled": false, "/note": nil}, "A2", true},
		{"an element without the member", "/items/*/id", where{"/isDisabled": nil}, "A5", true},
		{"the element itself", "/items/*", where{"/id": "A4"}, object{"id": "A4", "isDisabled": "false"}, true},
		{"the first row that has one", "/rows/*/seats/*/id", where{"/free": true}, "B2", true},
		{"a list in a list", "/ids/*/0", where{"/1": uint64(2)}, "b", true},
		{"none fits", "/items/*/id", where{"/isDisabled": 0}, nil, false},
		{"none of those that fit has it", "/items/*/name", where{"/isDisabled": false}, nil, false},
		{"not a list", "/rows/3/*/id", where{"/free": true}, nil, false},
		{"nothing there", "/films/*/id", where{"/free": nil}, nil, false},
	} {
		got, ok := Value{[]any{Choice{tt.at, tt.where}}}.Resolve(spec)
		if want := any([]any{tt.want}); ok != tt.ok || ok && !cmp.Equal(want, got) {
			t.Errorf("%s: %v, %v, want %v", tt.reason, got, ok, tt.want)
		}
	}
	for _, tt := range []struct {
		reason string
		of     any
		want   string
	}{
		{"a member of another value", Choice{"/items/*/id", where{"/isDisabled": 0, "/a": nil}},
			"/items/*/id where a is null and isDisabled is 0: it is so in none of 7 elements"},
		{"a member that none has", Choice{"/items/*/id", where{"/isFree": true, "/id": "A1"}},
			"/items/*/id where id is \"A1\" and isFree is true: none of 7 elements has isFree"},
		{"a member of a member that none has", Choice{"/rows/*/seats/*/id", where{"/price/euro": uint64(7)}},
			"/rows/*/seats/*/id where /price/euro is 7: none of 4 elements has /price/euro"},
		{"no value in it", Choice{"/items/*/name", where{"/isDisabled": false}},
			"/items/*/name where isDisabled is false: an element is so, but has nothing at /name"},
		{"no element", Choice{"/none/*/id", where{"/free": true}},
			"/none/*/id where free is true: no list there has an element"},
		{"no list", Choice{"/rows/3/*/id", where{"/free": true}},
			"/rows/3/*/id where free is true: no list there has an element"},
		{"* without a filter", []any{target.Pointer("/items/*/id")},
			"/items/*/id (* stands for every element only with where)"},
	} {
		_, err := ToolCall{"select", map[string]Value{"itemId": {tt.of}}}.ParamsFor(spec)
		if want := "param itemId of select: the uiSpec has nothing at " + tt.want; err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.reason, err, want)
		}
	}
}

// TestValueInAnotherFile checks that a call is parsed as in a profile.
func TestValueInAnotherFile(t *testing.T) {
	for _, tt := range []struct {
		reason, yaml string
		want         []ToolCall
		err          string
	}{
		{"calls", "- {tool: a}\n- {tool: b, params: {x: {pointer: /items/0/id}, y: [{pointer: z}, 1, null]}}\n", []ToolCall{
			{Tool: "a"}, {"b", map[string]Value{"x": {target.Pointer("/items/0/id")},
				"y": {[]any{target.Pointer("/z"), uint64(1), nil}}}},
		}, ""},
		{"a filter", "- {tool: a, params: {x: {pointer: /seats/*/id, where: {free: true}}}}\n", []ToolCall{
			{"a", map[string]Value{"x": {Choice{"/seats/*/id", map[target.Pointer]any{"/free": true}}}}},
		}, ""},
		{"a bad pointer", "- {tool: a, params: {x: [{pointer: a.b}]}}\n", nil,
			`[0].pointer: "a.b" is neither a name nor a JSON Pointer (write it like {pointer: /items/0/id})`},
		{"a pointer beside something", "- {tool: a, params: {x: {pointer: /a, or: b}}}\n", nil,
			`pointer next to other keys (write it like {pointer: /items/0/id})`},
	} {
		var got []ToolCall
		err := yaml.UnmarshalWithOptions([]byte(tt.yaml), &got, yaml.Strict())
		if err != nil || tt.err != "" {
			var at *target.ProfileError
			if !errors.As(err, &at) || at.Error() != tt.err {
				t.Errorf("%s: got %v, want %s", tt.reason, err, tt.err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestParamsFor(t *testing.T) {
	spec := map[string]any{"items": []any{map[string]any{"id": "adult"}}}
	call := ToolCall{"setQuantity", map[string]Value{"itemId": {target.Pointer("/items/0/id")}, "quantity": {uint64(1)}}}
	got, err := call.ParamsFor(spec)
	if diff := cmp.Diff(map[string]any{"itemId": "adult", "quantity": uint64(1)}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	_, err = call.ParamsFor(map[string]any{"items": []any{}})
	if err == nil || err.Error() != "param itemId of setQuantity: the uiSpec has nothing at /items/0/id" {
		t.Errorf("what the uiSpec does not have: %v", err)
	}
	if got, err := (ToolCall{Tool: "next"}).ParamsFor(nil); got == nil || len(got) > 0 || err != nil {
		t.Errorf("no params: %v, %v", got, err)
	}
}

func TestCallsOf(t *testing.T) {
	next, a := ToolCall{Tool: "next"}, ToolCall{Tool: "a"}
	for _, tt := range []struct {
		reason  string
		booking []ToolCall
		p       Provocation
		want    []ToolCall
	}{
		{"from a new session", []ToolCall{a}, Provocation{Calls: []ToolCall{next}}, []ToolCall{next}},
		{"after the booking", []ToolCall{a, a}, Provocation{Booking: true, Calls: []ToolCall{next}}, []ToolCall{a, a, next}},
		{"nothing", []ToolCall{a}, Provocation{}, nil},
		{"after an unknown booking", nil, Provocation{Booking: true, Calls: []ToolCall{next}}, nil},
		{"without a booking", nil, Provocation{Calls: []ToolCall{next}}, []ToolCall{next}},
	} {
		e := Binding{Booking: tt.booking}
		if diff := cmp.Diff(tt.want, e.CallsOf(tt.p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
	e := Default()
	var tools []string
	for _, c := range e.CallsOf(e.Provoke.NoActiveSpec) {
		tools = append(tools, c.Tool)
	}
	want := []string{
		"select", "next", "select", "next", "select", "next", "select", "next", "select", "next", "setQuantity", "next",
		"next", "next",
	}
	if diff := cmp.Diff(want, tools); diff != "" {
		t.Errorf("the default (-want +got):\n%s", diff)
	}
}
