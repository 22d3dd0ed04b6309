package sessionruntime

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/sessionruntime/binding"
	"parley/target"
	"parley/transport/driver"
)

const (
	given  = "Given a session of agents \"a\", \"b\" and \"c\" where agent \"a\" is active\n"
	speaks = given + "And agent \"a\" is speaking in \"t1\"\n"
	prompt = speaks +
		"When agent \"a\" ends \"t1\"\nAnd agent \"a\" asks to hand \"t1\" over to agent \"b\"\n" +
		"Then the user is asked whether agent \"b\" may take over \"t1\"\n"
	left  = given + "When the user removes agent \"b\"\nThen SessionManager is asked to remove agent \"b\"\n"
	came  = given + "When the user invites agent \"d\"\nThen SessionManager is asked to add agent \"d\"\n"
	hasty = "Given a short limit for acknowledgements of inputs\n" +
		"And a short limit for confirmations of cancels\n"
)

var stepsRows = []struct {
	reason string
	lines  string
	fault  string // see scripted
	broken string // broken clauses, which are also tags; "" is none
	tags   string // further tags, not broken
}{
	{reason: "no bus answers the set-up", lines: given, fault: "dumb", broken: "RT-013"},
	{reason: "an input is lost", lines: given + `When the user says "t1"` + "\n" + `Then "t1" reaches agent "a"`,
		fault: "drop USER_INPUT", broken: "RT-001 RT-015 RT-075", tags: "RT-069"},
	{reason: "an input goes elsewhere", lines: given + `When the user says "t1"` + "\n" + `Then "t1" reaches agent "a"`,
		fault: "set USER_INPUT target_id=agent-b", broken: "RT-069 RT-015"},
	{reason: "an input goes twice", lines: given + `When the user says "t1"` + "\n" + `Then "t1" reaches agent "a"`,
		fault: "twice USER_INPUT", broken: "RT-075"},
	{reason: "an input without its turn_id", lines: given + `When the user says "t1"` + "\n" +
		`Then "t1" reaches agent "a"`, fault: "set USER_INPUT metadata/turn_id=-", broken: "RT-072 RT-053"},
	{reason: "a payload is changed", lines: given + `When the user says "t1" with a structured payload`,
		fault: "set USER_INPUT payload/attachments=-", broken: "RT-068"},
	{reason: "deep and odd values are changed", lines: given + `When the user says "t1" with deep and odd values`,
		fault: "set USER_INPUT payload/list=-", broken: "RT-068"},
	{reason: "the sender's metadata is lost", lines: given + `When the user says "t1" with metadata of its own`,
		fault: "set USER_INPUT metadata/client=-", broken: "RT-068"},
	{reason: "an own turn_id is replaced", lines: given + `When the user says "t1" with a turn_id of its own`,
		fault: "set USER_INPUT metadata/turn_id=mine", broken: "RT-072"},
	{reason: "an own trace_id is replaced", lines: given + `When the user says "t1" with a trace_id of its own`,
		fault: "set USER_INPUT metadata/trace_id=mine", broken: "RT-072"},
	{reason: "it is not accepted", lines: given + `When the user says "t1"` + "\n" + `Then "t1" is accepted`,
		fault: "drop TURN_ACCEPTED", broken: "RT-009 RT-074 RT-076"},
	{reason: "it is accepted for another agent", lines: given + `When the user says "t1"` + "\n" +
		`Then "t1" reaches agent "a"` + "\n" + `And "t1" is accepted`,
		fault: "set TURN_ACCEPTED payload/target_agent=agent-b", broken: "RT-076 RT-055", tags: "RT-074"},
	{reason: "no agent is active, and the input is lost",
		lines: "Given a session of agents \"a\" and \"b\" where nobody is active\nWhen the user says \"t1\"\n" +
			"Then \"t1\" reaches an agent, or SessionManager is asked for one", fault: "drop USER_INPUT",
		broken: "RT-070"},
	{reason: "an agent not in the session gets it", lines: given +
		`When the user mentions agent "x" in "t1" by its payload` + "\n" + `Then "t1" reaches no agent`,
		fault: "also USER_INPUT - AGENT behind AGENT_NOT_IN_SESSION", tags: "RT-028"},
	{reason: "an agent not in the session, and nothing is said", lines: given +
		`When the user mentions agent "x" in "t1" by a choice in the interface` + "\n" +
		`Then SessionManager is asked for agent "x", or the frontend is told of an error`, fault: "drop AGENT_NOT_IN_SESSION",
		broken: "RT-087", tags: "RT-086"},
	{reason: "a mention by its subtype is not reported", lines: given +
		`When the user mentions agent "b" in "t1" by its subtype` + "\n" +
		`Then a switch from agent "a" to agent "b" is announced`, fault: "drop SWITCH_AGENT", broken: "RT-089 RT-065"},
	{reason: "no time-out", lines: hasty + given +
		"When the user says \"t1\"\nThen \"t1\" reaches agent \"a\"\nAnd the frontend is told that \"t1\" has timed out",
		fault: "drop ROUTE_TIMEOUT", broken: "RT-077 RT-078", tags: "RT-075"},
	{reason: "a time-out twice", lines: hasty + given +
		"When the user says \"t1\"\nThen \"t1\" reaches agent \"a\"\nAnd the frontend is told that \"t1\" has timed out",
		fault: "twice ROUTE_TIMEOUT", broken: "RT-078"},
	{reason: "a time-out, and no limit was short", lines: given +
		"When the user says \"t1\"\nThen no ROUTE_TIMEOUT is published",
		fault: "also ERROR ROUTE_TIMEOUT FRONTEND behind USER_INPUT", broken: "RT-077"},

	{reason: "output is lost", lines: speaks, fault: "drop AGENT_OUTPUT", broken: "RT-002 RT-139", tags: "RT-150"},
	{reason: "output is changed", lines: speaks + `When agent "a" sends a chunk with odd values of "t1"`,
		fault: "set AGENT_OUTPUT payload/tool_calls=-", broken: "RT-148"},
	{reason: "its metadata is changed", lines: speaks + `When agent "a" sends the final with odd values of "t1"`,
		fault: "set AGENT_OUTPUT metadata/model/name=other", broken: "RT-149"},
	{reason: "output is forwarded twice", lines: speaks, fault: "twice AGENT_OUTPUT", broken: "RT-002"},
	{reason: "a confirmation of nobody", lines: speaks +
		"When the user cancels\nThen agent \"a\" is asked to stop \"t1\"\nAnd no CANCELED is published",
		fault: "also EVENT CANCELED FRONTEND behind CANCEL", broken: "RT-100 RT-105"},
	{reason: "none is stopped", lines: speaks + "When the user interrupts\nThen agent \"a\" is asked to stop \"t1\"",
		fault: "drop CANCEL", broken: "RT-004 RT-095 RT-099", tags: "RT-050"},
	{reason: "another agent is stopped", lines: speaks +
		"When the user cancels\nThen agent \"a\" is asked to stop \"t1\"", fault: "set CANCEL target_id=agent-c",
		broken: "RT-050 RT-099"},
	{reason: "the cancel has no turn_id", lines: speaks +
		"When the user cancels\nThen agent \"a\" is asked to stop \"t1\"", fault: "set CANCEL metadata/turn_id=-",
		broken: "RT-099"},
	{reason: "it is not reported", lines: speaks +
		"When the user cancels\nThen agent \"a\" is asked to stop \"t1\"\n" +
		"When agent \"a\" has stopped the stream of \"t1\"\nThen the frontend is told that \"t1\" is cancelled",
		fault: "drop CANCELED", broken: "RT-102 RT-105"},
	{reason: "of two, one of another turn", lines: speaks +
		"When the user mentions agent \"b\" in \"t2\" by its payload\nThen \"t2\" runs at agent \"b\"\n" +
		"When agent \"b\" sends a chunk of \"t2\"\nThen the frontend receives the output of \"t2\"\n" +
		"When the user cancels\nThen the agent of \"t1\" or of \"t2\" is asked to stop",
		fault: "set CANCEL target_id=agent-c", broken: "RT-050 RT-099"},

	{reason: "a removal is not asked for", lines: left, fault: "drop REQUEST_REMOVE_AGENT", broken: "RT-008 RT-110"},
	{reason: "a removal without a reason", lines: left, fault: "set REQUEST_REMOVE_AGENT payload/reason=-",
		broken: "RT-110", tags: "RT-113"},
	{reason: "a removal is reported before its receipt", lines: left + "And no AGENT_REMOVED is published",
		fault: "also EVENT AGENT_REMOVED FRONTEND behind REQUEST_REMOVE_AGENT", broken: "RT-115 RT-116"},
	{reason: "a removal is not reported", lines: left +
		"When SessionManager says that agent \"b\" is removed\nThen the frontend is told that agent \"b\" is removed",
		fault: "drop AGENT_REMOVED", broken: "RT-044 RT-116"},
	{reason: "a failure is not reported", lines: left +
		"When SessionManager says that agent \"b\" could not be removed\n" +
		"Then the frontend is told that agent \"b\" could not be removed", fault: "drop REMOVE_AGENT_FAILED",
		broken: "RT-044 RT-117"},
	{reason: "no fallback", lines: given +
		"When the user removes agent \"a\"\nThen SessionManager is asked to remove agent \"a\"\n" +
		"When SessionManager says that agent \"a\" is removed\n" +
		"Then a switch from agent \"a\" to one of the others is announced", fault: "drop SWITCH_AGENT",
		broken: "RT-112 RT-065"},
	{reason: "a missing fallback", lines: given +
		"When the user removes agent \"a\"\nThen SessionManager is asked to remove agent \"a\"\n" +
		"When SessionManager says that agent \"a\" is removed\n" +
		"Then a switch from agent \"a\" to one of the others is announced", fault: "set SWITCH_AGENT payload/to=agent-x",
		broken: "RT-112"},
	{reason: "an invitation is not asked for", lines: came, fault: "drop REQUEST_ADD_AGENT", broken: "RT-033 RT-121"},
	{reason: "an invitation is reported before its receipt", lines: came + "And no AGENT_ADDED is published",
		fault: "also EVENT AGENT_ADDED FRONTEND behind REQUEST_ADD_AGENT", broken: "RT-126 RT-127"},
	{reason: "an invitation is not reported", lines: came +
		"When SessionManager says that agent \"d\" is added\nThen the frontend is told that agent \"d\" is added",
		fault: "drop AGENT_ADDED", broken: "RT-043 RT-127"},
	{reason: "its failure is not reported", lines: came +
		"When SessionManager says that agent \"d\" could not be added\n" +
		"Then the frontend is told that agent \"d\" could not be added", fault: "drop ADD_AGENT_FAILED", broken: "RT-043",
		tags: "RT-126"},
	{reason: "a switch is not reported", lines: given +
		"When the user switches to agent \"b\"\nThen a switch from agent \"a\" to agent \"b\" is announced",
		fault: "drop SWITCH_AGENT", broken: "RT-032 RT-065"},
	{reason: "a switch without a trigger", lines: given +
		"When the user switches to agent \"b\"\nThen a switch from agent \"a\" to agent \"b\" is announced",
		fault: "set SWITCH_AGENT payload/trigger=-", broken: "RT-066"},
	{reason: "a switch from another agent", lines: given +
		"When the user switches to agent \"b\"\nThen a switch from agent \"a\" to agent \"b\" is announced",
		fault: "set SWITCH_AGENT payload/from=agent-c", broken: "RT-066 RT-048"},
	{reason: "the next input is lost", lines: given + "Then the next input reaches agent \"a\"", fault: "drop USER_INPUT",
		broken: "RT-001 RT-075", tags: "RT-064"},

	{reason: "the user is not asked", lines: prompt, fault: "drop HANDOVER_UI_PROMPT", broken: "RT-007 RT-131"},
	{reason: "the prompt does not name the new agent", lines: prompt, fault: "set HANDOVER_UI_PROMPT payload/to=-",
		broken: "RT-132", tags: "RT-131"},
	{reason: "the prompt does not say who asks", lines: prompt, fault: "set HANDOVER_UI_PROMPT payload/from=-",
		broken: "RT-132", tags: "RT-131"},
	{reason: "switched before it is confirmed", lines: prompt + "And no SWITCH_AGENT is published",
		fault: "also CONTROL SWITCH_AGENT BROADCAST behind HANDOVER_UI_PROMPT", broken: "RT-133"},
	{reason: "a lost context", lines: prompt +
		"When the user confirms the handover of \"t1\"\nThen agent \"b\" gets the context of \"t1\"",
		fault: "drop HANDOVER_CONTEXT", broken: "RT-061 RT-135"},
	{reason: "a context without the agent's words", lines: prompt +
		"When the user confirms the handover of \"t1\"\nThen agent \"b\" gets the context of \"t1\"",
		fault: "set HANDOVER_CONTEXT payload/last=-", broken: "RT-129 RT-135"},
	{reason: "a context for another agent", lines: prompt +
		"When the user confirms the handover of \"t1\"\nThen agent \"b\" gets the context of \"t1\"",
		fault: "set HANDOVER_CONTEXT target_id=agent-c", broken: "RT-135"},
	{reason: "a context as an input", lines: prompt +
		"When the user confirms the handover of \"t1\"\nThen agent \"b\" gets the context of \"t1\"\n" +
		"And everything is handled", fault: "set HANDOVER_CONTEXT event=USER_INPUT", tags: "RT-135 RT-173"},
	{reason: "a context after it was rejected", lines: prompt +
		"When the user rejects the handover of \"t1\"\nThen no HANDOVER_CONTEXT is published", tags: "RT-137"},

	{reason: "a session is not asked to open", lines: given +
		"When the user opens the session\nThen SessionManager is asked to open the session",
		fault: "drop REQUEST_SESSION_OPEN", broken: "RT-036 RT-153"},
	{reason: "a session is closed, and it is not reported", lines: given +
		"When the user closes the session\nThen SessionManager is asked to close the session\n" +
		"When SessionManager says that the session is closed\nThen the frontend is told that the session is closed",
		fault: "drop SESSION_CLOSED", broken: "RT-045 RT-155"},
	{reason: "it is reported before its receipt", lines: given +
		"When the user closes the session\nThen SessionManager is asked to close the session\n" +
		"And no SESSION_CLOSED is published", fault: "also EVENT SESSION_CLOSED FRONTEND behind REQUEST_SESSION_CLOSE",
		broken: "RT-154"},
	{reason: "it could not be opened, and it is not reported", lines: given +
		"When the user opens the session\nThen SessionManager is asked to open the session\n" +
		"When SessionManager says that the session could not be opened\n" +
		"Then the frontend is told that the session could not be opened", fault: "drop SESSION_FAILED",
		broken: "RT-045 RT-166"},
	{reason: "an error of an agent is not reported", lines: speaks +
		"When agent \"a\" reports an error in \"t1\"\nThen the frontend is told of the error", fault: "drop MODEL_ERROR",
		broken: "RT-011 RT-040"},
	{reason: "an error of SessionManager is not reported", lines: given +
		"When SessionManager reports an error\nThen the frontend is told of the error", fault: "drop STORE_ERROR",
		broken: "RT-011"},
}

// TestSteps runs each step against a conforming target and against faulty ones: the expected clauses fail.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, r := range stepsRows {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			tags := "@" + strings.Join(strings.Fields(r.broken+" "+r.tags), " @")
			got := perform(t, tags, r.lines, r.fault)
			var failed []string
			for _, c := range got.Clauses {
				if c.Outcome == verdict.Failed {
					failed = append(failed, c.Clause)
				}
			}
			want := strings.Fields(r.broken)
			slices.Sort(want)
			if !slices.Equal(failed, want) {
				t.Errorf("failed are %v, want %v: %s (%s)", failed, want, got.Outcome, got.Reason)
			}
			sound := perform(t, tags, r.lines, "")
			if sound.Outcome != verdict.Passed || sound.Failures != nil {
				t.Errorf("without the fault: %s (%s)", sound.Outcome, sound.Reason)
			}
		})
	}
}

// TestNotTested checks that a failed precondition of a scenario leaves clauses that it is not about untested.
func TestNotTested(t *testing.T) {
	t.Parallel()
	for lines, fault := range map[string]string{
		given + `When the user says "t1"` + "\n" + `Then "t1" reaches agent "a"`:       "drop USER_INPUT",
		given + `When the user says "t1"` + "\n" + `Then "t1" reaches agent "a"` + " ": "set USER_INPUT target_id=agent-b",
		given + `When the user says "t1"` + "\n" + `Then "t1" is accepted`:             "drop TURN_ACCEPTED",
		speaks: "drop AGENT_OUTPUT",
		speaks + "When the user cancels\nThen agent \"a\" is asked to stop \"t1\"": "drop CANCEL",
		left:                                  "drop REQUEST_REMOVE_AGENT",
		came:                                  "drop REQUEST_ADD_AGENT",
		prompt:                                "drop HANDOVER_UI_PROMPT",
		given + "Then everything is handled":  "deaf",
		given + "Then no CANCEL is published": "deaf",
		given + " ":                           "dumb",
	} {
		got := perform(t, "@RT-062", lines, fault)
		if got.Outcome != verdict.NotTested {
			t.Errorf("%s\n%s: %s (%s)", fault, lines, got.Outcome, got.Reason)
		}
	}
}

// TestStrict checks that --strict judges a conflict by its strict reading.
func TestStrict(t *testing.T) {
	t.Parallel()
	const confirmed = prompt + "When the user confirms the handover of \"t1\"\nThen agent \"b\" gets the context of \"t1\""
	const accepted = given + "When the user says \"t1\"\nThen \"t1\" is accepted"
	for _, r := range []struct {
		clause, lines, fault string
	}{
		{"RT-173", confirmed, "set HANDOVER_CONTEXT event=USER_INPUT"},
		{"RT-170", accepted, "set TURN_ACCEPTED event=CONTROL"},
	} {
		for _, strict := range []bool{false, true} {
			want := map[bool]verdict.Outcome{false: verdict.Passed, true: verdict.Failed}[strict]
			if got := perform(t, "@"+r.clause, r.lines, r.fault, func(env *steps.Env) {
				env.Strict = strict
			}); got.Outcome != want {
				t.Errorf("%s, strict %v: %s (%s), want %s", r.clause, strict, got.Outcome, got.Reason, want)
			}
			if got := perform(t, "@"+r.clause, r.lines, "", func(env *steps.Env) {
				env.Strict = strict
			}); got.Outcome != verdict.Passed {
				t.Errorf("%s, strict %v: %s (%s) where nothing is wrong", r.clause, strict, got.Outcome, got.Reason)
			}
		}
	}
}

// TestBus tests a bus that cannot be reached, one that refuses, and one that ends.
func TestBus(t *testing.T) {
	t.Parallel()
	refused := &driver.OpenError{Status: 403, Err: errors.New("forbidden")}
	at := func(env *steps.Env) *scripted { return env.Driver.(*scripted) }
	if got := perform(t, "@RT-013", given, "", func(env *steps.Env) {
		at(env).refuse = refused
	}); got.Outcome != verdict.Failed || got.Reached != steps.Opened {
		t.Errorf("refused: %s (%s), reached %d", got.Outcome, got.Reason, got.Reached)
	}
	if got := perform(t, "@RT-001", given, "", func(env *steps.Env) {
		at(env).refuse = refused
	}); got.Outcome != verdict.NotTested {
		t.Errorf("refused, and another clause: %s (%s)", got.Outcome, got.Reason)
	}
	if got := perform(t, "@RT-013", given, "", func(env *steps.Env) {
		at(env).refuse = &target.StartError{}
	}); got.Outcome != verdict.EnvError {
		t.Errorf("not started: %s (%s)", got.Outcome, got.Reason)
	}
	if got := perform(t, "@RT-013", given, "",
		func(env *steps.Env) { at(env).over = true }); got.Outcome == verdict.Passed {
		t.Errorf("closed: %s (%s)", got.Outcome, got.Reason)
	}
}

// TestQuiet checks that without a fence the quiet window proves an absence.
func TestQuiet(t *testing.T) {
	t.Parallel()
	quiet := func(env *steps.Env) { binding.Of(env.Profile).Fence = false }
	const none = given + "When the user cancels\nThen no CANCEL is published"
	if got := perform(t, "@RT-097", none, "deaf", quiet); got.Outcome != verdict.Passed {
		t.Errorf("%s (%s)", got.Outcome, got.Reason)
	}
	const lost = given + "When the user says \"t1\"\nThen everything is handled"
	if got := perform(t, "@RT-075", lost, "drop USER_INPUT", quiet); got.Outcome != verdict.Failed {
		t.Errorf("what is lost: %s (%s)", got.Outcome, got.Reason)
	}
}

// TestBroadcast checks that steps on BROADCAST are not applicable to a target whose bus does not deliver it; explored
// sequences omit them.
func TestBroadcast(t *testing.T) {
	t.Parallel()
	system := func(env *steps.Env) { binding.Of(env.Profile).Subscribes = target.Names{vocab.ToSystem} }
	const again = given +
		"When the user says \"t1\"\nAnd \"t1\" is delivered by a second subscription\nThen \"t1\" reaches agent \"a\""
	for _, lines := range []string{
		again, given + `When the user says "t1" on BROADCAST`, given + "When the user cancels on BROADCAST", given +
			`When the user removes agent "b" on BROADCAST`,
		given + `When the user switches to agent "b" on BROADCAST`, given +
			`When the logger repeats a switch to agent "b" on BROADCAST`,
		speaks + `When agent "a" sends a chunk of "t1" on BROADCAST`, speaks +
			`When agent "a" confirms the cancel of "t1" on BROADCAST`,
	} {
		if got := perform(t, "@RT-054", lines, "", system); got.Outcome != verdict.NotApplicable {
			t.Errorf("%s: %s (%s)", lines, got.Outcome, got.Reason)
		}
	}
	if got := perform(t, "@explored @RT-075", again, "", system); got.Outcome != verdict.Passed {
		t.Errorf("explored: %s (%s)", got.Outcome, got.Reason)
	}
}

// TestFixed checks that a target with fixed limits is judged by those.
func TestFixed(t *testing.T) {
	const lines = given + "When the user says \"t1\"\nThen \"t1\" reaches agent \"a\"\nAnd no ROUTE_TIMEOUT is published"
	const early = "also ERROR ROUTE_TIMEOUT FRONTEND behind USER_INPUT"
	fixed := func(limit time.Duration) func(*steps.Env) {
		return func(env *steps.Env) {
			binding.Of(env.Profile).Limits = binding.RuntimeLimits{InputAck: target.Duration{Duration: limit},
				CancelAck: target.Duration{Duration: limit}, Fixed: true}
		}
	}
	if got := perform(t, "@RT-077", lines, early, fixed(time.Hour)); got.Outcome != verdict.Failed {
		t.Errorf("an hour: %s (%s)", got.Outcome, got.Reason)
	}
	for _, r := range perform(t, "@RT-075", lines, "", fixed(7*time.Minute)).Records {
		if r.Label == "parley setup" && !strings.Contains(string(r.Bytes), `"input_ack_ms":420000`) {
			t.Errorf("set up by %s", r.Bytes)
		}
	}
}

// TestEarlyFence checks that messages after a fence break no clause, even if the scenario delivers more.
func TestEarlyFence(t *testing.T) {
	t.Parallel()
	const lines = given + "When the user says \"t1\"\nThen \"t1\" reaches agent \"a\"\n" +
		"And no ROUTE_TIMEOUT is published\nWhen agent \"a\" acknowledges \"t1\"\nThen no ROUTE_TIMEOUT is published"
	patient := func(env *steps.Env) {
		env.Profile.Limits.Quiet.Duration, env.Profile.Limits.Event.Duration = time.Second, 5*time.Second
	}
	if got := perform(t, "@RT-074", lines, "held TURN_ACCEPTED", patient); got.Outcome != verdict.Passed {
		t.Errorf("%s (%s): %v", got.Outcome, got.Reason, got.Failures)
	}
	const onwards = given + "When the user says \"t1\"\nThen \"t1\" reaches agent \"a\"\n" +
		"When agent \"a\" acknowledges \"t1\"\nAnd agent \"a\" ends \"t1\"\nThen the frontend receives the output of \"t1\""
	if got := perform(t, "@RT-074", onwards, "slow TURN_ACCEPTED", patient); len(got.Failures) > 0 {
		t.Errorf("behind a fence that was asked and not awaited: %v", got.Failures)
	}
	if got := perform(t, "@RT-074", lines, "drop TURN_ACCEPTED"); got.Outcome != verdict.Failed {
		t.Errorf("never: %s (%s)", got.Outcome, got.Reason)
	}
}

// TestMissingActs checks that a step that refers to something that has not happened judges nothing, and says what is
// missing.
func TestMissingActs(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{
		`When the next steps are in session "main"`, `When the user cancels`,
		given + `When the next steps are in session "other"`, given +
			`Then "t1" reaches agent "a"`, given + `Then "t1" is accepted`,
		given + `When agent "a" acknowledges "t1"`, given + `When agent "a" sends a chunk of "t1"`, given +
			`Then the frontend receives the output of "t1"`,
		given + `When agent "a" asks to hand "t1" over to agent "b"`, given + `When the user confirms the handover of "t1"`,
		given + `Then agent "b" gets the context of "t1"`,
		given + `When "t1" is delivered by a second subscription`, given +
			`Then the agent of "t1" or of "t2" is asked to stop`, given +
			`Then the user is asked whether agent "b" may take over "t1"`,
	} {
		got := perform(t, "@RT-001", lines, "")
		if got.Outcome != verdict.NotTested || !strings.Contains(got.Reason, "no ") {
			t.Errorf("%s: %s (%s)", lines, got.Outcome, got.Reason)
		}
	}
}

// TestObserved checks that choices left to the target are recorded.
func TestObserved(t *testing.T) {
	got := perform(t, "@RT-027 @RT-081 @RT-101", speaks+"When the user cancels\nThen agent \"a\" is asked to stop \"t1\"",
		"also EVENT CANCEL_SENT FRONTEND behind CANCEL")
	var said []string
	for _, c := range got.Clauses {
		said = append(said, c.Clause+" "+c.Reason)
	}
	want := []string{"RT-027 observed: its bus delivers SYSTEM and BROADCAST to it",
		"RT-081 observed: AGENT_STARTED is not published", "RT-101 observed: CANCEL_SENT is published"}
	if !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}
