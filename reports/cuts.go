package reports

import (
	"fmt"
	"strings"

	"parley/reports/lang"
)

// Cuts sums up a course whose connection was cut after each of its records, in one way. Each point is a scenario too.
type Cuts struct {
	Course  string     `json:"course"`
	Name    string     `json:"name"`
	Party   string     `json:"party"` // whose connection was cut
	Driver  string     `json:"driver"`
	By      string     `json:"by"`      // "reset", "close", "fin" or "kill"
	Points  int        `json:"points"`  // records of the course
	Reached int        `json:"reached"` // points at which the connection was cut
	Judged  int        `json:"judged"`  // points at which a clause was judged after that
	Broke   []CutPoint `json:"broke"`

	// The records of the course in order, and how the scenario ended that was cut after each; none unless a point
	// broke.
	Records []CutRecord `json:"records,omitempty"`
}

// CutRecord is a record of a course, and what a cut after it brought about.
type CutRecord struct {
	Sent    bool     `json:"sent,omitempty"` // by the harness
	Label   string   `json:"label"`
	How     string   `json:"how"` // a CutOutcome
	Clauses []string `json:"clauses,omitempty"`
}

// What a cut after a record brought about.
const (
	CutPassed    = "passed"
	CutBroke     = "broke"
	CutMissed    = "not reached"
	CutNotJudged = "not judged"
)

// Mark is how a record ends in a picture of the course.
func (r *CutRecord) Mark() string { return r.mark(lang.English) }

func (r *CutRecord) mark(l lang.Lang) string {
	switch r.How {
	case CutPassed:
		return "✓"
	case CutBroke:
		return "✗ " + strings.Join(r.Clauses, " ")
	}
	return "· " + l.Say(r.How)
}

// Line is the record as a line of a picture in text.
func (r *CutRecord) Line(at int, party string) string {
	arrow := "◀──"
	if r.Sent {
		arrow = "──▶"
	}
	return fmt.Sprintf("%4d %s %s %-24s %s", at, party, arrow, r.Label, r.Mark())
}

// CutPoint is a point at which a cut broke clauses.
type CutPoint struct {
	Record   int      `json:"record"` // number of the connection's record, from 1
	Scenario string   `json:"scenario"`
	Clauses  []string `json:"clauses"`
}

// Count counts one more point. A point that was not reached is not judged.
func (c *Cuts) Count(reached, judged bool) {
	if reached {
		c.Reached++
	}
	if reached && judged {
		c.Judged++
	}
}

// Text says in words what was found.
func (c *Cuts) Text() string { return c.TextIn(lang.English) }

// TextIn is Text in a language.
func (c *Cuts) TextIn(l lang.Lang) string {
	return l.Say("%d of %d points broke; %d were reached, %d judged", len(c.Broke), c.Points, c.Reached, c.Judged)
}
