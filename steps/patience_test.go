package steps

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"parley/target"
)

func TestPatience(t *testing.T) {
	const turn, event = 20 * time.Second, 10 * time.Second
	env := &Env{Profile: target.Default()}
	wait := func(limit, took time.Duration, came bool) { env.patience.waited(limit, took, came) }
	want := func(when string, event, turn time.Duration) {
		t.Helper()
		if env.Event() != event || env.Turn() != turn {
			t.Errorf("%s: an event is waited for %v, a turn %v; want %v and %v", when, env.Event(), env.Turn(), event, turn)
		}
	}
	want("at first", event, turn)
	for range 100 {
		wait(150*time.Millisecond, 150*time.Millisecond, false)
	}
	want("short waits", event, turn)
	wait(event, time.Millisecond, true)
	wait(event, event, false)
	wait(event, event, false)
	want("twice in vain", event, turn)
	wait(event, 300*time.Millisecond, true)
	wait(event, event, false)
	want("three times in vain", event/5, turn/5)
	wait(turn, 2*time.Second, true)
	wait(event, time.Second, true)
	want("a slow target", 8*time.Second, 8*time.Second)
	wait(turn, 5*time.Second, true)
	want("a slower one", event, turn)

	env = &Env{Profile: target.Default()}
	wait(event, event, false)
	want("nothing ever came", event/5, turn/5)

	env.Profile.Limits.Event.Duration = 9 * time.Second
	want("a limit of its own", 9*time.Second, turn/5)
}

// TestAwaitModel: a model that is not asked costs a turn once, and less from then on; a run that ends says nothing.
func TestAwaitModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := &Env{Profile: target.Default()}
		never := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		over, end := context.WithCancel(t.Context())
		end()
		for _, row := range []struct {
			what  string
			ctx   context.Context
			asked func(context.Context) error
			want  time.Duration
			ok    bool
		}{
			{"the run is over", over, never, 20 * time.Second, false},
			{"asked at once", t.Context(), func(context.Context) error { return nil }, 20 * time.Second, true},
			{"never asked", t.Context(), never, 20 * time.Second, false},
			{"never, again", t.Context(), never, 20 * time.Second, false},
			{"never, three times", t.Context(), never, 20 * time.Second, false},
			{"and once more", t.Context(), never, 4 * time.Second, false},
		} {
			if within, err := env.AwaitModel(row.ctx, row.asked); within != row.want || (err == nil) != row.ok {
				t.Errorf("%s: %v within %v; want %v", row.what, err, within, row.want)
			}
		}
	})
}
