package pack

import (
	"slices"
	"strings"

	"parley/internal/expression"
	"parley/internal/script"
)

// readState reads the parts of the state, each with its key and first values.
func (rd *reader) readState(v script.Value) {
	d := rd.doc
	d.bags = []bag{{name: "connection"}, {name: "shared"}}
	for _, name := range v.Keys() {
		at := v.At(name)
		b := bag{name: name, start: map[string]any{}}
		if !named.MatchString(name) || slices.Contains(scopeNames, name) {
			rd.Fail(at, "%q cannot be the name of a state (small letters and digits, and none of %s)", name,
				strings.Join(scopeNames, ", "))
		}
		if expression.IsFunction(name) {
			rd.Fail(at, "%q cannot be the name of a state: expressions have a function of that name", name)
		}
		builtIn := name == "connection" || name == "shared"
		for _, member := range at.Keys() {
			switch {
			case member != "key":
				b.start[member] = plainYAML(valueOf(at.At(member)))
			case builtIn:
				rd.Fail(at.At(member), "%s has no key: there is one for each connection, or one in all", name)
			default:
				b.key = rd.expression(at.At(member), scopeNames...)
			}
		}
		switch {
		case builtIn:
			d.bags[map[string]int{"connection": 0, "shared": 1}[name]] = b
			continue
		case !at.At("key").There():
			rd.Fail(at, "the state %s has no key: say which messages are about one of it (key: it.%s)", name, name)
		}
		d.bags = append(d.bags, b)
	}
}

// plainYAML returns a value as expressions compare it.
func plainYAML(v any) any {
	switch v := v.(type) {
	case int64:
		return int(v)
	case uint64:
		return int(v)
	}
	return v
}
