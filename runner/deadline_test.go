package runner

import (
	"context"
	"testing"
	"time"

	"parley/steps/protocols"
)

// TestWithDeadline: the default grows with the limit of a scenario, and the cause of the end is told apart from an
// interrupt.
func TestWithDeadline(t *testing.T) {
	p := protocols.Kinds().New("agent-select")
	long := *p
	long.Limits.Scenario.Duration = 2 * time.Hour
	for _, row := range []struct {
		limit, want time.Duration
		profile     Options
	}{
		{0, DefaultDeadline, Options{Profile: p}},
		{0, 4 * time.Hour, Options{Profile: &long}},
		{time.Nanosecond, time.Nanosecond, Options{Profile: &long}},
	} {
		ctx, cancel := WithDeadline(t.Context(), row.limit, row.profile)
		if row.limit > 0 {
			<-ctx.Done()
			if late := tooLate(ctx); late == nil || late.limit != row.want || len(deadlineNotes(ctx)) != 1 {
				t.Errorf("after %v the cause is %v", row.limit, context.Cause(ctx))
			}
		} else if ctx.Err() != nil {
			t.Errorf("%v is over at once", row.want)
		}
		cancel()
	}
	ctx, cancel := WithDeadline(t.Context(), 0)
	cancel()
	if tooLate(ctx) != nil || len(deadlineNotes(ctx)) != 0 {
		t.Error("an interrupt is told as the deadline")
	}
}
