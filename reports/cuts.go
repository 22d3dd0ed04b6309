package reports

import "fmt"

// Cuts sums up a course whose connection was cut after each of its records, in one way. Each point is a scenario too.
type Cuts struct {
	Course  string     `json:"course"`
	Name    string     `json:"name"`
	Party   string     `json:"party"` // whose connection was cut
	Driver  string     `json:"driver"`
	By      string     `json:"by"`      // "reset", "close" or "kill"
	Points  int        `json:"points"`  // records of the course
	Reached int        `json:"reached"` // points at which the connection was cut
	Judged  int        `json:"judged"`  // points at which a clause was judged after that
	Broke   []CutPoint `json:"broke"`
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
func (c *Cuts) Text() string {
	return fmt.Sprintf("%d of %d points broke; %d were reached, %d judged", len(c.Broke), c.Points, c.Reached, c.Judged)
}
