package script

import (
	"maps"
	"slices"
	"strings"

	"parley/internal/words"
)

// nameCheck finds holes and expressions with variables that are never set.
type nameCheck struct {
	*parsing
	of    *Script
	known map[string]bool
	names []string
}

// look checks a value.
func (p *nameCheck) look(n *node) {
	if n == nil {
		return
	}
	for _, v := range slices.Concat(n.list, n.vals) {
		p.look(v)
	}
	text, _ := n.scalarText()
	for _, name := range holeNames(text) {
		if text, is := expressionIn(name); is {
			p.compile(p.of, n, text, p.known)
		} else if !strings.HasPrefix(name, "/") && !p.known[name] && !slices.Contains(reserved, name) {
			p.failAt(n, "nothing sets the variable %q (%s)", name, suggestName(name, p.names))
		}
	}
}

// lookAt checks a condition.
func (p *nameCheck) lookAt(t *test) {
	if t == nil {
		return
	}
	p.look(t.is)
	p.look(&node{list: t.in})
	p.lookAt(t.not)
}

// checkNames fails for guards and templates that use variables that are never set.
func (ps *parsing) checkNames(s *Script) {
	known := s.knownVariables()
	names := append(slices.Clone(reserved), slices.Sorted(maps.Keys(known))...)
	p := &nameCheck{ps, s, known, names}
	for _, a := range s.vars {
		p.look(a.to)
	}
	for _, k := range s.per {
		p.look(k.key)
		for _, a := range k.vars {
			p.look(a.to)
		}
	}
	actions := slices.Clone(s.start)
	for _, r := range s.rules {
		actions = append(actions, r.answer...)
		for _, g := range r.guards {
			p.lookAt(&g.test)
			if g.name != "state" && !known[g.name] {
				p.failAt(&node{line: r.line, column: 1}, "when: nothing sets the variable %q (%s)", g.name,
					words.Suggest(g.name, append(names, "state"), "there are state, "+quotedList(names)))
			}
		}
		if text, is := r.when.scalarText(); is {
			p.compile(s, r.when, text, known)
		}
		for _, a := range r.set {
			if strings.Contains(a.name, ".") && !known[a.name] {
				p.failAt(a.to, "per has no %q (%s)", a.name, suggestName(a.name, names))
			}
			p.look(a.to)
		}
		for _, c := range r.on.where {
			p.lookAt(&c.test)
		}
	}
	for _, a := range actions {
		p.look(a.body)
		p.look(a.to)
		if text, is := a.when.scalarText(); is {
			p.compile(s, a.when, text, known)
		}
	}
}
