package steps

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/features/verdict"
	"parley/transport/transcript"
)

const never = time.Hour

// awaits lets a world wait once for something that comes after a time, or never. It returns the length of the wait,
// and whether it succeeded.
func awaits(t *testing.T, w *World, kind string, comes time.Duration) (took time.Duration, came bool) {
	t.Helper()
	mark, begin := w.T.Len(), time.Now()
	timer := time.AfterFunc(comes, func() { appendReceived(w, "A", transcript.Stream, "yes") })
	defer timer.Stop()
	_, miss := w.Await(t.Context(), Wait{Conn: "A", After: mark, Greeting: mark == 0, Kind: kind, Match: labelled("yes")})
	return time.Since(begin), miss == nil
}

// TestKinds: misses of one kind shorten no waits of another, nor of a kind that has come late.
func TestKinds(t *testing.T) {
	const whole, part = 10 * time.Second, 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		for i, row := range []struct {
			kind  string
			comes time.Duration
			want  time.Duration
			came  bool
		}{
			{"list", 0, 0, true},
			{"switch", never, whole, false},
			{"switch", never, whole, false},
			{"switch", never, whole, false},
			{"switch", never, part, false},
			{"refusal", never, whole, false},
			{"refusal", 3 * time.Second, 3 * time.Second, true},
			{"switch", never, whole, false}, // four times the longest answer exceeds the limit
			{"refusal", never, whole, false},
			{"refusal", never, whole, false},
			{"refusal", never, whole, false},
			{"refusal", 9 * time.Second, 9 * time.Second, true}, // it has come before
		} {
			if took, came := awaits(t, w, row.kind, row.comes); took != row.want || came != row.came {
				t.Errorf("%d: a %s is awaited for %v, came %v; want %v", i, row.kind, took, came, row.want)
			}
		}
	})
}

// TestAtOnceOrNever: a kind that has only come at once and was missed three times gets less, until it comes later
// than at once.
func TestAtOnceOrNever(t *testing.T) {
	const whole, part = 10 * time.Second, 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		for i, row := range []struct{ comes, want time.Duration }{
			{0, 0}, {never, whole}, {400 * time.Millisecond, 400 * time.Millisecond}, {never, whole}, {never, whole},
			{never, part}, {0, 0}, {never, part},
			{600 * time.Millisecond, 600 * time.Millisecond}, {never, whole}, {9 * time.Second, 9 * time.Second},
		} {
			if took, came := awaits(t, w, "switch", row.comes); took != row.want || came != (row.comes != never) {
				t.Errorf("%d: awaited for %v, came %v; want %v", i, took, came, row.want)
			}
		}
	})
}

// TestBegunBefore: a wait in progress also ends once others of its kind were missed three times, and does not count
// as whole.
func TestBegunBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		awaits(t, w, "list", 0)
		var others sync.WaitGroup
		for range misses {
			other := NewWorld(w.Env, nil, "other", w.Tags, nil) // a world is used from one goroutine
			others.Go(func() { awaits(t, other, "switch", never) })
		}
		time.Sleep(7100 * time.Millisecond) // synthetic
		if took, came := awaits(t, w, "switch", never); took != 3*time.Second || came {
			t.Errorf("it was awaited for %v, came %v; the others had ended after 2.9s", took, came)
		}
		others.Wait()
		if n := w.Env.patience.awaitedKind("switch").missed; n != misses {
			t.Errorf("%d whole misses, want %d", n, misses)
		}
	})
}

// TestAfterAll: a kind that was missed three times and then comes within a shortened limit gets whole waits from then
// on.
func TestAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		awaits(t, w, "list", 0)
		for range misses {
			awaits(t, w, "switch", never)
		}
		if took, came := awaits(t, w, "switch", time.Second); took != time.Second || !came {
			t.Errorf("it came: %v, after %v", came, took)
		}
		if took, came := awaits(t, w, "switch", 5*time.Second); took != 5*time.Second || !came {
			t.Errorf("it came: %v, after %v; a kind that has come once is awaited for the whole limit", came, took)
		}
	})
}

// TestNeverAtAll: a kind that has never come, in six waits, gets a twentieth; once it comes, its waits are whole again.
func TestNeverAtAll(t *testing.T) {
	const whole, part, least = 10 * time.Second, 2 * time.Second, 500 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		for i, row := range []struct {
			kind        string
			comes, want time.Duration
		}{
			{"list", 0, 0},
			{"end", never, whole}, {"end", never, whole}, {"end", never, whole}, {"end", never, part}, {"end", never, part},
			{"end", never, part}, {"end", never, least}, {"end", 501 * time.Millisecond, least},
			{"end", 400 * time.Millisecond, 400 * time.Millisecond}, {"end", never, part},
			{"end", 600 * time.Millisecond, 600 * time.Millisecond}, {"end", never, whole},
			{"list", 0, 0},
		} {
			if took, _ := awaits(t, w, row.kind, row.comes); took != row.want {
				t.Errorf("%d: a %s is awaited for %v, want %v", i, row.kind, took, row.want)
			}
		}
	})
}

// TestRecentPace: a single slow answer makes later waits long only until 128 others have come.
func TestRecentPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		awaits(t, w, "list", time.Second)
		for range misses {
			awaits(t, w, "switch", never)
		}
		for i, want := range []time.Duration{4 * time.Second, 4 * time.Second, 2 * time.Second} {
			if took, _ := awaits(t, w, "switch", never); took != want {
				t.Errorf("%d: awaited for %v, want %v", i, took, want)
			}
			for range recent {
				awaits(t, w, "list", 0)
			}
		}
	})
}

// TestNothingAtAll: one miss is enough for a target that has sent nothing at all.
func TestNothingAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		awaits(t, w, "list", never)
		if took, _ := awaits(t, w, "list", never); took != 2*time.Second {
			t.Errorf("the second miss of a target that says nothing took %v", took)
		}
	})
}

// TestOwnLimit: a limit set by the profile is never shortened.
func TestOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		w.Env.Profile.Limits.Event.Duration = 9 * time.Second
		for range 5 {
			if took, _ := awaits(t, w, "list", never); took != 9*time.Second {
				t.Errorf("a wait took %v of 9s", took)
			}
		}
	})
}

// TestDecided: waits are shortened if all clauses of a scenario have already failed.
func TestDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001", "@AS-002")
		awaits(t, w, "list", 0)
		fails := func(id string, o verdict.Outcome) {
			w.Env.Judged(Result{Clauses: []verdict.Judgement{{Clause: id, Outcome: o}}})
		}
		fails("AS-001", verdict.Failed)
		fails("AS-002", verdict.NotTested)
		if took, _ := awaits(t, w, "switch", never); took != 10*time.Second || w.Limit(10*time.Second) != took {
			t.Errorf("with a clause that may still pass, a wait took %v", took)
		}
		fails("AS-002", verdict.Warned)
		if took, _ := awaits(t, w, "switch", never); took != 2*time.Second || w.Limit(10*time.Second) != took {
			t.Errorf("with nothing left to find out, a wait took %v", took)
		}
		w = NewWorld(w.Env, nil, "n", nil, nil)
		if took, _ := awaits(t, w, "refusal", never); took != 10*time.Second {
			t.Errorf("in a scenario without clauses, a wait took %v", took)
		}
	})
}

// fenced is awaits with a fence that is answered some time after it was sent.
func fenced(t *testing.T, w *World, comes, answered time.Duration) (took time.Duration, miss *verdict.Miss) {
	t.Helper()
	mark, begin := w.T.Len(), time.Now()
	timer := time.AfterFunc(comes, func() { appendReceived(w, "A", transcript.Stream, "yes") })
	defer timer.Stop()
	_, miss = w.Await(t.Context(), Wait{Conn: "A", After: mark, Greeting: mark == 0, Kind: "switch",
		Match: labelled("yes"),
		Fence: func(context.Context) func(*transcript.Record) bool {
			fence := time.AfterFunc(answered, func() { appendReceived(w, "A", transcript.Stream, "fence") })
			t.Cleanup(func() { fence.Stop() })
			return labelled("fence")
		}})
	return time.Since(begin), miss
}

// TestFence: the answer to a fence ends a wait once a whole wait has shown that nothing comes after it.
func TestFence(t *testing.T) {
	const whole = 10 * time.Second
	type row struct {
		comes, answered time.Duration
		want            time.Duration
		came            bool
	}
	for name, rows := range map[string][]row{
		"a target that loses an answer": {
			{0, never, 0, true},
			{never, time.Millisecond, whole, false}, // nothing is known yet
			{never, time.Millisecond, margin, false},
			{700 * time.Millisecond, time.Millisecond, 700 * time.Millisecond, true}, // after the answer, within the margin
			{never, time.Millisecond, whole, false},                                  // so answers overtake each other here
		},
		"a target that never sends an answer": {
			{never, time.Millisecond, whole, false},
			{never, time.Millisecond, margin, false},
			{never, time.Millisecond, margin, false},
			{never, time.Millisecond, margin / hurry, false},
			{150 * time.Millisecond, time.Millisecond, 150 * time.Millisecond, true}, // behind the fence's answer
			{never, time.Millisecond, whole, false},
		},
		"an unanswered fence": {
			{0, never, 0, true},
			{never, never, whole, false},
			{never, time.Millisecond, whole, false},
			{never, never, whole, false},
		},
		"a late answer to a fence": {
			{0, never, 0, true},
			{never, time.Millisecond, whole, false},
			{never, 3 * time.Second, grace + 3*time.Second, false},
		},
		"a target that handles messages in parallel": {
			{0, never, 0, true},
			{3 * time.Second, time.Millisecond, 3 * time.Second, true},
			{never, time.Millisecond, whole, false},
			{never, time.Millisecond, whole, false},
			{9 * time.Second, time.Millisecond, 9 * time.Second, true},
		},
		"a slow target": {
			{400 * time.Millisecond, never, 400 * time.Millisecond, true},
			{never, time.Millisecond, whole, false},
			{1500 * time.Millisecond, time.Millisecond, 1500 * time.Millisecond, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world(t, false, "@AS-001")
				for i, r := range rows {
					if took, miss := fenced(t, w, r.comes, r.answered); took != r.want || (miss == nil) != r.came {
						t.Errorf("%d: %v after %v; want %v", i, miss, took, r.want)
					}
				}
			})
		})
	}
}

// TestFamily: kinds of a family that never came share what two of them have shown of fences.
func TestFamily(t *testing.T) {
	const whole = 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		awaits(t, w, "list", 0)
		for i, row := range []struct {
			kind, family string
			comes, want  time.Duration
		}{
			{"a", "f", never, whole}, {"b", "f", never, whole}, {"c", "f", never, margin}, {"c", "", never, whole},
			{"d", "f", 700 * time.Millisecond, 700 * time.Millisecond},
		} {
			begin := time.Now()
			timer := time.AfterFunc(row.comes, func() { appendReceived(w, "A", transcript.Stream, "yes") })
			_, _ = w.Await(t.Context(), Wait{Conn: "A", After: w.T.Len(), Kind: row.kind, Family: row.family,
				Match: labelled("yes"), Fence: func(context.Context) func(*transcript.Record) bool {
					appendReceived(w, "A", transcript.Stream, "fence")
					return labelled("fence")
				}})
			timer.Stop()
			if took := time.Since(begin); took != row.want {
				t.Errorf("%d: %v, want %v", i, took, row.want)
			}
		}
		if _, closes := w.Env.patience.fenceEndsWait("e", "f"); closes {
			t.Error("something of the family has come, and still a fence ends the wait of another kind")
		}
	})
}

// TestNoFence: if no fence can be sent, the wait is whole.
func TestNoFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		awaits(t, w, "switch", 0)
		begin, calls := time.Now(), 0
		_, miss := w.Await(t.Context(), Wait{Conn: "A", After: 1, Match: labelled("yes"),
			Fence: func(context.Context) func(*transcript.Record) bool { calls++; return nil }})
		if took := time.Since(begin); took != 10*time.Second || miss == nil || calls != 1 {
			t.Errorf("%v after %v; the fence was asked for %d times", miss, took, calls)
		}
	})
}

// TestStepsAreKinds: a wait without a kind gets that of its step, regardless of the names in the step.
func TestStepsAreKinds(t *testing.T) {
	a := kindOf(withKind(t.Context(), `client A is refused with "agent_busy"`), Wait{})
	b := kindOf(withKind(t.Context(), `client B is refused with "agent_not_found"`), Wait{})
	c := kindOf(withKind(t.Context(), `client B receives the list of agents`), Wait{})
	if a != b || a == c || kindOf(t.Context(), Wait{Kind: "list"}) != "list" {
		t.Errorf("kinds %q, %q, %q", a, b, c)
	}
}

// TestStrayed: once an answer has reached a client of another scenario, scenarios beside others get a fifth of each
// limit, also for waits in progress, and nothing is learnt from their waits.
func TestStrayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		alone := NewWorld(w.Env, nil, "alone", nil, nil)
		w.beside = true
		awaits(t, w, "list", 0)
		timer := time.AfterFunc(5100*time.Millisecond, func() { alone.Strayed(Stray{Clauses: []string{"AS-095"}}) })
		defer timer.Stop()
		if took, came := awaits(t, w, "switch", never); took != 5500*time.Millisecond || came {
			t.Errorf("a wait that had begun took %v", took)
		}
		for range misses + 1 {
			if took, _ := awaits(t, w, "switch", never); took != 2*time.Second {
				t.Errorf("beside others, a wait took %v", took)
			}
		}
		if within, _ := w.AwaitModel(t.Context(),
			func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }); within != 4*time.Second {
			t.Errorf("beside others, the model was awaited for %v", within)
		}
		if took, _ := awaits(t, alone, "switch", never); took != 10*time.Second {
			t.Errorf("alone, a wait took %v", took)
		}
	})
}

// TestAwaitModel: a target that does not query its model costs three whole turns, and less from then on; waits
// interrupted by the end of the run do not count.
func TestAwaitModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world(t, false, "@AS-001")
		awaits(t, w, "list", 0)
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
			{"never asked", t.Context(), never, 20 * time.Second, false},
			{"never, again", t.Context(), never, 20 * time.Second, false},
			{"never, three times", t.Context(), never, 20 * time.Second, false},
			{"and once more", t.Context(), never, 4 * time.Second, false},
			{"asked at once", t.Context(), func(context.Context) error { return nil }, 4 * time.Second, true},
			{"never again: it comes at once, or not at all", t.Context(), never, 4 * time.Second, false},
		} {
			if within, err := w.AwaitModel(row.ctx, row.asked); within != row.want || (err == nil) != row.ok {
				t.Errorf("%s: %v within %v; want %v", row.what, err, within, row.want)
			}
		}
	})
}
