package cli

import (
	"bufio"
	"fmt"
	"strings"
	"text/tabwriter"

	"parley/internal/words"
)

// listedMutant is a row of the list of mutants, as --json prints it.
type listedMutant struct {
	Protocol string   `json:"protocol"`
	Role     string   `json:"role"`
	ID       string   `json:"id"`
	Why      string   `json:"why"`
	Clauses  []string `json:"clauses"` // that it breaks
}

// listMutants lists the mutants of catalogues, and runs none.
func listMutants(all []catalogue, asJSON bool, s *streams) error {
	rows, roles := []listedMutant{}, map[string]bool{}
	for _, c := range all {
		roles[titled(c.protocol, c.role)] = true
		for _, m := range c.mutants {
			rows = append(rows, listedMutant{c.protocol, c.role, m.ID, m.Why, append([]string{}, m.Clauses...)})
		}
	}
	if asJSON {
		return s.writeJSON(rows)
	}
	of := func(string) string { return "" }
	if len(roles) > 1 {
		of = func(text string) string { return text + "\t" }
	}
	out := bufio.NewWriter(s.Out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "MUTANT\t%sCLAUSES\tFAULT\n", of("OF"))
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s%s\t%s\n", r.ID, of(titled(r.Protocol, r.Role)), strings.Join(r.Clauses, ","), r.Why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", words.Counted(len(rows), "mutant"))
	return out.Flush()
}
