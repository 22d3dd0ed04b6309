package binding

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"parley/internal/words"
	"parley/target"
)

// FromYAML implements target.Decodable.
func (v *Value) FromYAML(d *target.Decoder, n ast.Node, path string) error {
	of, err := d.Any(n, path)
	if err != nil {
		return err
	}
	v.Of, err = pointers(d, of, path)
	return err
}

// UnmarshalYAML reads a value in files other than profiles, such as a flow. An error is a *ProfileError without a
// place.
func (v *Value) UnmarshalYAML(unmarshal func(any) error) error {
	var of any
	err := unmarshal(&of)
	if err != nil {
		return err
	}
	v.Of, err = pointers(target.NewDecoder(), of, "")
	return err
}

// pointers replaces each {pointer: …} in a JSON value with a Pointer, or with a Choice if it has a filter.
func pointers(d *target.Decoder, of any, path string) (any, error) {
	var errs []error
	var err error
	switch of := of.(type) {
	case []any:
		for i := range of {
			of[i], err = pointers(d, of[i], fmt.Sprintf("%s[%d]", path, i))
			errs = append(errs, err)
		}
	case map[string]any:
		if _, is := of["pointer"]; is {
			return pointer(d, of, path)
		}
		for _, key := range slices.Sorted(maps.Keys(of)) {
			of[key], err = pointers(d, of[key], target.Within(path, key))
			errs = append(errs, err)
		}
	}
	return of, target.Together(errs...)
}

// pointer returns what a mapping with the key pointer stands for.
func pointer(d *target.Decoder, of map[string]any, path string) (any, error) {
	const mend = "write it like {pointer: /items/0/id}"
	for _, key := range slices.Sorted(maps.Keys(of)) {
		if key == "pointer" || key == "where" {
			continue
		}
		if fix := words.Suggest(key, []string{"where"}, ""); fix != "" {
			return nil, d.Fail(target.Within(path, key), fmt.Sprintf("unknown key %q", key), fix)
		}
		return nil, d.Fail(path, "pointer next to other keys", mend)
	}
	s, ok := of["pointer"].(string)
	filter, filtered := of["where"]
	switch {
	case !ok:
		return nil, d.Fail(target.Within(path, "pointer"), "a JSON Pointer is text", mend)
	}
	p, err := target.ParsePointer(s)
	if err != nil {
		return nil, d.Fail(target.Within(path, "pointer"), err.Error(), mend)
	}
	if filtered {
		return choice(d, p, filter, path)
	}
	return p, nil
}

// FromYAML implements target.Decodable.
func (c *ToolCall) FromYAML(d *target.Decoder, n ast.Node, path string) error {
	type shape ToolCall // without this method
	if err := d.Into(n, (*shape)(c), path); err != nil {
		return err
	}
	if c.Tool == "" {
		return d.Fail(target.Within(path, "tool"), "no tool",
			"write it like {tool: select, params: {itemId: {pointer: /items/0/id}}}")
	}
	return nil
}

// FromYAML implements target.Decodable.
func (p *Provocation) FromYAML(d *target.Decoder, n ast.Node, path string) error {
	var entries []entry
	if err := d.ListInto(n, &entries, path); err != nil {
		return err
	}
	*p = Provocation{}
	for i, e := range entries {
		switch {
		case e.call != nil:
			p.Calls = append(p.Calls, *e.call)
		case i > 0:
			return d.Fail(fmt.Sprintf("%s[%d]", path, i), "the booking is not the first entry",
				"calls are made from a new session, or after the whole booking")
		default:
			p.Booking = true
		}
	}
	if p.Booking && len(p.Calls) == 0 {
		return d.Fail(path, "no call after the booking", "give the one that is to fail")
	}
	return nil
}

// entry is an element of a provocation: a call, or nil for {booking: true}.
type entry struct{ call *ToolCall }

// FromYAML implements target.Decodable.
func (e *entry) FromYAML(d *target.Decoder, n ast.Node, path string) error {
	members, err := d.Members(n, path)
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Key != "booking" {
			continue
		}
		at := target.Within(path, m.Key)
		d.Place(at, m.Value)
		if yes, err := d.Any(m.Value, at); err != nil || yes != true {
			return d.Fail(at, "only true has a meaning here", "write {booking: true}, or delete it")
		}
		if len(members) > 1 {
			return d.Fail(path, "booking next to other keys", "write the calls as entries of their own")
		}
		return nil
	}
	e.call = &ToolCall{}
	return e.call.FromYAML(d, n, path)
}

// Nullable implements target.Nullable: a JSON value may be null.
func (v *Value) Nullable() {}
