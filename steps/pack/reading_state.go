package pack

import (
	"slices"
	"strings"

	"parley/internal/expression"
	"parley/internal/script"
	"parley/internal/words"
)

// readState reads the parts of the state, each with its key and first values.
func (rd *reader) readState(v script.Value) {
	d := rd.doc
	d.bags = []bag{{name: "connection"}, {name: "shared"}}
	if v.There() && !rd.Keys(v, "state", v.Keys()...) {
		return
	}
	for _, name := range v.Keys() {
		at := v.At(name)
		if !rd.Keys(at, "the state "+name, at.Keys()...) {
			continue
		}
		rd.bags = append(rd.bags, listed{name, rd.placeOf(v.Key(name))})
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

// findMembers finds the members of the states: those that the document declares. Those of connection and shared need
// not be declared if a rule sets them.
func (rd *reader) findMembers(root script.Value) {
	all := map[string][]string{}
	for _, b := range rd.doc.bags {
		all[b.name] = append([]string{}, sorted(b.start)...)
	}
	for _, rule := range rd.listAt(root, "rules") {
		for _, name := range rule.At("set").Keys() {
			if of, member, _ := strings.Cut(name, "."); of == "connection" || of == "shared" {
				all[of] = append(all[of], member)
			}
		}
	}
	for name := range all {
		slices.Sort(all[name])
		all[name] = slices.Compact(all[name])
	}
	rd.doc.stateMembers = all
}

func (rd *reader) readSet(v script.Value, r *rule) {
	if v.There() && !rd.Keys(v, "set", v.Keys()...) {
		return
	}
	for _, name := range v.Keys() {
		at := v.At(name)
		of, member, ok := strings.Cut(name, ".")
		known := rd.doc.stateMembers[of]
		switch {
		case !ok || known == nil:
			rd.states.add(of, rd.placeOf(at), "%q is not a member of a state (%s)", name, words.Suggest(of,
				sorted(rd.doc.stateMembers), "there are the states "+strings.Join(sorted(rd.doc.stateMembers), ", ")))
			continue
		case !slices.Contains(known, member):
			rd.states.add(member, rd.placeOf(at), "the state %s has no %q (%s)", of, member, words.Suggest(member, known,
				"it has "+strings.Join(known, ", ")))
			continue
		}
		rd.states.used[of] = true
		r.set = append(r.set, assignment{of, member, rd.expression(at)})
	}
}
