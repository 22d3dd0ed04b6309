package cli

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/words"
	"parley/reports/diagnosis"
	"parley/runner"
)

// mutantPages renders everything about the mutants of a name: nearly always one.
func mutantPages(name string) ([]string, error) {
	var pages []string
	for _, protocol := range suite.Names() {
		for _, role := range suite.Roles(protocol) {
			for _, m := range bundle.Mutants(suite.Kinds(), protocol, role) {
				if m.ID != name {
					continue
				}
				b, err := openBook(protocol)
				if err != nil {
					return nil, err
				}
				pages = append(pages, aboutMutant(b, m, role))
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

func aboutMutant(b *book, m runner.Mutant, role string) string {
	var out strings.Builder
	protocol := b.ledger.Protocol
	fmt.Fprintf(&out, "%s  a mutant: the bundled %s with one fault\n", m.ID, titleWithRole(protocol, role))
	list := func(name string, lines []string) {
		for _, l := range lines {
			fmt.Fprintf(&out, "  %-9s  %s\n", name, l)
			name = ""
		}
	}
	list("why", []string{m.Why})
	var breaks []string
	for _, id := range m.Clauses {
		if row, ok := b.ledger.Row(id); ok {
			breaks = append(breaks, fmt.Sprintf("%s  %s  %s", row.ID, row.Level, row.Text))
		}
	}
	list("breaks", breaks)
	list("found by", foundBy(b, m, role))
	if slices.Contains(partiesOf(protocol), role) {
		list("serve", []string{fmt.Sprintf("%s simulate --protocol %s --as %s --mutant %s", program, protocol, role, m.ID)})
	}
	list("alone", []string{fmt.Sprintf("%s mutants --protocol %s --role %s --only %s", program, protocol, role, m.ID)})
	return out.String()
}

// foundBy says what finds a mutant: the first scenario in the suite that fails with it, as recorded, and how many more;
// without a record, all that judges its clauses.
func foundBy(b *book, m runner.Mutant, role string) (found []string) {
	failing := failingScenarios(b.ledger.Protocol, role, m)
	for _, p := range b.scenarios {
		if failing[p.ID] {
			found = append(found, fmt.Sprintf("%s  %s  %s", p.ID, p.Name, p.Location))
		}
	}
	if more := len(found) - 1; more > 0 {
		return append(found[:1], "and "+words.Counted(more, "scenario")+" after it")
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
				found = append(found, "monitor "+monitor.Name+": "+monitor.Text)
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
