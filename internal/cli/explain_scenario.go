package cli

import (
	"fmt"
	"slices"
	"strings"

	"parley/runner"
)

// scenarioPage renders everything about the scenario with an id; ok reports whether there is one.
func scenarioPage(books []*book, id string) (text string, ok bool) {
	for _, b := range books {
		for _, pl := range b.scenarios {
			if pl.ID == id {
				return aboutScenario(b, pl), true
			}
		}
	}
	return "", false
}

func aboutScenario(b *book, pl runner.Planned) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s\n", pl.ID, pl.Name)
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&out, "  %-9s  %s\n", name, value)
		}
	}
	field("feature", pl.Feature)
	field("rule", pl.Rule)
	field("place", pl.Location)
	if b.roled() {
		field("roles", strings.Join(b.scenarioRoles(pl), ", "))
	}
	name := "clauses"
	for _, c := range pl.Clauses {
		if row, ok := b.ledger.Row(c); ok {
			field(name, fmt.Sprintf("%s  %s  %s", row.ID, row.Level, row.Text))
			name = ""
		}
	}
	field("tags", strings.Join(slices.DeleteFunc(slices.Clone(pl.Tags), func(t string) bool {
		return slices.Contains(pl.Clauses, strings.TrimPrefix(t, "@"))
	}), " "))
	command := fmt.Sprintf("%s run --protocol %s", program, b.ledger.Protocol)
	if roles := b.scenarioRoles(pl); b.roled() && !slices.Contains(roles, b.roles[0]) {
		command += " --role " + roles[0]
	}
	field("alone", command+" "+pl.ID)
	return out.String()
}
