package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"parley/internal/yamltext"
)

// Row is one clause of a ledger.
type Row struct {
	ID      string `yaml:"id"`
	Level   Level  `yaml:"level"`
	Section string `yaml:"section"`
	Text    string `yaml:"text"`   // the statement, in English
	Source  string `yaml:"source"` // the sentence in the source document, in the original language
	// What is needed to observe it, joined by +: passive (only the connection, whoever acts on it), wire, page, config,
	// model, user, fault, log; or none.
	Observed string   `yaml:"observed"`
	Judged   Judges   `yaml:"judged"` // what judges it, if it is tested; empty: not said, or it is only observed
	Status   string   `yaml:"status"` // tested or excluded
	Reason   string   `yaml:"reason"` // why it is excluded
	Fair     string   `yaml:"fair"`   // the fair reading of a CONFLICT
	Strict   string   `yaml:"strict"` // what --strict requires instead, for a CONFLICT
	Ruling   string   `yaml:"ruling"` // how the row is interpreted
	See      []string `yaml:"see"`    // clauses of other ledgers that say the same
	JudgedBy []string `yaml:"judged_by"`
	Cross    bool     `yaml:"-"` // a row of another protocol's ledger that is judged here
	Chinese  Wording  `yaml:"-"` // as Translate has read it
}

// Wording is what a row says in another language. Text is never empty where the row, its translation or its source has
// words in the language.
type Wording struct {
	Text   string `yaml:"text"`
	Reason string `yaml:"reason"`
	Fair   string `yaml:"fair"`
	Strict string `yaml:"strict"`
	Ruling string `yaml:"ruling"`
}

// Tested reports whether scenarios or monitors judge the row.
func (r Row) Tested() bool { return r.Status == "tested" }

// Passive reports whether monitors can judge the row, or part of it, in traffic that the harness did not cause.
func (r Row) Passive() bool { return slices.Contains(strings.Split(r.Observed, "+"), "passive") }

// observations are the parts of Row.Observed.
var observations = []string{"passive", "wire", "page", "config", "model", "user", "fault", "log", "none"}

// Ledger is every clause of one protocol.
type Ledger struct {
	Protocol string `yaml:"protocol"`
	Source   string `yaml:"source"`
	Defaults struct {
		Level    Level  `yaml:"level"`
		Observed string `yaml:"observed"`
		Status   string `yaml:"status"`
	} `yaml:"defaults"` // of rows that say nothing themselves
	Clauses  []Row `yaml:"clauses"`
	CrossRow []Row `yaml:"cross"`

	byID map[string]int
	rows []Row // Clauses and CrossRow
}

var clauseID = regexp.MustCompile(`\A[A-Z]{2}-\d{3}[a-z]?\z`)

// ParseLedger reads a ledger strictly: unknown keys, levels or states, duplicate or malformed ids, excluded rows
// without a reason, and a ledger without clauses are errors. The error joins all mistakes, each a LedgerError.
func ParseLedger(b []byte) (*Ledger, error) {
	l := &Ledger{}
	if err := yamltext.Strict(b, l); err != nil {
		return nil, notYAML("", err)
	}
	for _, need := range []struct {
		there        bool
		key, example string
	}{{l.Protocol != "", "protocol", "my-protocol"}, {l.Source != "", "source", "my-protocol.md"},
		{len(l.Clauses) > 0, "clauses", "a list of rows"}} {
		if !need.there {
			return nil, &LedgerError{l.Protocol, 1, fmt.Sprintf("%s is missing: protocol, source and clauses are required "+
				"(%[1]s: %[2]s)", need.key, need.example)}
		}
	}
	mistaken := l.checkDefaults(b)
	for i := range l.CrossRow {
		l.CrossRow[i].Cross = true
	}
	for _, of := range [][]Row{l.Clauses, l.CrossRow} {
		for i := range of {
			l.complete(&of[i])
		}
	}
	l.Index()
	if err := joinMistakes(mistaken, l.check(b)); err != nil {
		return nil, err
	}
	return l, nil
}

// joinMistakes joins the mistakes of an error to another, without nesting them.
func joinMistakes(first error, more []error) error {
	if first != nil {
		more = append([]error{first}, more...)
	}
	return errors.Join(more...)
}

// checkDefaults finds a mistake in the defaults. Without it they are such that no row has the same mistake.
func (l *Ledger) checkDefaults(b []byte) error {
	d := &l.Defaults
	r := Row{ID: "AB-001", Text: "-", Source: "-", Section: "-", Reason: "-", Fair: "-", Level: cmp.Or(d.Level, Must),
		Observed: d.Observed, Status: cmp.Or(d.Status, "tested")}
	err := r.check()
	if err == nil {
		return nil
	}
	d.Level, d.Observed, d.Status = Must, "", "tested"
	return &LedgerError{l.Protocol, lineOfKey(b, "defaults"), "defaults: " + err.Error()}
}

// lineOfKey returns the line of a key of a ledger; 0 if it is not found.
func lineOfKey(b []byte, key string) int {
	path, err := yaml.PathString("$." + key)
	if err != nil {
		return 0
	}
	file, err := yamltext.Parse(b)
	if err != nil {
		return 0
	}
	node, err := path.FilterFile(file)
	if err != nil {
		return 0
	}
	return node.GetToken().Position.Line
}

// LedgerError is a mistake in a ledger.
type LedgerError struct {
	Protocol string // "": not known
	Line     int    // 0: not known
	Msg      string
}

func (e *LedgerError) Error() string {
	where := "ledger"
	if e.Protocol != "" {
		where += " " + e.Protocol
	}
	if e.Line > 0 {
		where += fmt.Sprintf(": line %d", e.Line)
	}
	return where + ": " + e.Msg
}

// InChinese ends the protocol of a LedgerError about a translation.
const InChinese = " in Chinese"

// notYAML is what is wrong with the form of a ledger.
func notYAML(protocol string, err error) error {
	out := &LedgerError{Protocol: protocol, Msg: err.Error()}
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		out.Line, out.Msg = at.GetToken().Position.Line, at.GetMessage()
	}
	return out
}

// check finds the mistakes in the rows of a ledger, whose text is b.
func (l *Ledger) check(b []byte) (mistakes []error) {
	first := map[string]int{}
	for i, r := range l.rows {
		before, twice := first[r.ID]
		if !twice {
			first[r.ID] = i
		}
		switch err := r.check(); {
		case err != nil:
			mistakes = append(mistakes, &LedgerError{l.Protocol, lineOfRow(b, i), r.ID + ": " + err.Error()})
		case twice:
			mistakes = append(mistakes, &LedgerError{l.Protocol, lineOfRow(b, i), fmt.Sprintf(
				"%s is listed twice, first in line %d (use the next free id)", r.ID, lineOfRow(b, before))})
		}
	}
	return mistakes
}

// lineOfRow returns the line of the i-th row of a ledger, those of cross behind those of clauses; 0 if it is not found.
func lineOfRow(b []byte, i int) int {
	for _, key := range []string{"clauses", "cross"} {
		path, err := yaml.PathString("$." + key)
		if err != nil {
			return 0
		}
		file, err := yamltext.Parse(b)
		if err != nil {
			return 0
		}
		list, err := path.FilterFile(file)
		if rows, is := list.(*ast.SequenceNode); err == nil && is {
			if i < len(rows.Values) {
				return rows.Values[i].GetToken().Position.Line
			}
			i -= len(rows.Values)
		}
	}
	return 0
}

// complete gives a row the ledger's defaults. One with a reason says itself that it is excluded.
func (l *Ledger) complete(r *Row) {
	r.Level, r.Observed = cmp.Or(r.Level, l.Defaults.Level), cmp.Or(r.Observed, l.Defaults.Observed)
	if r.Reason == "" {
		r.Status = cmp.Or(r.Status, l.Defaults.Status)
	}
}

// Index prepares a ledger, of which only the exported fields are set, for use.
func (l *Ledger) Index() {
	l.byID, l.rows = map[string]int{}, slices.Concat(l.Clauses, l.CrossRow)
	for i, r := range l.rows {
		l.byID[r.ID] = i
	}
}

// Translate reads the rows in Chinese, strictly: a translation of a row that the ledger lacks, or of what the row does
// not say, is an error. A row without a translation of its text has the words of its source, if these are Chinese.
func (l *Ledger) Translate(b []byte) error {
	var all map[string]Wording
	if err := yamltext.Strict(b, &all); err != nil {
		return notYAML(l.Protocol+InChinese, err)
	}
	for id := range all {
		if _, ok := l.byID[id]; !ok {
			return &LedgerError{Protocol: l.Protocol + InChinese, Msg: id + " is not a row of the ledger"}
		}
	}
	for i := range l.rows {
		r := &l.rows[i]
		w := all[r.ID]
		if w.Text == "" && strings.ContainsFunc(r.Source, func(c rune) bool { return unicode.Is(unicode.Han, c) }) {
			w.Text = r.Source
		}
		english, chinese := []string{r.Reason, r.Fair, r.Strict, r.Ruling}, []string{w.Reason, w.Fair, w.Strict, w.Ruling}
		for j := range english {
			if english[j] == "" && chinese[j] != "" {
				return &LedgerError{Protocol: l.Protocol + InChinese, Msg: fmt.Sprintf("the row of %s has nothing for %q", r.ID,
					chinese[j])}
			}
		}
		r.Chinese = w
	}
	return nil
}

func (r Row) check() error {
	known := false
	for _, l := range Levels {
		known = known || l == r.Level
	}
	for part := range strings.SplitSeq(r.Observed, "+") {
		if r.Observed != "" && !slices.Contains(observations, part) {
			return fmt.Errorf("observed is %q; want parts from %s, joined by +", r.Observed, strings.Join(observations, ", "))
		}
	}
	switch {
	case !r.Judged.known():
		return fmt.Errorf("judged is %q; want one of %v, or a list of them", r.Judged, judges)
	case len(r.Judged) > 0 && r.Status != "tested":
		return fmt.Errorf("judged is %q, but it is not tested", r.Judged)
	case r.Passive() && r.Status != "tested":
		return fmt.Errorf("observed is %q, but it is not tested", r.Observed)
	case !clauseID.MatchString(r.ID):
		return errors.New("malformed id (two capital letters and three digits, such as AB-001)")
	case !known:
		return fmt.Errorf("unknown level %q (there are %s)", r.Level, strings.Trim(fmt.Sprint(Levels), "[]"))
	case r.Text == "" || r.Source == "" || r.Section == "":
		return fmt.Errorf("text, source and section are required")
	case r.Status == "" && r.Reason != "":
		return errors.New("it has a reason, and does not say that it is excluded (status: excluded)")
	case r.Status != "tested" && r.Status != "excluded":
		return fmt.Errorf("status is %q; want tested or excluded", r.Status)
	case r.Status == "excluded" && r.Reason == "":
		return errors.New("excluded without a reason (reason: …)")
	case r.Level == Conflict && r.Fair == "":
		return fmt.Errorf("a CONFLICT needs its fair reading")
	}
	return nil
}

// Rows returns every row, the protocol's own first.
func (l *Ledger) Rows() []Row { return l.rows }

// Row looks up a clause.
func (l *Ledger) Row(id string) (Row, bool) {
	i, ok := l.byID[id]
	if !ok {
		return Row{}, false
	}
	return l.rows[i], true
}

// Level returns the level of a clause; MUST for an unknown one, so that a mistake is never lenient.
func (l *Ledger) Level(id string) Level {
	if r, ok := l.Row(id); ok {
		return r.Level
	}
	return Must
}

// Cover maps clause ids to the names of the scenarios or monitors that judge them.
type Cover map[string][]string

// Audit compares a ledger with what judges it. It returns one sentence per fault: a clause neither tested nor
// excluded, a tag that names no clause, an excluded clause that is tagged.
func (l *Ledger) Audit(scenarios, monitors Cover) []string {
	var faults []string
	for _, r := range l.rows {
		judges := len(scenarios[r.ID]) + len(monitors[r.ID])
		if r.Tested() && judges == 0 {
			faults = append(faults, r.ID+" is marked tested, but no scenario or monitor judges it")
		}
		if !r.Tested() && judges > 0 {
			faults = append(faults, fmt.Sprintf("%s is excluded, but judged by %v%v", r.ID, scenarios[r.ID], monitors[r.ID]))
		}
	}
	for _, cover := range []Cover{scenarios, monitors} {
		for id, by := range cover {
			if _, ok := l.byID[id]; !ok {
				faults = append(faults, fmt.Sprintf("%v names %s, which is not a clause of %s", by, id, l.Protocol))
			}
		}
	}
	sort.Strings(faults)
	return faults
}
