package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports"
	"parley/reports/lang"
	"parley/runner"
	"parley/runner/tags"
	"parley/steps"
)

func explainCommand(s *streams) *cobra.Command {
	var language, role string
	var protocols []string
	var model, drawn, asyncapi bool
	c := &cobra.Command{
		Use:   "explain ID…",
		Short: "Show what a clause says, how it is read, and what judges it; or what a scenario or a mutant is about",
		Long: `Show everything about clauses: level and section, the statement in English, the words of the source, how the
suite reads and observes it, for which roles it is judged, which scenarios, steps and monitors judge it, which
mutants prove that they do, and how to run them alone. A clause that a page and its server share is shown for
both. For a scenario, show its clauses, its place, its steps with their Go functions, and how to run it alone. For a
mutant, whose name a report gives after "looks like", show why real servers have its fault, which clauses it breaks,
what finds it, and how to serve it.

With --model, show what the model of a protocol knows, which judges runs, live sessions, proxied traffic and recordings
alike: the life cycles that it follows, and what a target owes on which message, with the clauses.

With --asyncapi, show the messages of a protocol as an AsyncAPI 3 document, in JSON; parley new --from reads it.`,
		Example: "  parley explain AS-080 as-053 EA-026\n  parley explain AS-4.1-06\n  parley explain trims-ids\n" +
			"  parley explain PROTOCOL --model",
		RunE: func(c *cobra.Command, args []string) error {
			if asyncapi {
				return explainMessages(append(args, protocols...), s)
			}
			if model || drawn {
				return explainModels(append(args, protocols...), role, drawn, s)
			}
			l, err := parseLang(language)
			if err != nil {
				return err
			}
			return runExplain(c.Context(), args, l, s)
		},
	}
	c.Flags().StringSliceVar(&protocols, "protocol", nil, "with --model or --asyncapi, or a folder: the `PROTOCOL`")
	c.Flags().BoolVar(&model, "model", false, "show the model of a protocol, as Mermaid diagrams")
	c.Flags().BoolVar(&drawn, "svg", false, "with --model: what is owed, as a picture")
	c.Flags().BoolVar(&asyncapi, "asyncapi", false, "show the messages of a protocol, as an AsyncAPI document")
	c.Flags().StringVar(&role, "role", "", "with --model: the ROLE of the targets")
	declareLangOf(c.Flags(), &language, "what is shown: en or zh; names, steps and errors are in English")
	return c
}

func runExplain(_ context.Context, ids []string, l lang.Lang, s *streams) error {
	if len(ids) == 0 {
		return usagef("explain: which clause? (such as parley explain AS-080; parley list shows all)")
	}
	var pages []string
	for _, id := range ids {
		about, err := findPages(id, l)
		if err != nil {
			return err
		}
		pages = append(pages, about...)
	}
	_, err := fmt.Fprint(s.Out, strings.Join(pages, "\n"))
	return err
}

// findPages returns the pages about a clause, a scenario or a mutant. Only the protocols that may know it are opened.
func findPages(typed string, l lang.Lang) ([]string, error) {
	const what = "clause, scenario or mutant"
	id := clauseID(typed)
	if !tags.IsID(id) {
		if pages, err := mutantPages(strings.ToLower(typed), l); err != nil || len(pages) > 0 {
			return pages, err
		}
		return nil, unknownID(what, typed, typed, mutantNames())
	}
	protocols := suite.Naming(id)
	if len(protocols) == 0 {
		return nil, unknownID(what, typed, id, nil)
	}
	books, err := openBooks(protocols)
	if err != nil {
		return nil, err
	}
	if text, ok := scenarioPage(books, id, l); ok {
		return []string{text}, nil
	}
	found := findClause(books, id)
	if len(found) == 0 {
		return nil, unknownID(what, typed, id, nil)
	}
	return pagesOf(found, l)
}

// entry is a clause in one of the ledgers that contain it.
type entry struct {
	*book
	verdict.Row
}

// findClause looks up a clause in its own ledger and in those that refer to it.
func findClause(books []*book, id string) []entry {
	var found []entry
	for _, b := range books {
		if row, ok := b.ledger.Row(id); ok {
			found = append(found, entry{b, row})
		}
	}
	return found
}

// unknownID is the mistake to name a clause, or what else there is, that does not exist. Besides the clauses, others
// are known.
func unknownID(what, typed, id string, others []string) error {
	known, all := slices.Clone(others), "parley list shows all"
	if len(others) > 0 && strings.Contains(what, "mutant") {
		all = "parley list shows all clauses and scenarios, parley mutants --list all mutants"
	}
	for _, p := range suite.All {
		ledger, err := steps.LedgerOf(p)
		if err != nil {
			return err
		}
		for _, r := range ledger.Rows() {
			known = append(known, r.ID)
		}
	}
	near := words.Near(id, known, 3)
	if len(near) == 0 { // it may be a part of a longer name
		near = slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !strings.Contains(k, id) })
		near = near[:min(len(near), 3)]
	}
	if len(near) > 0 {
		return usagef("unknown %s %q (nearest: %s; %s)", what, typed, strings.Join(withoutDuplicates(near), ", "), all)
	}
	return usagef("unknown %s %q (%s)", what, typed, all)
}

// pagesOf returns the pages about a clause: one for each ledger in which it is tested, or one if it is tested in
// none. The other ledgers are mentioned on the last page.
func pagesOf(found []entry, l lang.Lang) ([]string, error) {
	var pages []string
	var others strings.Builder
	for i, e := range found {
		last := i == len(found)-1
		if !e.Tested() && !(last && len(pages) == 0) {
			newPage(&others, l).field("also", l.Say("%s: excluded, %s", e.ledger.Protocol, told(e.Row, l).Reason))
			continue
		}
		if err := e.readSteps(); err != nil {
			return nil, err
		}
		pages = append(pages, clausePage(e.book, e.Row, l))
	}
	pages[len(pages)-1] += others.String()
	return pages, nil
}

// clauseID normalises an id: "@as-042a" is AS-042a.
func clauseID(id string) string {
	id = strings.ToUpper(strings.TrimPrefix(id, "@"))
	if n := len(id); n > 6 {
		id = id[:6] + strings.ToLower(id[6:])
	}
	return id
}

// observedWords says what is needed to observe a clause.
var observedWords = map[string]string{
	"wire":        "on the wire alone",
	"wire+config": "on the wire, with hooks that change the target's configuration",
	"wire+model":  "on the wire, with the model stub behind the target",
	"config":      "in the target's configuration",
	"model":       "in what the model backend receives: needs the model stub",
	"wire+user":   "on the wire, where the target's user can be made to speak",
	"wire+fault":  "on the wire, where the profile can provoke the state or the failure",
	"wire+log":    "on the wire and in the log file, where that can be read",
	"page":        "on the page, as a person sees it in a browser",
	"wire+page":   "on the page, as a person sees it in a browser, and in what it asks of its server",
	"log":         "in the log file, where that can be read",
	"none":        "not observable from outside",
}

// page writes what is explained, in a language: a title, and texts under labels.
type page struct {
	*strings.Builder
	lang lang.Lang
}

func newPage(b *strings.Builder, l lang.Lang) page { return page{b, l} }

// field writes a text under a label; nothing if there is no text.
func (p page) field(label, text string) {
	if text != "" {
		p.list(label, []string{text})
	}
}

// list writes texts, the first one under a label.
func (p page) list(label string, texts []string) {
	for i, text := range texts {
		shown := ""
		if i == 0 && label != "" {
			shown = p.lang.Say(label)
		}
		fmt.Fprintf(p, "  %s  %s\n", reports.Pad(shown, 9), text)
	}
}

// told returns what a row says in a language.
func told(r verdict.Row, l lang.Lang) verdict.Wording {
	if l == lang.Chinese && r.Chinese.Text != "" {
		return r.Chinese
	}
	return verdict.Wording{Text: r.Text, Reason: r.Reason, Fair: r.Fair, Strict: r.Strict, Ruling: r.Ruling}
}

// clausePage renders everything about one clause.
func clausePage(b *book, r verdict.Row, l lang.Lang) string {
	var w strings.Builder
	p, row := newPage(&w, l), told(r, l)
	fmt.Fprintln(&w, l.Say("%s  %s  section %s of %s", r.ID, r.Level, r.Section, documentOf(b, r, l)))
	p.field("text", row.Text)
	if r.Source != row.Text {
		p.field("source", r.Source)
	}
	p.field("ruling", row.Ruling)
	p.field("fair", row.Fair)
	p.field("strict", row.Strict)
	observed := "observed"
	if l == lang.Chinese { // in reports the word is said of what was seen
		observed = "观察方式"
	}
	p.field(observed, l.Of(describeObserved(r.Observed)))
	var judges []string
	for _, j := range r.Judged {
		judges = append(judges, l.Of(judgeWords[j]))
	}
	p.field("judge", strings.Join(judges, l.Say("; ")))
	p.field("see", strings.Join(append(append([]string{}, r.See...), r.JudgedBy...), l.Say(", ")))
	if !r.Tested() {
		p.field("excluded", row.Reason)
		return w.String()
	}
	if b.hasRoles() {
		p.field("roles", strings.Join(b.rolesOf(r.ID), l.Say(", ")))
	}
	describeJudging(p, b, r)
	p.field("alone", l.Of(aloneCommand(b, r)))
	return w.String()
}

// documentOf returns the document that contains a clause. A cross row comes from another protocol.
func documentOf(b *book, r verdict.Row, l lang.Lang) string {
	if !r.Cross {
		return b.ledger.Source
	}
	from := l.Say("another document")
	if p, err := suite.Find(suite.OfClause(r.ID)); err == nil {
		if ledger, err := steps.LedgerOf(p); err == nil {
			from = ledger.Source
		}
	}
	return l.Say("%s, judged with %s", from, b.ledger.Protocol)
}

func describeObserved(how string) string {
	if rest, ok := strings.CutPrefix(how, "passive"); ok {
		return describeObserved("wire"+rest) + ", also in traffic that others cause"
	}
	if words, ok := observedWords[how]; ok {
		return words
	}
	return how
}

// judgeWords say what judges a clause.
var judgeWords = map[verdict.Judge]string{
	verdict.ByModel: "the model of the protocol, from records", verdict.ByPage: "looks at the page",
	verdict.ByLog: "the bytes of the log", verdict.ByLLM: "the requests to the large language model",
}

// describeJudging lists what judges a clause, and which mutants show that its tests detect faults.
func describeJudging(w page, b *book, r verdict.Row) {
	var scenarios, monitors, faults []string
	of := func(roles ...string) string { // if the protocol has several roles, and not all of them are meant
		if !b.hasRoles() || len(roles) == len(b.roles) {
			return ""
		}
		return " (" + strings.Join(roles, ", ") + ")"
	}
	for _, p := range b.scenariosOf(r.ID) {
		scenarios = append(scenarios, fmt.Sprintf("%s  %s%s  %s", p.ID, p.Name, of(b.scenarioRoles(p)...),
			p.Location))
	}
	for _, m := range b.monitorsOf(r.ID) {
		monitors = append(monitors, explained(w.lang, m.Name+of(b.monitorRoles(m)...), m.Text))
	}
	for _, m := range b.mutantsOf(r.ID) {
		about := m.ID + of(m.role)
		if w.lang == lang.English { // why is told in English alone
			about += ": " + m.Why
		}
		faults = append(faults, about)
	}
	w.list("scenarios", scenarios)
	w.list("steps", b.stepsOf(r.ID))
	w.list("monitors", monitors)
	w.list("mutants", faults)
}

// explained returns a name and what is said of it, if that is known in the language.
func explained(l lang.Lang, name, about string) string {
	if about = l.Of(about); l == lang.Chinese && !l.Native(about) {
		return name
	}
	return l.Say("%s: %s", name, about)
}

// aloneCommand returns the command that runs only what judges a clause. A monitor judges the transcripts of all
// scenarios.
func aloneCommand(b *book, r verdict.Row) string {
	command := program + " run --protocol " + spelled(b.ledger.Protocol)
	var roles []string // of the scenarios to run
	for _, role := range b.roles {
		if slices.ContainsFunc(b.scenariosOf(r.ID), func(p runner.Planned) bool { return b.appliesTo(p, role) }) {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		roles = b.rolesOf(r.ID)
	}
	if !slices.Equal(roles, b.roles[:1]) {
		command += " --role " + strings.Join(roles, ",")
	}
	if len(b.scenariosOf(r.ID)) == 0 {
		return command + "   (no scenario is about it: the monitor judges every transcript)"
	}
	return command + " --tags @" + r.ID
}

// stepFunctions returns a function that returns the Go function of a step of a protocol; "" if it is unknown.
func stepFunctions() func(protocol, step string) string {
	known := map[string][]steps.Definition{}
	return func(protocol, step string) string {
		if _, ok := known[protocol]; !ok {
			if p, err := suite.Find(protocol); err == nil {
				known[protocol] = steps.Definitions(p)
			}
		}
		return steps.FunctionOf(known[protocol], step)
	}
}

// scenarioPage renders everything about the scenario with an id; ok reports whether there is one.
func scenarioPage(books []*book, id string, l lang.Lang) (text string, ok bool) {
	for _, b := range books {
		for _, pl := range b.scenarios {
			if pl.ID == id {
				return aboutScenario(b, pl, l), true
			}
		}
	}
	return "", false
}

func aboutScenario(b *book, pl runner.Planned, l lang.Lang) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s\n", pl.ID, pl.Name)
	field := newPage(&out, l).field
	field("feature", pl.Feature)
	field("rule", reports.RuleIn(pl.Rule, l))
	field("place", pl.Location)
	if b.hasRoles() {
		field("roles", strings.Join(b.scenarioRoles(pl), ", "))
	}
	name := "clauses"
	for _, c := range pl.Clauses {
		if row, ok := b.ledger.Row(c); ok {
			field(name, fmt.Sprintf("%s  %s  %s", row.ID, row.Level, told(row, l).Text))
			name = ""
		}
	}
	field("tags", strings.Join(slices.DeleteFunc(slices.Clone(pl.Tags), func(t string) bool {
		return slices.Contains(pl.Clauses, strings.TrimPrefix(t, "@"))
	}), " "))
	name = "steps"
	function := stepFunctions()
	for _, text := range pl.StepTexts() {
		field(name, text)
		name = ""
		_, bare, _ := strings.Cut(text, " ")
		if by := function(b.ledger.Protocol, bare); by != "" {
			fmt.Fprintf(&out, "  %-9s    %s\n", "", by)
		}
	}
	command := fmt.Sprintf("%s run --protocol %s", program, spelled(b.ledger.Protocol))
	if roles := b.scenarioRoles(pl); b.hasRoles() && !slices.Contains(roles, b.roles[0]) {
		command += " --role " + roles[0]
	}
	field("alone", command+" "+pl.ID)
	return out.String()
}
