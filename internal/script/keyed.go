package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/internal/expression"
	"parley/internal/words"
)

// keyed are variables that exist once for each key, such as those of a session.
type keyed struct {
	name string
	key  *node // what it is filled in with is the key of a message
	vars []assignment
}

// keyMember is the member of keyed variables that is their key. Setting it chooses another one for the rest of a rule.
const keyMember = "key"

// MaxKeys bounds how many keys a script has at once. Beyond that, new ones keep nothing.
const MaxKeys = 10_000

// mendKey tells a member that is like the key that is missing, and reads it as the key.
func (p *parsing) mendKey(v *node, name string) {
	if v.valueAt(keyMember) != nil {
		return
	}
	for _, k := range v.keys {
		if member, _ := k.value.(string); len(words.Near(member, []string{keyMember}, 1)) > 0 {
			p.failAt(k, "%s has no key (is %q misspelt? key: ${/%[1]s})", name, member)
			k.value = keyMember
			return
		}
	}
}

// parseKeyed reads the variables that exist once for each key.
func (p *parsing) parseKeyed(n *node) (out []keyed) {
	if !p.requireKind(n, mapping, "per") {
		return nil
	}
	for i, k := range n.keys {
		name, _ := k.value.(string)
		v := n.vals[i]
		if !variable.MatchString(name) || slices.Contains(reserved, name) || slices.Contains(expressionNames, name) {
			p.failAt(k, "%q is not a name (a letter, then letters, digits and _; not %s)", name,
				quotedList(append(slices.Clone(reserved), expressionNames...)))
		}
		if !p.requireKind(v, mapping, name) {
			continue
		}
		p.mendKey(v, name)
		key := v.valueAt(keyMember)
		if key == nil {
			p.failAt(v, "key is missing: say which member of a message tells one %s from another (key: ${/%s})", name, name)
			continue
		}
		p.checkTemplate(key)
		one := keyed{name: name, key: key}
		for _, a := range p.parseAssignments(v, name) {
			if a.name != keyMember {
				one.vars = append(one.vars, a)
			}
		}
		out = append(out, one)
	}
	return out
}

// expressionNames are what expressions know besides variables: the message, its type, and the state.
var expressionNames = []string{"it", "kind", "state"}

// expressionIn returns the expression in a hole, ${= 1 + 1}.
func expressionIn(hole string) (text string, is bool) {
	text, is = strings.CutPrefix(hole, "=")
	return strings.TrimSpace(text), is
}

// compile compiles an expression of the script, once.
func (p *parsing) compile(s *Script, at *node, text string, known map[string]bool) {
	if s.expressions[text] != nil {
		return
	}
	names := append(slices.Clone(expressionNames), "party", "n")
	for name := range known {
		if of, _, is := strings.Cut(name, "."); is {
			name = of
		}
		names = append(names, name)
	}
	members := map[string][]string{}
	for _, k := range s.per {
		members[k.name] = []string{keyMember}
		for _, a := range k.vars {
			members[k.name] = append(members[k.name], a.name)
		}
	}
	e, err := expression.Compile(text, names, members)
	if err != nil {
		p.failAt(at, "%v", err)
		return
	}
	s.expressions[text] = e
}

// entries holds the keyed variables of an engine: by name and key.
type entries map[string]map[string]map[string]any

// chosen are the keys of the keyed variables that a message is about, by name.
type chosen map[string]string

// chooseKeys returns the keys that a message has. One that cannot be filled in is not there.
func (e *Engine) chooseKeys(f *filling) chosen {
	keys := chosen{}
	for _, k := range e.s.per {
		b, err := f.fillValue(k.key)
		if text, ok := plainText(b); err == nil && ok && text != "" {
			keys[k.name] = text
		}
	}
	return keys
}

// entry returns the variables of a key; those of a key that has none yet are the first ones.
func (f *filling) entry(name string) map[string]any {
	if one := f.entries[name][f.keys[name]]; one != nil {
		return one
	}
	return f.firsts[name]
}

// keyedValue returns the value of a keyed variable.
func (f *filling) keyedValue(name, member string) any {
	if member == keyMember {
		return f.keys[name]
	}
	return f.entry(name)[member]
}

// setKeyed sets a keyed variable, or chooses another key.
func (f *filling) setKeyed(name, member string, v any) error {
	if member == keyMember {
		text, ok := plainText(v)
		if !ok || text == "" {
			return fmt.Errorf("a key is a text, and this is %v", v)
		}
		f.keys[name] = text
		return nil
	}
	key, there := f.keys[name]
	if !there {
		return fmt.Errorf("the message says nothing of a %s (set %s.%s first)", name, name, keyMember)
	}
	of := f.entries[name]
	if of == nil {
		of = map[string]map[string]any{}
		f.entries[name] = of
	}
	if of[key] == nil {
		if len(of) >= MaxKeys {
			return fmt.Errorf("there are %d of %s already", MaxKeys, name)
		}
		of[key] = maps.Clone(f.firsts[name])
	}
	of[key][member] = v
	return nil
}

// evaluate evaluates an expression of the script.
func (f *filling) evaluate(text string) (any, error) {
	in := expression.Scope{"it": expression.Plain(f.message), "kind": f.kind, "state": f.state, "party": f.party, "n": f.n}
	for name, v := range f.vars {
		in[name] = expression.Plain(v)
	}
	for name := range f.firsts {
		of := map[string]any{keyMember: f.keys[name]}
		for member, v := range f.entry(name) {
			of[member] = expression.Plain(v)
		}
		in[name] = of
	}
	return f.expressions[text].Value(in)
}

// holds reports whether an expression of the script is true; nil holds, and one without a value does not.
func (f *filling) holds(n *node) bool {
	text, is := n.scalarText()
	if !is {
		return true
	}
	v, err := f.evaluate(text)
	return err == nil && v == true
}

// inbox are the HTTP requests that carry a client's messages, for clients that receive theirs on an event stream.
type inbox struct {
	method string
	path   string // "*" stands for any segment
	status int
}

// parseInbox reads which requests carry messages.
func (p *parsing) parseInbox(n *node) *inbox {
	in := &inbox{status: 202}
	if !p.checkKeys(n, "posts", "request", "status") {
		return in
	}
	text := p.requireText(n, "request", "POST /messages/*")
	method, path, ok := strings.Cut(text, " ")
	if text != "" && (!ok || !slices.Contains(methods, method) || !strings.HasPrefix(path, "/")) {
		p.failAt(n.valueAt("request"), `%q is not a request (write it like "POST /messages/*")`, text)
	}
	if status := n.valueAt("status"); status != nil {
		if in.status = p.parseCount(status, "status", 599); in.status < 200 {
			p.failAt(status, "status is an HTTP status (status: 202)")
		}
	}
	in.method, in.path = method, path
	return in
}

// Posted reports whether an HTTP request carries a message of a client, and the status that answers it.
func (s *Script) Posted(method, path string) (status int, is bool) {
	if s == nil || s.posts == nil || method != s.posts.method {
		return 0, false
	}
	path, _, _ = strings.Cut(path, "?")
	return s.posts.status, samePath(s.posts.path, path)
}

// samePath reports whether a path is that of a script, where "*" stands for any segment.
func samePath(wanted, path string) bool {
	want, got := strings.Split(wanted, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == "*" || w == g })
}

// With returns the script with other first values of variables, decoded as JSON or YAML. An unknown name is an error.
func (s *Script) With(vars map[string]any) (*Script, error) {
	out := *s
	out.vars = slices.Clone(s.vars)
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		i := slices.IndexFunc(out.vars, func(a assignment) bool { return a.name == name })
		if i < 0 {
			var known []string
			for _, a := range s.vars {
				known = append(known, a.name)
			}
			return nil, fmt.Errorf("%s has no variable %q (%s)", s.Name, name, suggestName(name, known))
		}
		out.vars[i].to = valueNode(vars[name])
	}
	return &out, nil
}

// valueNode is a decoded value as that of a script.
func valueNode(v any) *node {
	switch v := v.(type) {
	case []any:
		n := &node{kind: list}
		for _, item := range v {
			n.list = append(n.list, valueNode(item))
		}
		return n
	case map[string]any:
		n := &node{kind: mapping}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			n.keys, n.vals = append(n.keys, valueNode(name)), append(n.vals, valueNode(v[name]))
		}
		return n
	}
	return &node{value: v}
}

// suggestName ends a mistake about a variable that nothing sets.
func suggestName(name string, names []string) string {
	return words.Suggest(name, names, "there are "+quotedList(names))
}
