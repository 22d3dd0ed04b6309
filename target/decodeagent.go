package target

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

func (v *Value) fromYAML(d *decoder, n ast.Node, path string) error {
	of, err := d.any(n, path)
	if err != nil {
		return err
	}
	v.Of, err = d.pointers(of, path)
	return err
}

// UnmarshalYAML reads a value in other files than profiles, such as a flow. An error is a *ProfileError without a place.
func (v *Value) UnmarshalYAML(unmarshal func(any) error) error {
	var of any
	err := unmarshal(&of)
	if err != nil {
		return err
	}
	v.Of, err = (&decoder{at: map[string]place{"": {}}}).pointers(of, "")
	return err
}

// pointers puts a Pointer in the place of each {pointer: …} in a JSON value.
func (d *decoder) pointers(of any, path string) (any, error) {
	var err error
	switch of := of.(type) {
	case []any:
		for i := range of {
			if of[i], err = d.pointers(of[i], fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if p, is := of["pointer"]; is {
			return d.pointer(p, len(of), path)
		}
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if of[key], err = d.pointers(of[key], within(path, key)); err != nil {
				return nil, err
			}
		}
	}
	return of, nil
}

// pointer is the value of the key pointer in a mapping of so many keys.
func (d *decoder) pointer(value any, keys int, path string) (any, error) {
	const mend = "write it like {pointer: /items/0/id}"
	s, ok := value.(string)
	switch {
	case keys > 1:
		return nil, d.fail(path, "pointer beside other keys", mend)
	case !ok:
		return nil, d.fail(within(path, "pointer"), "a JSON Pointer is text", mend)
	}
	p, err := ParsePointer(s)
	if err != nil {
		return nil, d.fail(within(path, "pointer"), err.Error(), mend)
	}
	return p, nil
}

func (c *ToolCall) fromYAML(d *decoder, n ast.Node, path string) error {
	type shape ToolCall // without this method
	if err := d.into(n, (*shape)(c), path); err != nil {
		return err
	}
	if c.Tool == "" {
		return d.fail(within(path, "tool"), "no tool", "write it like {tool: select, params: {itemId: {pointer: /items/0/id}}}")
	}
	return nil
}

func (p *Provocation) fromYAML(d *decoder, n ast.Node, path string) error {
	var entries []entry
	if err := d.list(n, reflect.ValueOf(&entries).Elem(), path); err != nil {
		return err
	}
	*p = Provocation{}
	for i, e := range entries {
		switch {
		case e.call != nil:
			p.Calls = append(p.Calls, *e.call)
		case i > 0:
			return d.fail(fmt.Sprintf("%s[%d]", path, i), "the booking is not the first entry",
				"calls are made from a new session, or after the whole booking")
		default:
			p.Booking = true
		}
	}
	if p.Booking && len(p.Calls) == 0 {
		return d.fail(path, "no call after the booking", "give the one that is to fail")
	}
	return nil
}

// entry is one of a provocation: a call, or nil for {booking: true}.
type entry struct{ call *ToolCall }

func (e *entry) fromYAML(d *decoder, n ast.Node, path string) error {
	members, err := d.members(n, path)
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.key != "booking" {
			continue
		}
		at := within(path, m.key)
		d.at[at] = d.placeAt(m.value)
		if yes, err := d.any(m.value, at); err != nil || yes != true {
			return d.fail(at, "only true has a meaning here", "write {booking: true}, or delete it")
		}
		if len(members) > 1 {
			return d.fail(path, "booking beside other keys", "write the calls as entries of their own")
		}
		return nil
	}
	e.call = &ToolCall{}
	return e.call.fromYAML(d, n, path)
}
