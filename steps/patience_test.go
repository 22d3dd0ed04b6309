package steps

import (
	"testing"
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
