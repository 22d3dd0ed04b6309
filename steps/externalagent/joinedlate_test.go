package externalagent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/transport/transcript"
)

// TestWaitsToJoin checks that an agent passes for waiting only if it would otherwise have acted before relay.joined.
// The time it takes for its first act is known from scenarios with a prompt relay.joined.
func TestWaitsToJoin(t *testing.T) {
	const quiet, slow = 250 * time.Millisecond, 300 * time.Millisecond
	late := awaits + "And relay.joined comes late\n" + started + "Then the agent waits until it has joined\n"
	for _, r := range []struct {
		reason    string
		mind      mind
		met       bool          // in a scenario with a prompt relay.joined
		event     time.Duration // the event limit, which bounds how long relay.joined is held back
		want, has string
	}{
		{"it waits", mind{}, true, patience, "EA-026=passed", ""},
		{"it does not", mind{hasty: true}, false, patience, "EA-026=failed", "the agent has not joined yet in"},
		{"it waits, and nothing is known of it", mind{}, false, patience, "EA-026=not-tested", "no scenario has shown"},
		{"it is known to be slow, and waits", mind{dozy: slow}, true, patience, "EA-026=passed", ""},
		{"it is known to be slow, and does not wait", mind{dozy: slow, hasty: true}, true, patience, "EA-026=failed",
			"the agent has not joined yet in"},
		{"it is slower than it can be shown to be, and waits", mind{dozy: slow}, true, slow, "EA-026=not-tested",
			"delayed for twice as long: its silence may be due to that"},
		{"it is slower than it can be shown to be, and does not wait", mind{dozy: slow, hasty: true}, true, slow - quiet/5,
			"EA-026=not-tested", "its silence may be due to that"},
		{"it does not join", mind{mute: true}, false, patience, "EA-026=not-tested", "the agent has not joined"},
		{"it sends nothing more", mind{silent: true}, false, patience, "EA-026=not-tested", "process has ended"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			var met *promptness
			if r.met {
				meet(t, r.mind, "@EA-103", awaits+started+"Then the agent sends the host a message\n", func(env *steps.Env) {
					met = &promptness{}
					env.Learnt.Store((*promptness)(nil), met)
				})
			}
			got := meet(t, r.mind, tagsOf(r.want), late, func(env *steps.Env) {
				env.Profile.Limits.Quiet.Duration, env.Profile.Limits.Event.Duration = quiet, r.event
				if met != nil {
					env.Learnt.Store((*promptness)(nil), met)
				}
			})
			expect(t, got, r.want, r.has)
			another := func(rec transcript.Record) bool { return rec.Label == model.AnotherAgent }
			if more := slices.ContainsFunc(got.Records, another); more != strings.Contains(r.has, "its silence") {
				t.Errorf("the transcript says that another agent was started: %v", more)
			}
		})
	}
}
