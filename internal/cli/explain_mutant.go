package cli

import (
	"fmt"
	"slices"
	"strings"

	"parley/reports/diagnosis"
	"parley/reports/lang"
	"parley/runner"
)

// mutantPages renders everything about the mutants of a name: nearly always one. If the command line names protocols by
// their folders, it asks about these.
func mutantPages(name string, l lang.Lang) ([]string, error) {
	var pages []string
	for _, protocol := range suite.Names() {
		for _, role := range suite.Roles(protocol) {
			for _, m := range bundle.Mutants(suite.Kinds(), protocol, role) {
				if m.ID != name || len(folders) > 0 && folders[protocol] == "" {
					continue
				}
				b, err := openBook(protocol)
				if err != nil {
					return nil, err
				}
				pages = append(pages, aboutMutant(b, m, role, l))
			}
		}
	}
	return pages, nil
}

// mutantNames lists the names of all mutants.
func mutantNames() (names []string) {
	for _, protocol := range suite.Names() {
		for _, role := range suite.Roles(protocol) {
			for _, m := range bundle.Mutants(suite.Kinds(), protocol, role) {
				names = append(names, m.ID)
			}
		}
	}
	return names
}

func aboutMutant(b *book, m runner.Mutant, role string, l lang.Lang) string {
	var out strings.Builder
	w, protocol := newPage(&out, l), b.ledger.Protocol
	fmt.Fprintln(&out, l.Say("%s  a mutant: the bundled %s with one fault", m.ID, titleWithRole(protocol, role)))
	if l == lang.English { // it is told in English alone
		fmt.Fprintf(w, "  %-9s  %s\n", "why", m.Why)
	}
	var breaks []string
	for _, id := range m.Clauses {
		if row, ok := b.ledger.Row(id); ok {
			breaks = append(breaks, fmt.Sprintf("%s  %s  %s", row.ID, row.Level, told(row, l).Text))
		}
	}
	w.list("breaks", breaks)
	w.list("found by", foundBy(b, m, role, l))
	named := spelled(protocol)
	if slices.Contains(partiesOf(protocol), role) {
		w.list("serve", []string{fmt.Sprintf("%s simulate --protocol %s --as %s --mutant %s", program, named, role, m.ID)})
	}
	w.list("alone", []string{fmt.Sprintf("%s mutants --protocol %s --role %s --only %s", program, named, role, m.ID)})
	return out.String()
}

// foundBy says what finds a mutant: the first scenario in the suite that fails with it, as recorded, and how many more;
// without a record, all that judges its clauses.
func foundBy(b *book, m runner.Mutant, role string, l lang.Lang) (found []string) {
	failing := failingScenarios(b.ledger.Protocol, role, m)
	for _, p := range b.scenarios {
		if failing[p.ID] {
			found = append(found, fmt.Sprintf("%s  %s  %s", p.ID, p.Name, p.Location))
		}
	}
	if more := len(found) - 1; more > 0 {
		return append(found[:1], l.Say("and %s after it", l.Count(more, "scenario")))
	}
	if len(found) > 0 {
		return found
	}
	for _, id := range m.Clauses {
		for _, p := range b.scenariosOf(id) {
			if b.appliesTo(p, role) {
				found = append(found, fmt.Sprintf("%s  %s  %s", p.ID, p.Name, p.Location))
			}
		}
		for _, monitor := range b.monitorsOf(id) {
			if monitor.For(role) {
				found = append(found, explained(l, l.Say("monitor")+" "+monitor.Name, monitor.Text))
			}
		}
	}
	return withoutDuplicates(found)
}

// failingScenarios are the ids of the scenarios in which a mutant was found to break its clauses.
func failingScenarios(protocol, role string, m runner.Mutant) map[string]bool {
	out := map[string]bool{}
	known, err := diagnosis.Embedded()
	if err != nil {
		return out
	}
	faults, _ := known.Faults(protocol, role) // none of another suite
	for _, f := range faults {
		for _, one := range f.Findings {
			if f.ID == m.ID && slices.Contains(m.Clauses, one.Clause) {
				out[one.Scenario] = true
			}
		}
	}
	return out
}
