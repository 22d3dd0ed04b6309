package pack

import (
	"slices"

	"parley/internal/expression"
)

// scopeOf is what expressions know when a message has come: also the state.
func (mo *model) scopeOf(m *message) expression.Scope {
	in := scopeOf(m)
	for i := range mo.doc.bags {
		b := &mo.doc.bags[i]
		in[b.name] = mo.bagOf(b, m, in)
	}
	return in
}

// belongs reports whether a message belongs to each state that the rule names.
func (r *rule) belongs(in expression.Scope) bool {
	return !slices.ContainsFunc(r.states, func(name string) bool { return in[name] == nil })
}

// keyOf returns the key of a state's values that a message is about; "" if it is about none.
func (b *bag) keyOf(m *message, in expression.Scope) string {
	switch {
	case b.name == "connection":
		return "connection " + m.r.Conn
	case b.key == nil:
		return b.name
	}
	v, err := b.key.Value(in)
	if err != nil || v == nil || v == "" {
		return ""
	}
	return b.name + "=" + textOf(v)
}

// bagOf returns the values of a state that a message is about; nil if it is about none, or they are unknown.
func (mo *model) bagOf(b *bag, m *message, in expression.Scope) any {
	key := b.keyOf(m, in)
	if key == "" || mo.lost[key] {
		return nil
	}
	values := mo.bags[key]
	if values == nil && len(mo.bags) >= mostBags {
		return nil
	}
	if values == nil {
		values = map[string]any{}
		for name, v := range b.start {
			values[name] = v
		}
		mo.bags[key] = values
	}
	return values
}

// lose forgets the values of a state that a message is about.
func (mo *model) lose(name string, m *message, in expression.Scope) {
	for i := range mo.doc.bags {
		if b := &mo.doc.bags[i]; b.name == name {
			mo.lost[b.keyOf(m, in)] = true
			in[name] = nil
		}
	}
}

// isHuge reports whether a value is too large for a state.
func isHuge(v any) bool {
	switch v := v.(type) {
	case string:
		return len(v) > mostText
	case []any:
		return len(v) > mostItems
	case map[string]any:
		return len(v) > mostItems
	}
	return false
}
