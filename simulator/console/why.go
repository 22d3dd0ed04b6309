package console

import (
	"net/http"

	"parley/features/verdict"
	"parley/reports"
	"parley/reports/diagnosis"
)

// Why says what may be behind the failure of a clause.
type Why struct {
	LooksLike []Likeness `json:"looks_like"` // known faults that break the clause in the same way, the nearest first
	Again     string     `json:"again"`      // the command that judges the clause again; "" if there is none
}

// Likeness is a known fault that a failure looks like.
type Likeness struct {
	Fault string `json:"fault"` // id of a mutant
	Why   string `json:"why"`   // why a real implementation would have this fault
}

// explainFailure answers with what may be behind the failures of a clause so far.
func (s *session) explainFailure(c *Console, r *http.Request) (any, error) {
	clause := r.FormValue("clause")
	shown := s.sessionView()
	out := Why{LooksLike: []Likeness{}}
	var failures []reports.Failure
	for _, f := range s.allFindings() {
		if f.Outcome != verdict.NotTested {
			failures = append(failures, reports.Failure{Clause: f.Clause, Expected: f.Expected, Observed: f.Observed})
		}
	}
	for _, l := range diagnosis.Resemble(s.protocol, shown.Role, clause, failures) {
		out.LooksLike = append(out.LooksLike, Likeness{l.Fault, l.Why})
	}
	if c.o.Again != nil {
		out.Again = s.redact(c.o.Again(shown, s.options.Strict, clause))
	}
	return out, nil
}
