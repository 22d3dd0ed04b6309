package cli

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/jsonform"
	"parley/internal/words"
	"parley/runner"
	"parley/steps"
	"parley/steps/monitor"
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
		RunE: func(c *cobra.Command, _ []string) error { return runList(c.Context(), o, s) },
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

func runList(_ context.Context, o listOptions, s *streams) error {
	books, err := openBooks(o.protocols)
	if err == nil {
		books, err = narrowBooks(books, o.roles)
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

// narrowBooks keeps of books only what applies to targets of the given roles, and drops books without any of it;
// without roles it keeps all.
func narrowBooks(books []*book, roles []string) ([]*book, error) {
	var protocols []string
	for _, b := range books {
		protocols = append(protocols, b.ledger.Protocol)
	}
	if err := knownRoles(roles, protocols); err != nil {
		return nil, err
	}
	var out []*book
	for _, b := range books {
		if b = b.narrowToRoles(roles); b != nil {
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
	return jsonform.WriteLine(s.Out, v, jsontext.WithIndent("  "))
}

func (s *streams) clauseTable(rows []listedClause) error {
	out := bufio.NewWriter(s.Out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	roles, before := func(string) string { return "" }, 56
	if slices.ContainsFunc(rows, func(r listedClause) bool { return hasRoles(r.Protocol) }) {
		roles, before = func(text string) string { return text + "\t" }, 75
	}
	fmt.Fprintf(w, "CLAUSE\tLEVEL\tSECTION\tSTATUS\t%sSCENARIOS\tMONITORS\tTEXT\n", roles("ROLES"))
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s%d\t%d\t%s\n", r.ID, r.Level, r.Section, r.Status,
			roles(strings.Join(r.Roles, ",")),
			len(r.Scenarios), len(r.Monitors), s.clipColumn(r.Text, before))
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

// clipColumn cuts the last column of a table to fit the terminal; before is the width of the columns to its left.
func (s *streams) clipColumn(text string, before int) string {
	room := s.OutWidth - before
	if s.OutTTY && s.OutWidth > 0 && room > 20 {
		return cut.Text(text, room)
	}
	return text
}

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
		for _, c := range withoutDuplicates(p.Clauses) {
			b.scenariosBy[c] = append(b.scenariosBy[c], p)
		}
	}
	for _, m := range monitors {
		for _, c := range withoutDuplicates(m.Clauses) {
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
	for _, name := range withoutDuplicates(protocols) {
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

// hasRoles reports whether targets of the protocol can have several roles.
func (b *book) hasRoles() bool { return len(b.roles) > 1 }

// rolesWith returns the roles for which a condition holds.
func (b *book) rolesWith(holds func(role string) bool) []string {
	return slices.DeleteFunc(slices.Clone(b.roles), func(role string) bool { return !holds(role) })
}

// rolesOf lists the roles of targets to which a clause applies, by scenarios or by monitors.
func (b *book) rolesOf(clause string) []string {
	return b.rolesWith(func(role string) bool {
		return slices.ContainsFunc(b.scenariosOf(clause),
			func(p runner.Planned) bool { return b.appliesTo(p, role) }) ||
			slices.ContainsFunc(b.monitorsOf(clause), func(m monitor.Monitor) bool { return m.For(role) })
	})
}

// appliesTo reports whether a scenario applies to targets of a role.
func (b *book) appliesTo(p runner.Planned, role string) bool {
	return !b.hasRoles() || slices.Contains(p.Tags, "@"+role)
}

// scenarioRoles lists the roles of targets to which a scenario applies.
func (b *book) scenarioRoles(p runner.Planned) []string {
	return b.rolesWith(func(role string) bool { return b.appliesTo(p, role) })
}

// monitorRoles lists the roles of targets to which a monitor applies.
func (b *book) monitorRoles(m monitor.Monitor) []string { return b.rolesWith(m.For) }

// narrowToRoles returns a book with only the scenarios and monitors that apply to one of the roles; nil if there are
// none. Without roles it returns the whole book.
func (b *book) narrowToRoles(roles []string) *book {
	if len(roles) == 0 {
		return b
	}
	mine := rolesAmong(b.ledger.Protocol, roles)
	var scenarios []runner.Planned
	for _, p := range b.scenarios {
		if slices.ContainsFunc(mine, func(role string) bool { return b.appliesTo(p, role) }) {
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
