package scripted

import (
	"regexp"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/faultrule"
	"parley/internal/script"
	"parley/internal/words"
	"parley/runner"
	"parley/runner/tags"
	"parley/steps"
	"parley/steps/pack"
)

// kebab matches the ids of mutants.
var kebab = regexp.MustCompile(`\A[a-z0-9]+(-[a-z0-9]+)*\z`)

// mutantsCheck finds the mistakes in mutants.yaml.
type mutantsCheck struct {
	script.Reader
	script    *script.Script         // nil: a mistake in it is told
	told      func(name string) bool // that it is not listed
	clauses   *verdict.Ledger        // nil: a mistake in it is told
	messages  []string               // nil: they are not known
	drivers   []string               // nil: they are not known
	scenarios []runner.Planned       // nil: they cannot be listed, which a run tells
	lines     map[string]int         // of the rows, by their ids
}

// checkMutants joins all mistakes in mutants.yaml, each at its place.
func (t *player) checkMutants(text []byte, name string, p *pack.Pack) error {
	c := &mutantsCheck{told: p.Told, script: t.script, lines: map[string]int{}}
	c.clauses, _ = steps.LedgerOf(p)
	if p.Knows("sends", "receives", "transports") {
		c.messages, c.drivers = p.Messages(), p.Kind().Drivers
	}
	c.scenarios, _ = runner.Scenarios(p.Features(), p)
	if root := c.Read(text, "list of mutants"); root.There() {
		for _, row := range c.List(root, "a catalogue of mutants") {
			c.row(row)
		}
	}
	return c.Err(name)
}

// row checks a mutant.
func (c *mutantsCheck) row(v script.Value) {
	if !c.Keys(v, "a mutant", "id", "clauses", "why", "control", "transports", "fault", "vars", "cut", "greeting",
		"shows") {
		return
	}
	id := "a mutant"
	if at := v.At("id"); at.There() {
		id = c.Text(at, "id")
		switch first, twice := c.lines[id]; {
		case twice:
			c.Fail(at, "%s is the mutant in line %d already (use another id)", id, first)
		case id != "" && !kebab.MatchString(id):
			c.Fail(at, "the id %q has other characters than small letters, digits and single hyphens (id: said-is-cut)", id)
		}
		c.lines[id] = at.Line()
	} else {
		c.Fail(v, "a mutant lacks its id (id: said-is-cut)")
	}
	if at := v.At("why"); at.There() {
		c.Text(at, "why")
	} else {
		c.Fail(v, "%s lacks why (why: how a real server comes to do it)", id)
	}
	c.broken(v, id)
	if fault := v.At("fault"); fault.There() {
		faultrule.ReadIn(&c.Reader, fault)
		c.types(fault)
	}
	vars := v.At("vars")
	if c.vars(vars); len(vars.Keys()) == 0 && vars.Scalar() == nil && !v.At("fault").There() {
		c.Fail(v, "%s has no fault (fault: {on: pong, from: server, do: drop}, or vars: {lax: true})", id)
	}
	c.control(v.At("control"))
	if of := v.At("transports"); of.There() {
		for _, name := range c.Texts(of, "transports") {
			if name != "" && c.drivers != nil && !slices.Contains(c.drivers, name) {
				c.Fail(of, "the protocol has no transport %q (%s)", name, words.Suggest(name, c.drivers, "it has "+
					strings.Join(c.drivers, ", ")))
			}
		}
	}
}

// broken checks the clauses that a mutant must break.
func (c *mutantsCheck) broken(v script.Value, id string) {
	of := v.At("clauses")
	if all, is := of.Items(); !of.There() || is && len(all) == 0 {
		c.Fail(v, "%s lacks clauses (clauses: the ids of those that it breaks, as a list)", id)
		return
	}
	if c.clauses == nil {
		return
	}
	var tested []string
	for _, row := range c.clauses.Rows() {
		if row.Tested() {
			tested = append(tested, row.ID)
		}
	}
	for _, one := range c.List(of, "clauses") {
		clause := c.Text(one, "a clause")
		row, known := c.clauses.Row(clause)
		switch {
		case clause == "" || c.told(clause): // it is told
		case !known:
			c.Fail(one, "no clause of clauses.yaml has the id %s (%s)", clause, words.Suggest(clause, tested,
				"name one that is tested"))
		case !row.Tested():
			c.Fail(one, "clause %s is not tested, so that no scenario finds the mutant (name one that is)", clause)
		}
	}
}

// vars checks that the script has the variables.
func (c *mutantsCheck) vars(v script.Value) {
	if !v.There() || !c.Keys(v, "vars", v.Keys()...) || c.script == nil {
		return
	}
	for _, name := range v.Keys() {
		if _, err := c.script.With(map[string]any{name: nil}); err != nil {
			c.Fail(v.At(name), "%v", err)
		}
	}
}

// types checks that protocol.yaml knows the messages that faults are for: no other ever comes.
func (c *mutantsCheck) types(fault script.Value) {
	all, several := fault.Items()
	if !several {
		all = []script.Value{fault}
	}
	for _, one := range all {
		for _, on := range []script.Value{one.At("on"), one.At("after"), one.At("do").At("behind")} {
			kind := on
			if len(on.Keys()) > 0 {
				kind = on.At("type")
			}
			names, several := kind.Items()
			if !several {
				names = []script.Value{kind}
			}
			for _, at := range names {
				if name, is := at.Scalar().(string); is && c.messages != nil && !c.told(name) &&
					!slices.Contains(c.messages, name) {
					c.Fail(at, "protocol.yaml knows no message %q (%s)", name, words.Suggest(name, c.messages,
						"add it to sends or receives"))
				}
			}
		}
	}
}

// control checks that the expression selects a scenario: otherwise the mutant would be found by a server that does
// nothing.
func (c *mutantsCheck) control(v script.Value) {
	text, _ := v.Scalar().(string)
	if text == "" {
		return
	}
	expr, err := tags.Parse(text)
	if err != nil {
		c.Fail(v, "control: %v", err)
		return
	}
	selects := func(p runner.Planned) bool { return expr.Match(p.Tags) }
	if c.scenarios != nil && !slices.ContainsFunc(c.scenarios, selects) {
		c.Fail(v, `the control %q selects no scenario (it names tags of scenarios that must still pass: "@preflight-1"; `+
			`"" if there are none)`, text)
	}
}
