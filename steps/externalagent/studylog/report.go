package studylog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"parley/internal/words"
)

// Bounds of a check. What is beyond them is counted and told.
const (
	MaxLine     = 8 << 20 // bytes of a line that is read
	MaxFindings = 100     // failures of one clause that are kept

	maxSessions = 16      // ids that are told
	maxTracked  = 1 << 16 // sessions whose index is followed
	maxWindow   = 1 << 16 // different messages among which a line with the right direction is looked for
	maxOdd      = 1 << 12 // lines that are held against the messages that have none
	maxOddBytes = 16 << 20
)

// Options say what is known of a log.
type Options struct {
	// Session is the expected sessionId: lines with another one are not judged. "": every line is.
	Session string

	// Messages went over the wire in this session, in order, each once: from session.start to session.ended. nil: not
	// compared. Those of the relay, and any without a type, are left out of account.
	Messages []Message

	// Complete tells that the session has ended, so that the log has everything.
	Complete bool

	// Before is how many lines of the file come before what is read.
	Before int
}

// Message is one that the harness sent or received.
type Message struct {
	Direction string // from the host's view: in, out
	Type      string
	Payload   any // as wire/json decodes it
	Record    int // its number in the transcript

	// Optional: the log may do without it. Where a line stands for it, as far as that can be told, it has its payload.
	Optional bool
}

// Finding is that a line, or the log, breaks a clause; or, with OK, that it was judged and kept.
type Finding struct {
	Clause   string
	OK       bool
	Line     int    // from 1; with OK the first that kept the clause; 0: the log as a whole
	Record   int    // of the message that it is about, in the transcript; 0: none
	Expected string // "" with OK
	Observed string // with OK how often the clause was kept
}

// Note is what no clause says, and an author may want to know.
type Note struct {
	Line  int // the first; 0: the log as a whole
	Count int // how often
	Text  string
}

// String is the note on one line.
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
	Bytes int    // that there are of it
	Start string // the first of them, for a reader
}

// Tally counts how often a clause was kept and broken.
type Tally struct{ Kept, Broken int }

// Report is what is to be said of a log.
type Report struct {
	Findings []Finding        // first the failures, by line; then one with OK for each clause that was kept anywhere
	Dropped  int              // failures that are counted in Clauses and not kept, beyond MaxFindings of a clause
	Clauses  map[string]Tally // of every clause that was judged
	Notes    []Note
	Torn     *Torn // nil: there is none
	Session  string
	Sessions []string // the ids that stand in the log, in the order of their first lines, for a reader; at most 16
	Lines    int      // the torn one included
	Events   int      // lines that are an object
	Err      error    // reading failed: what came before is judged
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

// book takes what is found.
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

// kept says that a line keeps a clause.
func (b *book) kept(clause string, line int) {
	t := b.tallies[clause]
	if t.Kept++; t.Kept == 1 {
		b.first[clause] = line
	}
	b.tallies[clause] = t
}

// breaks says that something breaks a clause.
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

// note takes a remark; those with the same text are one.
func (b *book) note(line int, text string) {
	n := b.notes[text]
	if n == nil {
		n = &Note{Line: line, Text: text}
		b.notes[text] = n
	}
	n.Count++
}

// merge takes over what another book says.
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

// count is how often anything was broken.
func (b *book) count() (n int) {
	for _, t := range b.tallies {
		n += t.Broken
	}
	return n
}

// report writes down what was found.
func (b *book) report(r *Report) {
	r.Clauses, r.Dropped = b.tallies, b.dropped
	last := func(line int) int { // the log as a whole comes behind its lines
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
