package verdict

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"parley/internal/yamltext"
)

// Baseline names clauses that are known to fail, each with its reason and an optional last day.
type Baseline struct {
	Expected []Expected `yaml:"expected"`
}

// Expected is one row of a baseline. Role and Driver narrow it; "" means any.
type Expected struct {
	Clause  string `yaml:"clause"`
	Reason  string `yaml:"reason"`
	Role    string `yaml:"role"`
	Driver  string `yaml:"driver"`
	Flaky   bool   `yaml:"flaky"`   // the clause fails only sometimes: passing does not make the row stale
	Expires string `yaml:"expires"` // YYYY-MM-DD, the last day on which the row applies; "" for no end
}

// RowExample is a row as errors show it.
const RowExample = "" +
	"- {clause: AS-080, reason: PROJ-1234, role: server, driver: sse, flaky: true, expires: 2027-06-30}; " +
	"only clause and reason are required"

// A BaselineError is a mistake in the text of a baseline. Line and Column are 0 if unknown.
type BaselineError struct {
	Line, Column int
	Msg          string
}

func (e *BaselineError) Error() string {
	if e.Line == 0 {
		return "baseline: " + e.Msg
	}
	return fmt.Sprintf("baseline: [%d:%d] %s", e.Line, e.Column, e.Msg)
}

// ParseBaseline reads a baseline strictly. Errors are *BaselineError; those about the shape of a row show an example.
func ParseBaseline(b []byte) (*Baseline, error) {
	out := &Baseline{}
	if err := yamltext.Strict(b, out); err != nil {
		return nil, parseError(err)
	}
	rows := rowLines(bytes.SplitAfter(b, []byte("\n")))
	for i, e := range out.Expected {
		if mistake := e.findMistake(i, out.Expected[:i]); mistake != "" {
			err := &BaselineError{Msg: mistake}
			if len(rows) == len(out.Expected) { // each begins on a line of its own
				err.Line, err.Column = rows[i].first+1, 1
			}
			return nil, err
		}
	}
	return out, nil
}

// findMistake says what is wrong with a row, the i-th from 0, behind those before it; "" if nothing is.
func (e Expected) findMistake(i int, before []Expected) string {
	switch {
	case e == Expected{}:
		return fmt.Sprintf("row %d is empty (a row: %s)", i+1, RowExample)
	case !clauseID.MatchString(e.Clause):
		return fmt.Sprintf("clause %q is not a clause id (such as AS-042)", e.Clause)
	case e.Reason == "":
		return e.Clause + " needs a reason"
	}
	for _, other := range before {
		if e.Overlaps(other) {
			return e.Clause + " is listed twice" + e.whyOverlaps(other)
		}
	}
	if _, err := e.endOfValidity(); err != nil {
		return fmt.Sprintf("%s: expires %q is not a date (YYYY-MM-DD)", e.Clause, e.Expires)
	}
	return ""
}

// parseError adds the place of a mistake, and for an unknown key the example of a row.
func parseError(err error) error {
	out := &BaselineError{Msg: err.Error()}
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		p := at.GetToken().Position
		out.Line, out.Column, out.Msg = p.Line, p.Column, at.GetMessage()
	}
	if strings.Contains(out.Msg, "unknown key") {
		out.Msg += " (a row: " + RowExample + ")"
	}
	return out
}

// Overlaps reports whether two rows can be about the same outcome.
func (e Expected) Overlaps(o Expected) bool {
	meet := func(a, b string) bool { return a == "" || b == "" || a == b }
	return e.Clause == o.Clause && meet(e.Role, o.Role) && meet(e.Driver, o.Driver)
}

// whyOverlaps says why two rows that look different overlap; "" if they do not look different.
func (e Expected) whyOverlaps(o Expected) string {
	if e.Role == o.Role && e.Driver == o.Driver {
		return ""
	}
	return ": a row without role or driver is about all of them"
}

// About reports whether the row is about targets in a role.
func (e Expected) About(role string) bool { return e.Role == "" || e.Role == role }

// endOfValidity returns the moment, in UTC, from which the row no longer applies; the zero time if it has no end.
func (e Expected) endOfValidity() (time.Time, error) {
	if e.Expires == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, e.Expires)
	return t.AddDate(0, 0, 1), err
}

// SoonDays is how many days ahead of its last day a row is reported.
const SoonDays = 14

// DaysLeft returns how many days after now the last day of a row is, 0 on that day itself, and whether that is soon:
// from 0 to SoonDays.
func DaysLeft(expires string, now time.Time) (days int, soon bool) {
	end, err := Expected{Expires: expires}.endOfValidity()
	if err != nil || end.IsZero() {
		return 0, false
	}
	const day = 24 * time.Hour
	days = int(end.Sub(now.UTC().Truncate(day))/day) - 1
	return days, days >= 0 && days <= SoonDays
}

// States of a baseline row after it was applied.
const (
	RowApplied = "applied"          // the clause fails, as expected
	RowSpared  = "passed this time" // the row is flaky, and the clause passes
	RowStale   = "stale"            // the clause passes: remove the row
	RowExpired = "expired"          // the row has expired: the failure counts
	RowUnknown = "unknown clause"   // this run has no such clause
	RowUnused  = "not tested"       // the clause was not judged
)

// Forgives reports whether a row in a state keeps a run from being conformant: it excused a failure, or says that the
// clause fails at other times.
func Forgives(state string) bool { return state == RowApplied || state == RowSpared }

// Apply returns the outcome of a clause with the row applied, and the row's state.
func (e Expected) Apply(o Outcome, known bool, now time.Time) (Outcome, string) {
	end, _ := e.endOfValidity()
	switch {
	case !known:
		return o, RowUnknown
	case !end.IsZero() && !now.Before(end):
		return o, RowExpired
	case o == Failed || o == Warned:
		return ExpectedFail, RowApplied
	case o == Passed && e.Flaky:
		return o, RowSpared
	case o == Passed:
		return UnexpectedPass, RowStale
	}
	return o, RowUnused
}

// Combine returns the worst of the outcomes over drivers; "" for none.
func Combine(byDriver map[string]Outcome) (worst Outcome) {
	for _, o := range byDriver {
		if worst == "" || rank[o] > rank[worst] {
			worst = o
		}
	}
	return worst
}

// Text returns a baseline as YAML, its comments before the rows.
func (b *Baseline) Text(comments ...string) string {
	var out strings.Builder
	for _, c := range comments {
		out.WriteString("# " + c + "\n")
	}
	if len(b.Expected) == 0 {
		return out.String() + "expected: []\n"
	}
	out.WriteString("expected:\n")
	for _, e := range b.Expected {
		lead := "  - "
		add := func(key, value string, quoted bool) {
			if value == "" {
				return
			}
			if quoted {
				value = quoteYAML(value)
			}
			out.WriteString(lead + key + ": " + value + "\n")
			lead = "    "
		}
		add("clause", e.Clause, false)
		add("role", e.Role, false)
		add("driver", e.Driver, false)
		if e.Flaky {
			add("flaky", "true", false)
		}
		add("reason", e.Reason, true)
		add("expires", e.Expires, false)
	}
	return out.String()
}

// quoteYAML returns a text as a YAML scalar on one line.
func quoteYAML(text string) string {
	b, err := yaml.MarshalWithOptions(text, yaml.JSON())
	if err != nil {
		return fmt.Sprintf("%q", text)
	}
	return strings.TrimSpace(string(b))
}

// DropRows returns the text of a baseline without some of its rows, which are numbered from 0. All other lines stay
// as they are: comments, order, blank lines. It fails if the rows do not stand on lines of their own.
func DropRows(text []byte, drop func(row int) bool) ([]byte, error) {
	before, err := ParseBaseline(text)
	if err != nil {
		return nil, err
	}
	var wanted []Expected
	for i, e := range before.Expected {
		if !drop(i) {
			wanted = append(wanted, e)
		}
	}
	if len(wanted) == len(before.Expected) {
		return text, nil
	}
	out := withoutRows(text, drop, len(wanted) == 0)
	if after, err := ParseBaseline(out); err != nil || !slices.Equal(after.Expected, wanted) {
		return nil, errRowLines
	}
	return out, nil
}

var errRowLines = errors.New("the rows cannot be dropped one by one: " +
	"write each on lines of its own, beginning with \"- \"")

// withoutRows removes the lines of rows; empty says that no row remains.
func withoutRows(text []byte, drop func(int) bool, empty bool) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	gone := make([]bool, len(lines))
	for i, row := range rowLines(lines) {
		for n := row.first; drop(i) && n <= row.last; n++ {
			gone[n] = true
		}
	}
	var out []byte
	for i, line := range lines {
		if empty && bytes.HasPrefix(line, []byte("expected:")) {
			line = bytes.Replace(line, []byte("expected:"), []byte("expected: []"), 1)
		}
		if !gone[i] {
			out = append(out, line...)
		}
	}
	return out
}

// rowSpan is the lines of a row, numbered from 0, without blank lines and comments behind it.
type rowSpan struct{ first, last int }

// rowLines finds the rows of a block sequence by their indentation.
func rowLines(lines [][]byte) (rows []rowSpan) {
	dash, inside := -1, false
	for i, line := range lines {
		text := bytes.TrimRight(line, " \t\r\n")
		words := bytes.TrimLeft(text, " ")
		indent := len(text) - len(words)
		switch {
		case len(words) == 0 || words[0] == '#':
		case bytes.HasPrefix(text, []byte("expected:")):
			inside = true
		case !inside:
		case bytes.HasPrefix(words, []byte("-")) && (dash < 0 || indent == dash):
			dash = indent
			rows = append(rows, rowSpan{i, i})
		case dash < 0 || indent <= dash:
			inside = false
		default:
			rows[len(rows)-1].last = i
		}
	}
	return rows
}
