package steps

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimit(t *testing.T) {
	over := errors.New("over")
	for _, row := range []struct {
		name    string
		stall   time.Duration // measured after a second of the wait
		ends    time.Duration
		reasons string
	}{
		{"no stall", 0, 2 * time.Second, "the limit is the limit"},
		{"a stall", 3 * time.Second, 5 * time.Second, "what the harness lost is added"},
		{"an endless stall", time.Hour, 8 * time.Second, "four times the limit, and no more"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := withLimit(t.Context(), 2*time.Second, over)
				defer cancel()
				stalling := time.AfterFunc(time.Second, func() { stalled.Add(int64(row.stall)) })
				defer stalling.Stop()
				<-ctx.Done()
				if took := time.Since(start); took != row.ends || !errors.Is(context.Cause(ctx), over) {
					t.Errorf("ended after %v by %v, want %v (%s)", took, context.Cause(ctx), row.ends, row.reasons)
				}
			})
		})
	}
}

func TestLimitCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, stop := context.WithCancel(t.Context())
		ctx, cancel := withLimit(parent, time.Hour, errors.New("over"))
		defer cancel()
		stop()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
	})
}
