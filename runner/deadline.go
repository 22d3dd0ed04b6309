package runner

import (
	"context"
	"errors"
	"time"

	"parley/reports"
)

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
