package cli

import (
	"slices"

	"parley/monitor"
	"parley/runner"
	"parley/steps"
	"parley/verdict"
)

// book is a ledger with everything that judges its clauses.
type book struct {
	ledger    *verdict.Ledger
	scenarios []runner.Planned
	monitors  []monitor.Monitor
	byStep    steps.Judges // nil if the features do not say which steps judge what
}

// openBook reads the suite's data on a protocol.
func openBook(protocol string) (*book, error) {
	p, err := suite.Find(protocol)
	if err != nil {
		return nil, err
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	scenarios, err := runner.Scenarios(p.Features(), p)
	if err != nil {
		return nil, err
	}
	byStep, err := steps.JudgesOf(p)
	if err != nil {
		return nil, err
	}
	return &book{ledger, scenarios, p.Monitors(), byStep}, nil
}

// openBooks opens the books of the named protocols; without names, of all.
func openBooks(protocols []string) ([]*book, error) {
	if err := knownProtocols(protocols); err != nil {
		return nil, err
	}
	if len(protocols) == 0 {
		protocols = suite.Names()
	}
	var out []*book
	for _, name := range unique(protocols) {
		b, err := openBook(name)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// scenariosOf lists the scenarios that may judge a clause.
func (b *book) scenariosOf(clause string) []runner.Planned {
	var out []runner.Planned
	for _, p := range b.scenarios {
		if slices.Contains(p.Clauses, clause) {
			out = append(out, p)
		}
	}
	return out
}

// monitorsOf lists the monitors that judge a clause.
func (b *book) monitorsOf(clause string) []monitor.Monitor {
	var out []monitor.Monitor
	for _, m := range b.monitors {
		if slices.Contains(m.Clauses, clause) {
			out = append(out, m)
		}
	}
	return out
}

// faulty is a mutant and the role of its target.
type faulty struct {
	runner.Mutant
	role string
}

// mutantsOf lists the faulty targets that break a clause.
func (b *book) mutantsOf(clause string) []faulty {
	var out []faulty
	for _, role := range b.roles() {
		for _, m := range bundle.Mutants(suite.Kinds(), b.ledger.Protocol, role) {
			if slices.Contains(m.Clauses, clause) {
				out = append(out, faulty{m, role})
			}
		}
	}
	return out
}

// roles lists the roles that targets of the protocol can have, the default one first.
func (b *book) roles() []string { return suite.Roles(b.ledger.Protocol) }

// rolesOf lists the roles of targets to which a clause applies, by scenarios or by monitors.
func (b *book) rolesOf(clause string) []string {
	return slices.DeleteFunc(b.roles(), func(role string) bool {
		return !slices.ContainsFunc(b.scenariosOf(clause), func(p runner.Planned) bool { return b.judges(p, role) }) &&
			!slices.ContainsFunc(b.monitorsOf(clause), func(m monitor.Monitor) bool { return m.For(role) })
	})
}

// judges reports whether a scenario applies to targets of a role.
func (b *book) judges(p runner.Planned, role string) bool { return inRole(b.ledger.Protocol, role, p) }

// scenarioRoles lists the roles of targets to which a scenario applies.
func (b *book) scenarioRoles(p runner.Planned) []string {
	return slices.DeleteFunc(b.roles(), func(role string) bool { return !b.judges(p, role) })
}

// monitorRoles lists the roles of targets to which a monitor applies.
func (b *book) monitorRoles(m monitor.Monitor) []string {
	return slices.DeleteFunc(b.roles(), func(role string) bool { return !m.For(role) })
}

// narrowed returns a book with only the scenarios and monitors that apply to one of the roles; nil if there are none.
// Without roles it returns the whole book.
func (b *book) narrowed(roles []string) *book {
	if len(roles) == 0 {
		return b
	}
	mine := rolesAmong(b.ledger.Protocol, roles)
	out := &book{ledger: b.ledger}
	for _, p := range b.scenarios {
		if slices.ContainsFunc(mine, func(role string) bool { return b.judges(p, role) }) {
			out.scenarios = append(out.scenarios, p)
		}
	}
	for _, m := range b.monitors {
		if slices.ContainsFunc(mine, m.For) {
			out.monitors = append(out.monitors, m)
		}
	}
	if len(out.scenarios)+len(out.monitors) == 0 {
		return nil
	}
	return out
}

// scenariosOf returns the scenarios of a protocol.
func scenariosOf(protocol string) ([]runner.Planned, error) {
	p, err := suite.Find(protocol)
	if err != nil {
		return nil, err
	}
	return runner.Scenarios(p.Features(), p)
}

// stepsOf returns the steps that judge a clause, according to the features.
func (b *book) stepsOf(id string) []string {
	var out []string
	for _, expr := range b.byStep[id] {
		out = append(out, steps.StepWords(expr))
	}
	return out
}
