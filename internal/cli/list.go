package cli

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/words"
)

// listOptions are the flags of parley list.
type listOptions struct {
	protocols, roles []string
	json, scenarios  bool
}

func listCommand(s *streams) *cobra.Command {
	var o listOptions
	c := &cobra.Command{
		Use:   "list",
		Short: "List the clauses, or the scenarios, of the suite",
		Long: `List every clause of the suite with its level, its section of the source, and the number of scenarios and
monitors that judge it. With --scenarios, list every scenario with its id and tags instead; other commands take
both ids and tags. For protocols with several roles the list names the roles for which a clause is judged;
--role restricts the list and its counts to some. A clause that two protocols share is listed for both and
counted once.`,
		Example: `  parley list --role agent
  parley list --scenarios --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return list(c.Context(), o, s) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.protocols, "protocol", nil, "`PROTOCOL` to list; may be repeated (default all)")
	f.StringSliceVar(&o.roles, "role", nil, "`ROLE` of the target; may be repeated (default all)")
	f.BoolVar(&o.json, "json", false, "print a JSON array instead of a table")
	f.BoolVar(&o.scenarios, "scenarios", false, "list the scenarios")
	return c
}

// listedClause is a row of the list of clauses, as --json prints it.
type listedClause struct {
	Protocol  string        `json:"protocol"`
	ID        string        `json:"id"`
	Level     verdict.Level `json:"level"`
	Section   string        `json:"section"`
	Status    string        `json:"status"` // tested or excluded
	Reason    string        `json:"reason,omitzero"`
	Roles     []string      `json:"roles"` // of the targets to which it applies
	Scenarios []string      `json:"scenarios"`
	Monitors  []string      `json:"monitors"`
	Text      string        `json:"text"`
}

// listedScenario is a row of the list of scenarios, as --json prints it.
type listedScenario struct {
	Protocol string   `json:"protocol"`
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Location string   `json:"location"`
	Roles    []string `json:"roles"`
	Tags     []string `json:"tags"`
}

func list(_ context.Context, o listOptions, s *streams) error {
	books, err := openBooks(o.protocols)
	if err == nil {
		books, err = narrow(books, o.roles)
	}
	if err != nil {
		return err
	}
	if o.scenarios {
		rows := listScenarios(books)
		if o.json {
			return s.writeJSON(rows)
		}
		return s.scenarioTable(rows)
	}
	rows := listClauses(books, len(o.roles) > 0)
	if o.json {
		return s.writeJSON(rows)
	}
	if err := s.clauseTable(rows); err != nil {
		return err
	}
	if len(books) > 1 {
		for _, b := range books {
			if err := s.clauseCount(b.ledger.Protocol+"  ", listClauses([]*book{b}, len(o.roles) > 0)); err != nil {
				return err
			}
		}
	}
	return s.clauseCount("", rows)
}

// narrow keeps of books only what applies to targets of the given roles, and drops books without any of it; without
// roles it keeps all.
func narrow(books []*book, roles []string) ([]*book, error) {
	var protocols []string
	for _, b := range books {
		protocols = append(protocols, b.ledger.Protocol)
	}
	if err := knownRoles(roles, protocols); err != nil {
		return nil, err
	}
	var out []*book
	for _, b := range books {
		if b = b.narrowed(roles); b != nil {
			out = append(out, b)
		}
	}
	return out, nil
}

// listClauses returns the rows of books; judged omits clauses that nothing in the books judges.
func listClauses(books []*book, judged bool) []listedClause {
	rows := []listedClause{}
	for _, b := range books {
		for _, r := range b.ledger.Rows() {
			c := listedClause{Protocol: b.ledger.Protocol, ID: r.ID, Level: r.Level, Section: r.Section, Status: r.Status,
				Reason: r.Reason, Roles: append([]string{}, b.rolesOf(r.ID)...), Scenarios: []string{}, Monitors: []string{},
				Text: r.Text}
			for _, p := range b.scenariosOf(r.ID) {
				c.Scenarios = append(c.Scenarios, p.ID)
			}
			for _, m := range b.monitorsOf(r.ID) {
				c.Monitors = append(c.Monitors, m.Name)
			}
			if !judged || len(c.Scenarios)+len(c.Monitors) > 0 {
				rows = append(rows, c)
			}
		}
	}
	return rows
}

func listScenarios(books []*book) []listedScenario {
	rows := []listedScenario{}
	for _, b := range books {
		for _, p := range b.scenarios {
			rows = append(rows, listedScenario{Protocol: b.ledger.Protocol, ID: p.ID, Name: p.Name, Location: p.Location,
				Roles: b.scenarioRoles(p), Tags: p.Tags})
		}
	}
	return rows
}

func (s *streams) writeJSON(v any) error {
	if err := json.MarshalWrite(s.Out, v, jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.Out)
	return err
}

func (s *streams) clauseTable(rows []listedClause) error {
	out := bufio.NewWriter(s.Out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	roles, before := func(string) string { return "" }, 56
	if slices.ContainsFunc(rows, func(r listedClause) bool { return roled(r.Protocol) }) {
		roles, before = func(text string) string { return text + "\t" }, 75
	}
	fmt.Fprintf(w, "CLAUSE\tLEVEL\tSECTION\tSTATUS\t%sSCENARIOS\tMONITORS\tTEXT\n", roles("ROLES"))
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s%d\t%d\t%s\n", r.ID, r.Level, r.Section, r.Status,
			roles(strings.Join(r.Roles, ",")),
			len(r.Scenarios), len(r.Monitors), s.clip(r.Text, before))
	}
	fmt.Fprintln(w)
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Flush()
}

// clauseCount counts clauses by status. A clause in several ledgers counts once, and as tested if any of them tests
// it.
func (s *streams) clauseCount(of string, rows []listedClause) error {
	all, tested := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		all[r.ID] = true
		if r.Status == "tested" {
			tested[r.ID] = true
		}
	}
	_, err := fmt.Fprintf(s.Out, "%s%s: %d tested, %d excluded\n",
		of, words.Counted(len(all), "clause"), len(tested), len(all)-len(tested))
	return err
}

func (s *streams) scenarioTable(rows []listedScenario) error {
	out := bufio.NewWriter(s.Out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCENARIO\tNAME\tTAGS")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, r.Name, strings.Join(r.Tags, " "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", words.Counted(len(rows), "scenario"))
	return out.Flush()
}

// clip cuts the last column of a table to fit the terminal; before is the width of the columns to its left.
func (s *streams) clip(text string, before int) string {
	room := s.OutWidth - before
	if s.OutTTY && s.OutWidth > 0 && room > 20 {
		return cut.Text(text, room)
	}
	return text
}
