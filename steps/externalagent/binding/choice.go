package binding

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/internal/words"
	"parley/target"
	wjson "parley/transport/wire/json"
)

// anyElement is the reference token of a Choice that stands for every element of a list.
const anyElement = "*"

// hasElement reports whether a pointer has the reference token *.
func hasElement(p target.Pointer) bool {
	tokens, err := wjson.ParsePointer(string(p))
	return err == nil && slices.Contains(tokens, anyElement)
}

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
	elements, rest := c.elements(doc)
	for _, element := range elements {
		if !c.fits(element) {
			continue
		}
		if got, ok := wjson.Lookup(element, rest); ok {
			return got, true
		}
	}
	return nil, false
}

// elements returns the elements at the last *, in order, and the pointer to the value within each.
func (c Choice) elements(doc any) (found []any, rest string) {
	tokens, err := wjson.ParsePointer(string(c.At))
	if err != nil {
		return nil, ""
	}
	found = []any{doc}
	for {
		i := slices.Index(tokens, anyElement)
		if i < 0 {
			return found, wjson.FormatPointer(tokens...)
		}
		lists, at := found, wjson.FormatPointer(tokens[:i]...)
		found, tokens = nil, tokens[i+1:]
		for _, v := range lists {
			list, _ := wjson.Lookup(v, at)
			elements, _ := list.([]any)
			found = append(found, elements...)
		}
	}
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

// missing says what a choice without a target looks for in a decoded JSON value, and why there is none.
func (c Choice) missing(doc any) string {
	elements, rest := c.elements(doc)
	why := "no list there has an element"
	if n := len(elements); n > 0 {
		why = fmt.Sprintf("it is so in none of %s", words.Counted(n, "element"))
		if slices.ContainsFunc(elements, c.fits) {
			why = "an element is so, but has nothing at " + rest
		}
	}
	for _, at := range slices.Sorted(maps.Keys(c.Where)) {
		has := func(element any) bool { _, ok := at.Get(element); return ok }
		if len(elements) > 0 && c.Where[at] != nil && !slices.ContainsFunc(elements, has) {
			why = fmt.Sprintf("none of %s has %s", words.Counted(len(elements), "element"), name(at))
			break
		}
	}
	return fmt.Sprintf("%s: %s", c, why)
}

// String returns the choice as in an error message.
func (c Choice) String() string {
	var members []string
	for _, at := range slices.Sorted(maps.Keys(c.Where)) {
		members = append(members, name(at)+" is "+wjson.Compact(c.Where[at]))
	}
	return string(c.At) + " where " + strings.Join(members, " and ")
}

// name returns a pointer as people write it: a member of the top without its slash.
func name(at target.Pointer) string {
	if strings.LastIndexByte(string(at), '/') == 0 {
		return string(at)[1:]
	}
	return string(at)
}

// choice reads a pointer with a filter.
func choice(d *target.Decoder, p target.Pointer, filter any, path string) (any, error) {
	const mend = "write it like {pointer: /items/*/id, where: {isDisabled: false}}"
	c := Choice{At: p, Where: map[target.Pointer]any{}}
	var errs []error
	fail := func(key, msg string) { errs = append(errs, d.Fail(target.Within(path, key), msg, mend)) }
	if !hasElement(p) {
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
