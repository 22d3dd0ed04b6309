package main

import (
	"slices"

	"parley/features"
	"parley/monitor"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/verdict"
)

// book is a ledger with everything that judges its clauses.
type book struct {
	ledger    *verdict.Ledger
	scenarios []runner.Planned
	monitors  []monitor.Monitor
}

// openBook reads what the suite has about a protocol.
func openBook(protocol string) (*book, error) {
	p, err := runner.Protocol(protocol)
	if err != nil {
		return nil, err
	}
	ledger, err := features.Ledger(protocol)
	if err != nil {
		return nil, err
	}
	scenarios, err := runner.Scenarios(features.FS, protocol)
	if err != nil {
		return nil, err
	}
	return &book{ledger, scenarios, p.Monitors()}, nil
}

// openBooks opens those of the named protocols; without names, all.
func openBooks(protocols []string) ([]*book, error) {
	if err := knownProtocols(protocols); err != nil {
		return nil, err
	}
	if len(protocols) == 0 {
		protocols = features.Protocols()
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

// mutantsOf lists the faulty servers that break a clause.
func (b *book) mutantsOf(clause string) []runner.Mutant {
	var out []runner.Mutant
	for _, m := range bundled.Mutants(b.ledger.Protocol, "") {
		if slices.Contains(m.Clauses, clause) {
			out = append(out, m)
		}
	}
	return out
}
