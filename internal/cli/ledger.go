package cli

import (
	"slices"

	"parley/features/verdict"
	"parley/runner"
	"parley/steps"
	"parley/steps/monitor"
)

// book is a ledger with everything that judges its clauses.
type book struct {
	ledger    *verdict.Ledger
	scenarios []runner.Planned
	monitors  []monitor.Monitor
	byStep    steps.Judges // by readSteps; nil if the features do not say which steps judge what
	roles     []string     // that targets of the protocol can have, the default one first

	scenariosBy map[string][]runner.Planned  // by clause
	monitorsBy  map[string][]monitor.Monitor // by clause
}

// newBook makes a book of what judges the clauses of a ledger.
func newBook(ledger *verdict.Ledger, scenarios []runner.Planned, monitors []monitor.Monitor) *book {
	b := &book{ledger: ledger, scenarios: scenarios, monitors: monitors, roles: suite.Roles(ledger.Protocol),
		scenariosBy: map[string][]runner.Planned{}, monitorsBy: map[string][]monitor.Monitor{}}
	for _, p := range scenarios {
		for _, c := range unique(p.Clauses) {
			b.scenariosBy[c] = append(b.scenariosBy[c], p)
		}
	}
	for _, m := range monitors {
		for _, c := range unique(m.Clauses) {
			b.monitorsBy[c] = append(b.monitorsBy[c], m)
		}
	}
	return b
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
	return newBook(ledger, scenarios, p.Monitors()), nil
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
func (b *book) scenariosOf(clause string) []runner.Planned { return b.scenariosBy[clause] }

// monitorsOf lists the monitors that judge a clause.
func (b *book) monitorsOf(clause string) []monitor.Monitor { return b.monitorsBy[clause] }

// faulty is a mutant and the role of its target.
type faulty struct {
	runner.Mutant
	role string
}

// mutantsOf lists the faulty targets that break a clause.
func (b *book) mutantsOf(clause string) []faulty {
	var out []faulty
	for _, role := range b.roles {
		for _, m := range bundle.Mutants(suite.Kinds(), b.ledger.Protocol, role) {
			if slices.Contains(m.Clauses, clause) {
				out = append(out, faulty{m, role})
			}
		}
	}
	return out
}

// roled reports whether targets of the protocol can have several roles.
func (b *book) roled() bool { return len(b.roles) > 1 }

// those returns the roles for which a condition holds.
func (b *book) those(holds func(role string) bool) []string {
	return slices.DeleteFunc(slices.Clone(b.roles), func(role string) bool { return !holds(role) })
}

// rolesOf lists the roles of targets to which a clause applies, by scenarios or by monitors.
func (b *book) rolesOf(clause string) []string {
	return b.those(func(role string) bool {
		return slices.ContainsFunc(b.scenariosOf(clause), func(p runner.Planned) bool { return b.judges(p, role) }) ||
			slices.ContainsFunc(b.monitorsOf(clause), func(m monitor.Monitor) bool { return m.For(role) })
	})
}

// judges reports whether a scenario applies to targets of a role.
func (b *book) judges(p runner.Planned, role string) bool {
	return !b.roled() || slices.Contains(p.Tags, "@"+role)
}

// scenarioRoles lists the roles of targets to which a scenario applies.
func (b *book) scenarioRoles(p runner.Planned) []string {
	return b.those(func(role string) bool { return b.judges(p, role) })
}

// monitorRoles lists the roles of targets to which a monitor applies.
func (b *book) monitorRoles(m monitor.Monitor) []string { return b.those(m.For) }

// narrowed returns a book with only the scenarios and monitors that apply to one of the roles; nil if there are none.
// Without roles it returns the whole book.
func (b *book) narrowed(roles []string) *book {
	if len(roles) == 0 {
		return b
	}
	mine := rolesAmong(b.ledger.Protocol, roles)
	var scenarios []runner.Planned
	for _, p := range b.scenarios {
		if slices.ContainsFunc(mine, func(role string) bool { return b.judges(p, role) }) {
			scenarios = append(scenarios, p)
		}
	}
	var monitors []monitor.Monitor
	for _, m := range b.monitors {
		if slices.ContainsFunc(mine, m.For) {
			monitors = append(monitors, m)
		}
	}
	if len(scenarios)+len(monitors) == 0 {
		return nil
	}
	return newBook(b.ledger, scenarios, monitors)
}

// scenariosOf returns the scenarios of a protocol.
func scenariosOf(protocol string) ([]runner.Planned, error) {
	p, err := suite.Find(protocol)
	if err != nil {
		return nil, err
	}
	return runner.Scenarios(p.Features(), p)
}

// readSteps reads which steps judge which clause.
func (b *book) readSteps() error {
	p, err := suite.Find(b.ledger.Protocol)
	if err == nil {
		b.byStep, err = steps.JudgesOf(p)
	}
	return err
}

// stepsOf returns the steps that judge a clause, according to the features.
func (b *book) stepsOf(id string) []string {
	var out []string
	for _, expr := range b.byStep[id] {
		out = append(out, steps.StepWords(expr))
	}
	return out
}
