package studylog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/internal/words"
	wjson "parley/transport/wire/json"
)

// The limits of a check. What exceeds them is counted and reported.
const (
	MaxLine     = 8 << 20 // maximum bytes of a line
	MaxFindings = 100     // failures kept per clause

	maxSessions = 16      // session ids reported
	maxTracked  = 1 << 16 // sessions whose index is checked
	maxWindow   = 1 << 16 // distinct messages within which a line with the right direction is searched
	maxOdd      = 1 << 12 // lines compared with the messages that have none
	maxOddBytes = 16 << 20
)

// Options say what is known about a log.
type Options struct {
	// Session is the expected sessionId: lines with another one are not judged. With "" every line is.
	Session string

	// Messages went over the wire in this session, in order and each once, from session.start to session.ended. nil means
	// that they are not compared. Messages of the relay and messages without a type are ignored.
	Messages []Message

	// Complete says that the session has ended, so that the log must be complete.
	Complete bool

	// Before is the number of lines of the file before the input.
	Before int
}

// Message is a message that the harness sent or received.
type Message struct {
	Direction string // from the host's view: in, out
	Type      string
	Payload   any // as decoded by transport/wire/json
	Record    int // its number in the transcript

	// Optional says that the log may omit the message. A line for it, as far as one can be matched, must have its
	// payload.
	Optional bool
}

// Finding says that a line, or the log, breaks a clause or, with OK, that the clause was judged and kept.
type Finding struct {
	Clause   string
	OK       bool
	Line     int    // from 1; with OK the first line that kept the clause; 0: the log as a whole
	Record   int    // number of its message in the transcript; 0: none
	Expected string // "" with OK
	Observed string // with OK how often the clause was kept
}

// Note is a remark for the log's author on what no clause covers.
type Note struct {
	Line  int // the first line; 0: the log as a whole
	Count int // how often
	Text  string
}

// String returns the note on one line.
func (n Note) String() string {
	text := n.Text
	if n.Line > 0 {
		text = fmt.Sprintf("line %d: %s", n.Line, text)
	}
	if n.Count > 1 {
		text += " (" + words.Counted(n.Count, "time") + ")"
	}
	return text
}

// Torn is the last line of a log whose writer was cut off.
type Torn struct {
	Line  int
	Bytes int    // of the line so far
	Start string // the first of these bytes, for display
}

// Tally counts how often a clause was kept and broken.
type Tally struct{ Kept, Broken int }

// Report is the result of a check.
type Report struct {
	Findings []Finding        // first the failures, by line; then one with OK for each clause that was kept anywhere
	Dropped  int              // failures beyond MaxFindings of a clause, which are counted in Clauses only
	Clauses  map[string]Tally // every judged clause
	Notes    []Note
	Torn     *Torn // nil: there is none
	Session  string
	Sessions []string // the first 16 ids in the log, in order of appearance, for display
	Lines    int      // including the torn one
	Events   int      // lines that are an object
	Err      error    // reading failed; earlier lines were judged
}

// Failed reports whether a clause was broken, or the log could not be read.
func (r Report) Failed() bool {
	for _, t := range r.Clauses {
		if t.Broken > 0 {
			return true
		}
	}
	return r.Err != nil
}

// book collects what is found.
type book struct {
	tallies map[string]Tally
	first   map[string]int // line that first kept a clause
	broken  []Finding
	dropped int
	notes   map[string]*Note
}

func newBook() *book {
	return &book{tallies: map[string]Tally{}, first: map[string]int{}, notes: map[string]*Note{}}
}

// kept records that a line keeps a clause.
func (b *book) kept(clause string, line int) {
	t := b.tallies[clause]
	if t.Kept++; t.Kept == 1 {
		b.first[clause] = line
	}
	b.tallies[clause] = t
}

// breaks records that a clause is broken.
func (b *book) breaks(f Finding) {
	t := b.tallies[f.Clause]
	t.Broken++
	b.tallies[f.Clause] = t
	if t.Broken > MaxFindings {
		b.dropped++
		return
	}
	b.broken = append(b.broken, f)
}

// note records a remark; remarks with the same text are merged.
func (b *book) note(line int, text string) {
	n := b.notes[text]
	if n == nil {
		n = &Note{Line: line, Text: text}
		b.notes[text] = n
	}
	n.Count++
}

// merge adds the contents of another book.
func (b *book) merge(other *book) {
	for clause, t := range other.tallies {
		sum := b.tallies[clause]
		if line, kept := other.first[clause]; kept && (sum.Kept == 0 || line < b.first[clause]) {
			b.first[clause] = line
		}
		b.tallies[clause] = Tally{sum.Kept + t.Kept, sum.Broken + t.Broken}
	}
	of := map[string]int{}
	for _, f := range b.broken {
		of[f.Clause]++
	}
	for _, f := range other.broken {
		if of[f.Clause]++; of[f.Clause] > MaxFindings {
			b.dropped++
			continue
		}
		b.broken = append(b.broken, f)
	}
	b.dropped += other.dropped
}

// count returns the number of failures.
func (b *book) count() (n int) {
	for _, t := range b.tallies {
		n += t.Broken
	}
	return n
}

// report writes the findings to a report.
func (b *book) report(r *Report) {
	r.Clauses, r.Dropped = b.tallies, b.dropped
	last := func(line int) int { // the log as a whole comes after its lines
		if line == 0 {
			return int(^uint(0) >> 1)
		}
		return line
	}
	slices.SortStableFunc(b.broken, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(last(x.Line), last(y.Line)), cmp.Compare(x.Clause, y.Clause),
			cmp.Compare(x.Record, y.Record))
	})
	r.Findings = b.broken
	for _, clause := range slices.Sorted(maps.Keys(b.tallies)) {
		if t := b.tallies[clause]; t.Kept > 0 {
			r.Findings = append(r.Findings, Finding{Clause: clause, OK: true, Line: b.first[clause],
				Observed: "kept " + words.Counted(t.Kept, "time")})
		}
	}
	for _, n := range b.notes {
		r.Notes = append(r.Notes, *n)
	}
	slices.SortFunc(r.Notes, func(x, y Note) int {
		return cmp.Or(cmp.Compare(last(x.Line), last(y.Line)), cmp.Compare(x.Text, y.Text))
	})
}

// show formats a value for display: on one line, short, and without control characters for a terminal.
func show(v any) string { return plain(wjson.Compact(v)) }

// plain returns the beginning of a text, with nothing but graphic characters.
func plain(text string) string {
	const most = 160
	var b strings.Builder
	for i, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if b.Len() > most || i > 4*most {
			b.WriteString("…")
			break
		}
		if strconv.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// begins returns the beginning of a line.
func begins(text []byte) string { return plain(string(text[:min(len(text), 1<<10)])) }

// field describes the content of a field.
func field(name string, v any, there bool) string {
	if !there {
		return "no " + name
	}
	if kind := wjson.Kind(v); kind != "null" {
		return fmt.Sprintf("%s %s (%s)", name, show(v), kind)
	}
	return name + " null"
}

// differ finds the first place, with keys in byte order, where two unequal values differ.
func differ(want, got any, pointer string) (at, wanted, found string) {
	switch w := want.(type) {
	case wjson.Object:
		g, ok := got.(wjson.Object)
		if !ok {
			break
		}
		keys := maps.Clone(w)
		maps.Copy(keys, g)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			below := pointer + wjson.FormatPointer(key)
			x, here := w[key]
			y, there := g[key]
			switch {
			case !there:
				return below, show(x), "nothing"
			case !here:
				return below, "nothing", show(y)
			case !wjson.Equal(x, y):
				return differ(x, y, below)
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			if !wjson.Equal(w[i], g[i]) {
				return differ(w[i], g[i], pointer+wjson.FormatPointer(strconv.Itoa(i)))
			}
		}
	}
	return pointer, show(want), show(got)
}
