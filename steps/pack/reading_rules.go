package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/internal/expression"
	"parley/internal/script"
)

// readRules reads a rule. One with by is several: which clauses it judges depends on the value of an expression.
func (rd *reader) readRules(v script.Value) {
	by, clauses := v.At("by"), v.At("clauses")
	values := clauses.Keys()
	if !by.There() && values == nil {
		rd.readRule(v, nil, clauses)
		return
	}
	if !by.There() || values == nil {
		rd.Fail(v, "by and a map of clauses belong together (by: ticket.turn, clauses: {asked: %[1]s-001})",
			cmp.Or(rd.doc.prefix, "MP"))
		return
	}
	when := "true"
	if at := v.At("when"); at.There() {
		when = fmt.Sprint(at.Scalar())
	}
	for _, value := range values {
		text := fmt.Sprintf("(%s) and (%v) == %q", when, by.Scalar(), value)
		e, err := expression.Compile(text, rd.known, rd.doc.stateMembers)
		if err != nil {
			rd.Fail(by, "%v", err)
			return
		}
		rd.readRule(v, e, clauses.At(value))
	}
}

// readRule reads a rule that judges clauses, and applies when an expression holds; nil: that of the rule.
func (rd *reader) readRule(v script.Value, when *expression.Expression, clauses script.Value) {
	r, before := &rule{line: v.Line()}, rd.Count()
	if !rd.Keys(v, "a rule", "name", "on", "by", "when", "clauses", "says", "require", "grows", "unique", "first", "valid",
		"owes", "or", "within", "forbids", "until", "elsewhere", "set") {
		return
	}
	strange := rd.Count() > before
	rd.doc.rules = append(rd.doc.rules, r)
	r.name, r.says = rd.Text(v.At("name"), "name"), rd.Text(v.At("says"), "says")
	if on := v.At("on"); on.There() {
		r.on = rd.trigger(on, "on")
	} else if !strange {
		rd.Fail(v, "on is missing: which messages the rule is about (on: ping)")
	}
	if r.when = when; when == nil {
		r.when = rd.expression(v.At("when"))
	}
	if clauses.There() {
		r.clauses = rd.Texts(clauses, "clauses")
	}
	r.require, r.grows, r.unique = rd.expression(v.At("require")), rd.expression(v.At("grows")),
		rd.expression(v.At("unique"))
	r.first, r.valid, r.elsewhere = rd.yes(v, "first"), rd.yes(v, "valid"), rd.yes(v, "elsewhere")
	if owes := v.At("owes"); owes.There() {
		r.owes = append(r.owes, rd.owing(owes))
		for _, or := range rd.listAt(v, "or") {
			r.owes = append(r.owes, rd.owing(or))
		}
	}
	if r.within = rd.Text(v.At("within"), "within"); r.within == "" && len(r.owes) > 0 && len(r.owes[0].types) == 1 {
		r.within = usualLimits[r.owes[0].types[0]]
	}
	if r.lasts, _ = time.ParseDuration(r.within); r.within != "" && r.lasts <= 0 && !slices.Contains(limits, r.within) {
		rd.Fail(v.At("within"), "within is a time, such as 2s, or the name of a limit: one of %s", strings.Join(limits, ", "))
	} else if v.At("within").There() && len(r.owes) == 0 && !strange {
		rd.Fail(v.At("within"), "within is for what the server owes, and the rule has no owes")
	}
	if of := v.At("forbids"); of.There() {
		t := rd.trigger(of, "forbids")
		r.forbids = &t
	}
	if of := v.At("until"); of.There() {
		t := rd.trigger(of, "until")
		r.until = &t
	}
	rd.readSet(v.At("set"), r)
	rd.findStates(r)
	judges := slices.ContainsFunc([]string{"require", "grows", "unique", "first", "valid", "owes", "forbids"},
		func(key string) bool { return v.At(key).There() })
	switch {
	case strange:
	case judges && len(r.clauses) == 0 && !r.forgiving():
		rd.Fail(v, "clauses is missing: what the rule judges (clauses: %s-001)", cmp.Or(rd.doc.prefix, "MP"))
	case !judges && !v.At("set").There():
		rd.Fail(v, "the rule does nothing: it has none of owes, forbids, require, grows, unique, first, valid and set")
	}
}

// yes reads true or false.
func (rd *reader) yes(v script.Value, key string) bool {
	at := v.At(key)
	is, ok := at.Scalar().(bool)
	if at.There() && !ok {
		rd.Fail(at, "%s is true or false (%[1]s: true)", key)
	}
	return is
}

// findStates finds the states on which a rule depends.
func (rd *reader) findStates(r *rule) {
	named := []*expression.Expression{r.when, r.require}
	for _, s := range r.set {
		named = append(named, s.value)
	}
	for _, b := range rd.doc.bags {
		if slices.ContainsFunc(r.set, func(s assignment) bool { return s.bag == b.name }) ||
			slices.ContainsFunc(named, func(e *expression.Expression) bool { return e != nil && e.Mentions(b.name) }) {
			r.states = append(r.states, b.name)
		}
	}
}

// forgiving reports whether a rule only permits: each of its alternatives has clauses, or none judges anything.
func (r *rule) forgiving() bool {
	return len(r.owes) > 0 && !slices.ContainsFunc(r.owes, func(o *owing) bool { return o.clauses == nil })
}

// expects is what a finding of the rule says that it expected.
func (r *rule) expects(otherwise string) string { return cmp.Or(r.says, otherwise) }

// usualLimits are those of what never comes at once, unless the rule names another.
var usualLimits = map[string]string{answer: "http", connected: "connect", ended: "event"}

// limits are those of a profile that a rule may name.
var limits = []string{"event", "turn", "http", "connect"}

func (rd *reader) owing(v script.Value) *owing {
	o := &owing{trigger: rd.trigger(v, "owes"), must: rd.expression(v.At("must"))}
	if of := v.At("clauses"); of.There() {
		o.clauses = rd.Texts(of, "clauses")
	}
	return o
}
