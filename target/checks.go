package target

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Socket checks the WebSocket settings of a section at path.
func (c *Checker) Socket(path string, ws WSWire) error {
	n := len(c.found)
	if !strings.HasPrefix(ws.Path, "/") {
		c.Fail(path+".path", fmt.Sprintf("%q does not start with a slash", ws.Path), "")
	}
	for i, name := range ws.Subprotocols {
		if !httpToken.MatchString(name) {
			c.Fail(fmt.Sprintf("%s.subprotocols[%d]", path, i), fmt.Sprintf("%q is not a subprotocol", name), "")
		}
	}
	return c.since(n)
}

// Places checks that every field of a struct of pointers has a place within the whole. Only the keys in but may be
// the whole itself.
func (c *Checker) Places(path, whole string, fields any, but ...string) error {
	n := len(c.found)
	v := reflect.ValueOf(fields)
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		at, list := Within(path, key), Pointers(nil)
		switch f := v.Field(i).Interface().(type) {
		case Pointer:
			list = Pointers{f}
		case Pointers:
			list = f
		}
		if len(list) == 0 {
			c.Fail(at, "no place", "write a name or a pointer, or a list of them")
		}
		for j, p := range list {
			switch one := c.Item(at, j); {
			case p == "" && !slices.Contains(but, key):
				c.Fail(one, fmt.Sprintf("the whole %s cannot be one field", whole), "write a name or a pointer")
			case slices.Contains(list[:j], p):
				c.Fail(one, fmt.Sprintf("the place %q is given twice", p), "")
			}
		}
	}
	return c.since(n)
}

// Names checks that renames has only known names and that no two end up the same.
func (c *Checker) Names(path, what string, renames map[string]Names, known []string) error {
	n := len(c.found)
	type home struct{ name, at string }
	owner, blamed := map[string]home{}, map[string]bool{}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(renames)), known) {
		at := Within(path, name)
		if !slices.Contains(known, name) {
			c.Fail(at, fmt.Sprintf("unknown %s %q", what, name), suggest(name, known))
			continue
		}
		wire, given := renames[name]
		switch {
		case !given:
			wire = Names{name}
		case len(wire) == 0:
			c.Fail(at, "renamed to nothing", "")
		}
		for i, w := range wire {
			one := c.Item(at, i)
			other, taken := owner[w]
			switch {
			case w == "":
				c.Fail(one, "renamed to nothing", "")
			case slices.Contains(wire[:i], w):
				c.Fail(one, fmt.Sprintf("the name %q is given twice", w), "")
			case taken && other.name != name:
				if !blamed[name] && !blamed[other.name] { // one mistake of the two is enough
					c.Fail(other.at, fmt.Sprintf("%q is already the name of %q", w, name), "rename that one too")
				}
				blamed[name], blamed[other.name] = true, true
			}
			owner[w] = home{name, one}
		}
	}
	return c.since(n)
}

// Item returns the path of a list item, also for a list written as a single value.
func (c *Checker) Item(path string, i int) string {
	if one := fmt.Sprintf("%s[%d]", path, i); c.Given(one) {
		return one
	}
	return path
}

// Single converts renamings with one name each to Names.
func Single(renames map[string]string) map[string]Names {
	all := make(map[string]Names, len(renames))
	for name, wire := range renames {
		all[name] = Names{wire}
	}
	return all
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// Placeholders returns the placeholders of a text, with their braces.
func Placeholders(text string) []string { return placeholder.FindAllString(text, -1) }

// MethodName reports whether a text is a token of RFC 9110, section 5.6.2, as are the names of methods, header fields
// and subprotocols.
func MethodName(s string) bool { return httpToken.MatchString(s) }

// HeaderName is MethodName for header fields.
func HeaderName(s string) bool { return httpToken.MatchString(s) }

// WSWire is how the ws driver reaches the target's WebSocket.
type WSWire struct {
	Path         string   `yaml:"path"`         // default depends on the protocol
	Subprotocols []string `yaml:"subprotocols"` // offered in the handshake; default none
}

// Renamed returns what a wire calls a name of the default binding.
func Renamed(names map[string]string, name string) string {
	if n, ok := names[name]; ok {
		return n
	}
	return name
}

// Sent returns the name to send for a name of the default binding: the first that the wire has.
func Sent(names map[string]Names, name string) string {
	if all := names[name]; len(all) > 0 {
		return all[0]
	}
	return name
}

// Original is the inverse of Renamed and Sent: it returns the default name of a name on the wire. A name unknown to
// the default binding is returned unchanged. A default name that this wire replaces by another means nothing here:
// the result is "".
func Original[N string | Names](names map[string]N, wire string) string {
	for name, n := range names {
		switch n := any(n).(type) {
		case string:
			if n == wire {
				return name
			}
		case Names:
			if n.Has(wire) {
				return name
			}
		}
	}
	if _, moved := names[wire]; moved {
		return ""
	}
	return wire
}
