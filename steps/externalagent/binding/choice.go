package binding

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/target"
	wjson "parley/wire/json"
)

// anyElement is the reference token of a Choice that stands for every element of a list.
const anyElement = "*"

// Choice points to a value in an element of a list that is chosen by its members. In YAML it is written
// {pointer: /items/*/id, where: {isDisabled: false}}: the id of the first item that is not disabled. Each * stands for
// every element of a list, in order; it is the element at the last * that must have the members.
type Choice struct {
	At    target.Pointer         // has at least one *
	Where map[target.Pointer]any // values within the element; null also means that there is none
}

// Get returns what the choice points to in a decoded JSON value, and whether there is such an element and the value
// within it.
func (c Choice) Get(doc any) (any, bool) {
	tokens, err := wjson.ParsePointer(string(c.At))
	if err != nil {
		return nil, false
	}
	return c.among(doc, tokens)
}

func (c Choice) among(v any, tokens []string) (any, bool) {
	i := slices.Index(tokens, anyElement)
	if i < 0 {
		return wjson.Lookup(v, wjson.FormatPointer(tokens...))
	}
	found, _ := wjson.Lookup(v, wjson.FormatPointer(tokens[:i]...))
	list, _ := found.([]any)
	rest := tokens[i+1:]
	last := !slices.Contains(rest, anyElement)
	for _, element := range list {
		if last && !c.fits(element) {
			continue
		}
		if got, ok := c.among(element, rest); ok {
			return got, true
		}
	}
	return nil, false
}

// fits reports whether an element has the members.
func (c Choice) fits(element any) bool {
	for at, want := range c.Where {
		if got, _ := at.Get(element); !wjson.Equal(got, want) {
			return false
		}
	}
	return true
}

// String returns the choice as in an error message.
func (c Choice) String() string {
	var members []string
	for _, at := range slices.Sorted(maps.Keys(c.Where)) {
		name := string(at)
		if strings.LastIndexByte(name, '/') == 0 {
			name = name[1:]
		}
		members = append(members, name+" is "+wjson.Compact(c.Where[at]))
	}
	return string(c.At) + " where " + strings.Join(members, " and ")
}

// choice reads a pointer with a filter.
func choice(d *target.Decoder, p target.Pointer, filter any, path string) (any, error) {
	const mend = "write it like {pointer: /items/*/id, where: {isDisabled: false}}"
	c := Choice{At: p, Where: map[target.Pointer]any{}}
	var errs []error
	fail := func(key, msg string) { errs = append(errs, d.Fail(target.Within(path, key), msg, mend)) }
	if tokens, err := wjson.ParsePointer(string(p)); err != nil || !slices.Contains(tokens, anyElement) {
		fail("pointer", fmt.Sprintf("where chooses an element of a list, but %q has no * in the place of one", p))
	}
	members, ok := filter.(map[string]any)
	switch {
	case !ok:
		fail("where", "expected a mapping of members to their values")
	case len(members) == 0:
		fail("where", "names no member")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at, err := target.ParsePointer(name)
		if err != nil {
			fail(target.Within("where", name), err.Error())
			continue
		}
		if _, twice := c.Where[at]; twice {
			fail(target.Within("where", name), fmt.Sprintf("the member %q is given twice", at))
		}
		c.Where[at] = members[name]
	}
	return c, target.Together(errs...)
}
