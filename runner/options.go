package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps"
	"parley/target"
)

// recordedOptions returns the options that results record.
func (r *run) recordedOptions() *reports.Options {
	o := &reports.Options{AllowIncomplete: r.o.AllowIncomplete, Baseline: r.o.Baseline != nil, Faults: r.o.Faults != nil,
		Explore: r.o.Explore, CutPoints: r.o.CutPoints}
	for _, f := range r.o.Own {
		o.Features = append(o.Features, f.Path)
	}
	return o
}

// eitherOptions returns the options of two runs of one command, which may differ in their baselines.
func eitherOptions(a, b *reports.Options) *reports.Options {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	both := *a
	both.Baseline = a.Baseline || b.Baseline
	return &both
}

func originOf(p *target.Profile) reports.Origin {
	switch {
	case p.Bundled:
		return reports.FromBundle
	case p.Path != "":
		return reports.FromProfile
	default:
		return reports.FromAddress
	}
}

// DefaultDeadline is the deadline of a command's runs, unless a scenario alone may take longer.
const DefaultDeadline = 30 * time.Minute

// errDeadline is the cause of the end of a context of WithDeadline.
type errDeadline struct{ limit time.Duration }

func (e *errDeadline) Error() string {
	return "the deadline of the run was over, after " + e.limit.String() + " (--deadline)"
}

// WithDeadline bounds runs, whatever their targets do. Scenarios that are running then are cut off, and those that have
// not begun are not tested; the results say why. Other than a limit it counts all time, also that in which this process
// could not run: who sets it has no more. 0 means DefaultDeadline, or, if that is more, twice the longest
// scenario that a profile allows.
func WithDeadline(ctx context.Context, limit time.Duration, runs ...Options) (context.Context, context.CancelFunc) {
	if limit == 0 {
		limit = DefaultDeadline
		for _, o := range runs {
			limit = max(limit, 2*o.Profile.Limits.Scenario.Duration)
		}
	}
	return context.WithTimeoutCause(ctx, limit, &errDeadline{limit})
}

// tooLate returns why a run ended before its end, if its deadline is the reason; nil if not.
func tooLate(ctx context.Context) *errDeadline {
	var late *errDeadline
	errors.As(context.Cause(ctx), &late)
	return late
}

// deadlineNotes are the notes of a run that its deadline ended.
func deadlineNotes(ctx context.Context) []reports.Note {
	if late := tooLate(ctx); late != nil {
		return []reports.Note{{Kind: "target", Text: late.Error() + "; what had not been judged by then is not tested"}}
	}
	return nil
}

// roleOf determines the role of a run's target.
func roleOf(p steps.Protocol, o Options) (string, error) {
	known := steps.Roles(p)
	role := cmp.Or(o.Role, o.Profile.Role, known[0])
	if !slices.Contains(known, role) {
		return "", &UsageError{Msg: fmt.Sprintf("%s has no role %q (known: %s)", steps.Name(p), role,
			strings.Join(known, ", "))}
	}
	return role, nil
}

// isJudged reports whether a clause applies to targets of the run's role, or is judged of the client that it is about.
func (r *run) isJudged(id string) bool {
	if r.client != nil {
		return r.client[id]
	}
	return len(steps.Roles(r.protocol)) == 1 || slices.Contains(r.concerned[id], r.role)
}

// roleName is the prefix of scenario ids in transcript names: the role, if the protocol has several.
func (r *run) roleName() string {
	if len(steps.Roles(r.protocol)) == 1 {
		return ""
	}
	return r.role + "-"
}

// forRole returns the scenarios that apply to targets of a role.
func forRole(p steps.Protocol, role string, all []Planned) []Planned {
	if len(steps.Roles(p)) == 1 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(pl Planned) bool { return !pl.hasTag("@" + role) })
}

// rolesByClause returns for each clause the roles of the targets to which it applies.
func rolesByClause(p steps.Protocol, all []Planned) map[string][]string {
	out := map[string][]string{}
	for _, role := range steps.Roles(p) {
		of := map[string]bool{}
		for _, pl := range forRole(p, role, all) {
			for _, id := range pl.Clauses {
				of[id] = true
			}
		}
		for _, m := range p.Monitors() {
			if !m.For(role) {
				continue
			}
			for _, id := range m.Clauses {
				of[id] = true
			}
		}
		for id := range of {
			out[id] = append(out[id], role)
		}
	}
	return out
}

// FailFast ends the runs that share it at the first failed clause: scenarios that have not begun then are not tested.
// What is repeated because something else may have caused its failure still runs. It is safe for concurrent use.
type FailFast struct {
	mu  sync.Mutex
	why string
}

// beforeFailure is what a run that was ended has judged.
const beforeFailure = "what came before the first failure (--fail-fast)"

// Why says which failure ended the runs; "" for none. A nil FailFast ends none.
func (f *FailFast) Why() string {
	if f == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why
}

// noteFailure notes a failure of a clause in a scenario; the first one counts.
func (f *FailFast) noteFailure(clause, scenario string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why == "" {
		f.why = "not run: --fail-fast ended the run when " + scenario + " broke " + clause
	}
}

// failFast ends the run if a judgement is a failure that the baseline does not expect.
func (r *run) failFast(judged []verdict.Judgement) {
	if r.o.FailFast == nil {
		return
	}
	for _, j := range judged {
		if j.Outcome == verdict.Failed && !r.isExpected(j) {
			r.o.FailFast.noteFailure(j.Clause, j.Scenario)
			return
		}
	}
}

// isExpected reports whether the baseline has a row about a clause that fails over a driver.
func (r *run) isExpected(j verdict.Judgement) bool {
	if r.o.Baseline == nil {
		return false
	}
	for _, e := range r.o.Baseline.Expected {
		if e.Clause == j.Clause && e.About(r.role) && (e.Driver == "" || e.Driver == j.Driver) {
			return true
		}
	}
	return false
}
