package verdict

import (
	"fmt"
	"time"

	"parley/internal/yamltext"
)

// Baseline names clauses that are known to fail, each with its reason and an optional last day.
type Baseline struct {
	Expected []Expected `yaml:"expected"`
}

// Expected is one row of a baseline.
type Expected struct {
	Clause  string `yaml:"clause"`
	Reason  string `yaml:"reason"`
	Expires string `yaml:"expires"` // YYYY-MM-DD, the last day on which the row applies; "" for no end
}

// ParseBaseline reads a baseline strictly.
func ParseBaseline(b []byte) (*Baseline, error) {
	out := &Baseline{}
	if err := yamltext.Strict(b, out); err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	seen := map[string]bool{}
	for _, e := range out.Expected {
		switch {
		case !clauseID.MatchString(e.Clause):
			return nil, fmt.Errorf("baseline: clause %q is not a clause id (such as AS-042)", e.Clause)
		case e.Reason == "":
			return nil, fmt.Errorf("baseline: %s needs a reason", e.Clause)
		case seen[e.Clause]:
			return nil, fmt.Errorf("baseline: %s is listed twice", e.Clause)
		}
		if _, err := e.last(); err != nil {
			return nil, fmt.Errorf("baseline: %s: expires %q is not a date (YYYY-MM-DD)", e.Clause, e.Expires)
		}
		seen[e.Clause] = true
	}
	return out, nil
}

// last returns the moment, in UTC, from which the row no longer applies; the zero time if it has no end.
func (e Expected) last() (time.Time, error) {
	if e.Expires == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, e.Expires)
	return t.AddDate(0, 0, 1), err
}

// States of a baseline row after it was applied.
const (
	RowApplied = "applied"        // the clause fails, as expected
	RowStale   = "stale"          // the clause passes: remove the row
	RowExpired = "expired"        // the row has expired: the failure counts
	RowUnknown = "unknown clause" // this run has no such clause
	RowUnused  = "not tested"     // the clause was not judged
)

// Apply returns the outcome of a clause with the row applied, and the row's state.
func (e Expected) Apply(o Outcome, known bool, now time.Time) (Outcome, string) {
	end, _ := e.last()
	switch {
	case !known:
		return o, RowUnknown
	case !end.IsZero() && !now.Before(end):
		return o, RowExpired
	case o == Failed || o == Warned:
		return ExpectedFail, RowApplied
	case o == Passed:
		return UnexpectedPass, RowStale
	}
	return o, RowUnused
}
