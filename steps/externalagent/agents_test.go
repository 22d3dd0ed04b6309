package externalagent

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/target"
)

const (
	awaits  = "Given a host awaits the agent\n"
	started = "When the agent is started\n"

	anything = "*" // monitor findings depend on which messages cross
)

// TestAConformantAgent checks that an agent that acts on its messages passes every scenario of the suite, and that
// no monitor finds anything.
func TestAConformantAgent(t *testing.T) {
	env := environment(t, vocab.Agent, &peer{})
	env.Profile.Capabilities = []string{binding.Reconnect}
	env.Profile.Limits.Quiet.Duration, env.Profile.Limits.Event.Duration = 9*soon, patience
	binding.Of(env.Profile).Agent.Join.Duration, binding.Of(env.Profile).Agent.Pace.Duration = patience, patience
	conform(t, env, &called{}, 40)
}

var agentsRows = []struct {
	reason, lines string
	mind          mind
	want, has     string
	monitors      string // clauses that monitors find broken
}{
	{"it connects and joins", awaits + started +
		"Then the agent connects\nAnd the agent joins\nAnd the agent sends the host a message\nAnd the agent makes 1 " +
		"call\nAnd the agent completes the booking\nAnd the agent ends the session\n", mind{},
		"EA-016=passed EA-017=passed EA-026=passed EA-103=passed EA-106=passed", "", ""},
	{"the host does not await it yet", started + "Then the agent joins\n", mind{}, "EA-026=passed", "", ""},
	{"it fails before it connects", awaits + started + "Then the agent connects\n", mind{offline: true},
		"EA-016=environment-error", "the agent's process has ended: it has had enough; on its stderr: its last words", ""},
	{"it fails before it joins", awaits + started + "Then the agent joins\n", mind{offline: true},
		"EA-026=environment-error EA-027=environment-error", "it has had enough", ""},
	{"it fails before it says anything", awaits + started + "Then the agent sends the host a message\n",
		mind{offline: true},
		"EA-103=environment-error", "it has had enough", ""},
	{"it asks for another place", awaits + started + "Then the agent connects\n", mind{astray: true},
		"EA-016=failed EA-017=failed EA-106=failed", "it asked for GET /elsewhere: 404; the endpoint is /agent/ws", ""},
	{"it does not join", awaits + started + "Then the agent joins\n", mind{mute: true}, "EA-026=failed EA-027=failed",
		"has ended", ""}, // the connection or the process, whichever is seen first
	{"it speaks before it joins", awaits + started + "Then the agent joins\n", mind{early: vocab.SnapshotGet},
		"EA-026=failed EA-027=not-tested", "snapshot.get", "EA-026"},
	{"it does not wait until it has joined", awaits + "And relay.joined comes late\n" + started +
		"Then the agent sends the host a message\n", mind{hasty: true}, "EA-103=passed", "", "EA-026"},
	{"it says nothing to the host", awaits + started + "Then the agent sends the host a message\n", mind{silent: true},
		"EA-103=not-tested", "the agent's process has ended", ""},
	{"it makes no calls", awaits + started + "Then the agent makes 1 call\n", mind{silent: true}, "EA-033=not-tested",
		"made 0 of 1 calls", ""},
	{"it does not end the session", awaits + "And call 1 is refused with \"INVALID_PARAMS\"\n" + started +
		"Then the agent ends the session\n", mind{frail: true}, "EA-037=not-tested", "the agent does not send session.end",
		""},
	{"it says nothing to the participant", awaits + started + "Then the agent sends the participant a message\n",
		mind{well: true}, "EA-036=not-applicable", "the agent never sends agent.message", ""},
	{"it waits for the participant", awaits + started + "Then the agent sends the host a message\n", mind{shy: true},
		"EA-103=passed", "", ""},

	{"it gives up over a refusal", awaits + "And call 1 is refused with \"INVALID_PARAMS\"\n" + started +
		"Then the agent continues\n", mind{frail: true}, "EA-074a=warned", "the agent's process has ended", ""},
	{"its process dies of a refusal", awaits + "And call 1 is refused with \"INVALID_PARAMS\"\n" + started +
		"Then the agent continues\n", mind{frail: true}, "EA-074=failed EA-074a=warned",
		"an agent that keeps running after a message that the source allows", ""},
	{"its process ends well after a refusal", awaits + "And call 1 is refused with \"INVALID_PARAMS\"\n" + started +
		"Then the agent continues\n", mind{frail: true, well: true}, "EA-074=not-tested EA-074a=warned", "", ""},
	{"its process dies of a code that the source does not have", awaits +
		"And call 1 is refused with \"PARLEY_UNKNOWN\"\n" + started +
		"Then the agent continues\n", mind{frail: true}, "EA-074=not-tested EA-074a=warned", "", ""},
	{"it makes few calls, and has no need of the state", awaits + "And the state after call 2 is lost\n" + started +
		"Then the agent asks for a snapshot before its next call\n", mind{few: 2}, "EA-077=not-tested",
		"the agent sends nothing more", ""},
	{"it goes on after a refusal", awaits + "And call 1 is refused with \"INVALID_PARAMS\"\n" + started +
		"Then the agent continues\n", mind{}, "EA-074a=passed", "", ""},
	{"it gives up at a result that is not ok", awaits + "And call 1 is refused by a result with ok:false\n" + started +
		"Then the agent continues\n", mind{frail: true}, "EA-074a=warned", "", ""},
	{"it gives up over junk", awaits + "And the host sends malformed JSON before the first state\n" + started +
		"Then the agent continues with the messages that follow\n", mind{frail: true}, "EA-018a=warned",
		"the agent's process has ended", ""},
	{"it gives up over junk in a call", awaits + "And the host sends malformed JSON before the result of call 1\n" +
		started + "Then the agent continues with the messages that follow\n", mind{frail: true}, "EA-018a=warned",
		"the agent's process has ended", ""},
	{"it goes on after junk", awaits + "And the host sends malformed JSON before the result of call 1\n" + started +
		"Then the agent continues with the messages that follow\n", mind{}, "EA-018a=passed", "", ""},
	{"it goes on after junk before the first state", awaits +
		"And the host sends malformed JSON before the first state\n" + started +
		"Then the agent continues with the messages that follow\n", mind{},
		"EA-018a=passed", "", ""},
	{"it stops reading after junk, and keeps sending requests", awaits +
		"And the host sends malformed JSON before the result of call 1\n" + started +
		"Then the agent continues with the messages that follow\n",
		mind{deaf: true}, "EA-018a=warned", "snapshot.get", anything},
	{"it goes on after two refusals", awaits +
		"And call 1 is refused with \"INVALID_PARAMS\"\nAnd call 2 is refused by a result with ok:false\n" + started +
		"Then the agent continues\n", mind{}, "EA-074a=passed", "", ""},
	{"what it asked for is announced no longer", awaits +
		"And call 1 is refused, and is no longer announced\n" + started +
		"Then the agent acts on the latest state\n", mind{}, "EA-072=passed", "", ""},
	{"it asks for it again", awaits + "And call 1 is refused, and is no longer announced\n" + started +
		"Then the agent acts on the latest state\n", mind{fixed: true}, "EA-072=failed", "params that fit a state before it",
		"EA-081a"},

	{"it does not wait for the state", awaits + "And the state after call 2 comes late\n" + started +
		"Then the agent waits for the state\n", mind{blind: true}, "EA-054a=failed",
		"no call between an ok-only result and the state that follows it", anything},
	{"it is slow when the state comes late, and is tested again", awaits + "And the state after call 2 comes late\n" +
		started + "Then the agent waits for the state\n", mind{drowsy: true}, "EA-054a=passed",
		"its silence may be due to that", ""},
	{"it is slow, and does not wait for the next state", awaits + "And the state after call 2 comes late\n" +
		started + "Then the agent waits for the state\n", mind{drowsy: true, blind: true}, "EA-054a=failed",
		"no call between an ok-only result and the state that follows it", anything},
	{"it is slow when the participant speaks, and is tested again", awaits +
		"And the participant speaks during call 2, and its result and state come late\n" + started +
		"Then the agent waits for the state\n", mind{drowsy: true, well: true}, "EA-054a=passed",
		"its silence may be due to that", ""},
	{"it uses what was shown before", awaits +
		"And no uiSpec is shown for a while after call 2, while tools are announced\n" + started +
		"Then the agent uses only what is still shown\n", mind{kept: true},
		"EA-051=failed EA-072=failed EA-077=failed", "which only an earlier uiSpec contains", anything},
	{"it knows what was shown without being told", awaits +
		"And no uiSpec is shown for a while after call 2, while tools are announced\n" + started +
		"Then the agent uses only what is still shown\n", mind{restless: true}, "EA-077=not-tested",
		"it neither waited for the next one nor used a value that only an earlier one had (it made ", anything},
	{"it waits until something is shown", awaits +
		"And no uiSpec is shown for a while after call 2, while tools are announced\n" + started +
		"Then the agent uses only what is still shown\n", mind{}, "EA-051=passed EA-072=passed EA-077=passed",
		"", ""},
	{"it acts on what it knew before", awaits + "And the state after call 1 contradicts its result\n" + started +
		"Then the agent acts on the latest state\n", mind{stubborn: true}, "EA-051=failed EA-072=failed EA-077=failed",
		"which announces setQuantity, prev", "EA-096a"},
	{"it acts on the state", awaits + "And the state after call 1 contradicts its result\n" + started +
		"Then the agent acts on the latest state\n", mind{}, "EA-051=passed EA-072=passed EA-077=passed", "", ""},
	{"it calls while nothing is announced", awaits + "And no tool is announced for a while after call 1\n" + started +
		"Then the agent calls no tool meanwhile\n", mind{restless: true}, "EA-096a=warned EA-072=failed",
		"no call while toolSchema is empty", "EA-096a"},
	{"it calls so late that tools are announced again", awaits + "And no tool is announced for a while after call 1\n" +
		started + "Then the agent calls no tool meanwhile\n", mind{restless: true, starved: true},
		"EA-096a=warned EA-072=failed", "announced last before record", "EA-096a"},
	{"it is too slow to act meanwhile, and is tested again", awaits +
		"And no tool is announced for a while after call 1\n" + started + "Then the agent calls no tool meanwhile\n",
		mind{starved: true}, "EA-096a=passed EA-072=passed", "its silence may be due to that", ""},
	{"it calls nothing", awaits + "And no tool is announced for a while after call 1\n" + started +
		"Then the agent calls no tool meanwhile\n", mind{}, "EA-096a=passed EA-072=passed", "", ""},
	{"it requests a state that was lost", awaits + "And the state after call 2 is lost\n" + started +
		"Then the agent asks for a snapshot before its next call\n", mind{}, "EA-076=passed EA-077=passed", "", ""},
	{"it asks only after more than its pace", awaits + "And the state after call 2 is lost\n" + started +
		"Then the agent asks for a snapshot before its next call\n", mind{stale: 2500 * time.Millisecond, well: true},
		"EA-077=passed", "", ""},
	{"it waits for it, and goes on once it has come", awaits + "And the state after call 2 is lost\n" + started +
		"Then the agent asks for a snapshot before its next call\n", mind{stale: patience, well: true}, "EA-077=failed",
		"which is 3 times external-agent.agent.pace; once the state had come, it went on (if it asks later by itself, raise",
		""},
	{"it leaves while it waits for it", awaits + "And the state after call 2 is lost\n" + started +
		"Then the agent asks for a snapshot before its next call\n", mind{leaves: true, well: true}, "EA-077=not-tested",
		"the agent sends nothing more: its connection has ended: ", ""},
	{"it does not ask for it", awaits + "And the state after call 2 is lost\n" + started +
		"Then the agent asks for a snapshot before its next call\n", mind{blind: true}, "EA-076=failed EA-077=failed",
		"snapshot.get before the next tool.call", anything},

	{"it reconnects and asks for a snapshot", awaits + "And the connection is lost after call 1\n" + started +
		"Then the agent reconnects\nAnd the agent asks for a snapshot before its next call\n", mind{}, "EA-076=passed", "",
		""},
	{"it reconnects and does not ask", awaits + "And the connection is lost after call 1\n" + started +
		"Then the agent reconnects\nAnd the agent asks for a snapshot before its next call\n", mind{forget: true},
		"EA-076=failed", "snapshot.get before the next tool.call", "EA-076"},
	{"it stays away", awaits + "And the connection is lost after call 1\n" + started + "Then the agent reconnects\n",
		mind{stays: true}, "EA-076=failed", "the agent comes back, and relay.join is its first message", ""},
	{"it reconnects to another relay session", awaits + "And the connection is lost after call 1\n" + started +
		"Then the agent reconnects\n", mind{other: true}, "EA-076=not-tested", "", "EA-103"},
	{"it reconnects twice", awaits + "And the connection is lost after call 1\nAnd the connection is lost after call 2\n" +
		started + "Then the agent reconnects\nAnd the agent asks for a snapshot before its next call\n",
		mind{}, "EA-076=passed", "", ""},
	{"what went on without it", awaits + "And the connection is lost during call 1, and the booking goes on without " +
		"the agent\n" + started + "Then the agent reconnects\nAnd the agent asks for a snapshot before its next call\nAnd " +
		"the agent acts on the latest state\n", mind{}, "EA-076=passed EA-077=passed", "", ""},
}

func TestAgents(t *testing.T) {
	for _, r := range agentsRows {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			got := meet(t, r.mind, tagsOf(r.want), r.lines, func(env *steps.Env) {
				if strings.Contains(r.lines, " for a while ") && !r.mind.starved { // longer than a busy machine takes for a call
					env.Profile.Limits.Quiet.Duration = time.Second
				}
				if r.mind.drowsy { // the host takes a multiple of this agent's time
					env.Profile.Limits.Event.Duration = patience
				}
				if r.mind.shy || r.mind.astray || r.mind.few > 0 || r.mind.stale > 0 || r.mind.leaves { // it is silent for a while
					binding.Of(env.Profile).Agent.Pace.Duration, binding.Of(env.Profile).Agent.Join.Duration = 2*time.Second,
						2*time.Second
				}
			})
			expect(t, got, r.want, r.has)
			if r.monitors == anything {
				return
			}
			b := broken(got)
			for id := range strings.FieldsSeq(r.monitors) {
				if !slices.Contains(b, id) {
					t.Errorf("no monitor finds %s broken, but %v", id, b)
				}
			}
			if r.monitors == "" && len(b) > 0 {
				t.Errorf("monitors find %v broken", b)
			}
		})
	}
}

// TestNoReturn checks that an agent that is not declared to reconnect need not do so.
func TestNoReturn(t *testing.T) {
	got := meet(t, mind{stays: true}, "@EA-076",
		awaits+"And the connection is lost after call 1\n"+started+"Then the agent reconnects\n", func(env *steps.Env) {
			env.Profile.Capabilities = nil
		})
	expect(t, got, "EA-076=not-applicable", "the capability reconnect")
}

// TestNoAgent checks that an agent that cannot be started is an environment error or not tested, and that steps
// without an agent are our own mistake.
func TestNoAgent(t *testing.T) {
	for _, r := range []struct {
		reason string
		err    error
		want   verdict.Outcome
	}{
		{"no program", &target.StartError{Command: []string{"none"}, Reason: "cannot be started",
			Err: errors.New("no such file")}, verdict.EnvError},
		{"a hook fails", errors.New("the hook failed"), verdict.NotTested},
	} {
		env := environment(t, vocab.Agent, &peer{})
		if got := perform(t, env, &called{err: r.err}, "@EA-016", awaits+started); got.Outcome != r.want {
			t.Errorf("%s: %s: %s", r.reason, got.Outcome, got.Reason)
		}
	}
	env := environment(t, vocab.Agent, &peer{})
	for lines, want := range map[string]verdict.Outcome{
		"Given call 1 is refused with \"INVALID_PARAMS\"\n":           verdict.NotTested, // no host awaits an agent
		awaits + "And the host sends a smile after the first state\n": verdict.HarnessError,
	} {
		if got := perform(t, env, &called{}, "@EA-074a", lines); got.Outcome != want {
			t.Errorf("%q: %s: %s", lines, got.Outcome, got.Reason)
		}
	}
	if got := perform(t, env, &peer{}, "@EA-016", awaits+started); got.Outcome != verdict.NotTested {
		t.Errorf("a target that is no agent: %s: %s", got.Outcome, got.Reason)
	}
	binding.Of(env.Profile).Agent.Listen = "127.0.0.1:99999"
	expect(t, perform(t, env, &called{}, "@EA-016", awaits), "EA-016=not-tested",
		"the harness cannot listen for the agent")
}

// TestAnotherCallUnderWay checks that a call sent before the refusal was read does not show that an agent continues.
func TestAnotherCallUnderWay(t *testing.T) {
	const lines = awaits + "And call 1 is refused with \"INVALID_PARAMS\"\n" + started + "Then the agent continues\n"
	for _, r := range []struct {
		reason    string
		mind      mind
		want, has string
	}{
		{"it gives up", mind{frail: true, ahead: true}, "EA-074a=warned", "the agent's process has ended"},
		{"it stops", mind{deaf: true, ahead: true}, "EA-074a=not-tested", "before it read the refusal"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			got := meet(t, r.mind, "@EA-074a", lines, func(env *steps.Env) {
				binding.Of(env.Profile).Agent.Pace.Duration = 10 * time.Second // the silent agent uses all of it
			})
			expect(t, got, r.want, r.has)
		})
	}
}
