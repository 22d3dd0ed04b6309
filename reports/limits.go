package reports

import (
	"fmt"
	"slices"
	"time"

	"parley/features/verdict"
	"parley/reports/lang"
)

// Limit is a time that exchanges of observed traffic may take, and whether they kept it. It is the user's: no clause
// says it.
type Limit struct {
	Type      string  `json:"type"` // of the message that begins the exchange
	Limit     float64 `json:"limit_ms"`
	Exchanges int     `json:"exchanges"` // that were timed; 0: the traffic never showed one
	Late      int     `json:"late"`
	Slowest   float64 `json:"slowest_ms"`
	Answered  bool    `json:"answered"`     // whether the slowest was answered at all
	At        string  `json:"at,omitempty"` // where the slowest began
}

// What FailOn may have beside the ids of clauses.
const (
	FailOnMust   = "must"   // a MUST is broken
	FailOnShould = "should" // or a SHOULD
	FailOnNone   = "none"   // nothing fails
)

// Fails reports whether the results are a failure: if they are non-conformant, or a threshold or limit was exceeded.
// FailOn narrows or widens that.
func (r *Results) Fails() bool {
	if slices.Contains(r.FailOn, FailOnNone) {
		return false
	}
	if len(r.Load.exceededThresholds()) > 0 || slices.ContainsFunc(r.Limits, Limit.exceeded) {
		return true
	}
	if len(r.FailOn) == 0 {
		return r.Verdict == verdict.NonConformant
	}
	for _, run := range r.Runs {
		for _, c := range run.Clauses {
			should := slices.Contains(r.FailOn, FailOnShould)
			switch {
			case c.Outcome == verdict.Failed && (should || slices.Contains(r.FailOn, FailOnMust)),
				c.Outcome == verdict.Warned && should,
				(c.Outcome == verdict.Failed || c.Outcome == verdict.Warned) && slices.Contains(r.FailOn, c.ID):
				return true
			}
		}
	}
	return false
}

func (l Limit) exceeded() bool { return l.Late > 0 }

// describe says how the limit was kept.
func (l Limit) describe(in lang.Lang) string {
	of := func(ms float64) string {
		d := time.Duration(ms * float64(time.Millisecond))
		if d > 10*time.Millisecond {
			d = d.Round(100 * time.Microsecond)
		}
		return d.String()
	}
	switch {
	case l.Exchanges == 0:
		return in.Say("%s was never shown with its answer, and %s are allowed", l.Type, of(l.Limit))
	case l.Late == 0:
		return in.Say("%s took at most %s, and %s are allowed", l.Type, of(l.Slowest), of(l.Limit))
	case !l.Answered:
		return in.Say("%s took longer than %s %d times of %d; one had no answer after %s (%s)", l.Type, of(l.Limit), l.Late,
			l.Exchanges, of(l.Slowest), l.At)
	default:
		return in.Say("%s took longer than %s %d times of %d; at most %s (%s)", l.Type, of(l.Limit), l.Late, l.Exchanges,
			of(l.Slowest), l.At)
	}
}

// limitCases returns a testcase for each limit.
func limitCases(limits []Limit) (out []junitCase) {
	for _, l := range limits {
		c := junitCase{Class: "limits", Name: l.Type + " within " + fmt.Sprint(l.Limit) + " ms", Time: seconds(l.Slowest),
			duration: l.Slowest}
		text := l.describe(lang.English)
		switch {
		case l.Exchanges == 0:
			c.Skipped = &junitSkipped{text}
		case l.exceeded():
			c.Failure = &junitTrouble{Message: text, Type: "limit", Text: text}
		}
		out = append(out, c)
	}
	return out
}
