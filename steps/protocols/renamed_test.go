package protocols_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/steps"
	"parley/steps/protocols"
)

// renamed has an earlier and the present text of every step that was renamed.
var renamed = map[string][][2]string{
	"agent-select": {
		{`client A is given an event stream`, `client A receives an event stream`},
		{`the list of client A names no current agent but the default one`,
			`the list of client A names the default agent as current, or none`},
		{`client A connects and switches to "debugger" as early as it can`,
			`client A connects and switches to "debugger" as early as possible`},
		{`each switch of client A starts from the agent that the one before it led to`,
			`each switch of client A starts where the previous one ended`},
		{`client A loads its first session back`, `client A loads its first session again`},
		{`client A is answered in each of 8 chats, each sent right behind the turn before it`,
			`client A is answered in each of 8 chats, each sent right after the previous turn`},
		{`client A, alone, is switched to each built-in agent and refused what it may not ask`,
			`client A, alone, can switch to each built-in agent and is refused invalid switches`},
		{`the turn of client A ends, and that of client B does not`, `the turn of client A ends`},
		{`client B receives no refusal`, `client B receives no "agent_switched"`},
		{`the ids of the connections differ`, `the server has followed its sessions`},
		{`client A receives the list of agents before any answer`, `client A receives the list of agents`},
		{`client A is switched in the session of client B`, `the switch of client A is answered`},
	},
	"agent-client": {
		{`it is recorded whether the page suggests "abort"`, `whether the page suggests "abort" is recorded`},
	},
	"session-chat": {
		{`the answer to client A is noted`, `the answer to client A is recorded`},
		{`it is noted whether client A is answered by "red"`, `whether client A is answered by "red" is recorded`},
		{`it is noted which model was asked for "red"`, `the model that was asked for "red" is recorded`},
		{`every message of "red" has had its session_id`, `every message of "red" has its session_id`},
		{`client A receives the words of the model for "red" unchanged`,
			`client A receives the text of the model for "red" unchanged`},
		{`the model was sent the text of "red" as it was written`, `the model was sent the text of "red" unchanged`},
		{`the target uses the model that options name`, `the target uses the model named in options`},
		{`client A chats with "red" under the agent_id of a path`, `client A chats with "red" under an agent_id of a path`},
		{`it starts no session`, `that message starts no session`},
		{`the target has handled what client A sent`, `the target has handled every message of client A`},
	},
	"external-agent": {
		{`the course of a session is known`, `the states of a session are known`},
		{`the agent continues with what follows`, `the agent continues with the messages that follow`},
		{`the agent uses nothing that is no longer shown`, `the agent uses only what is still shown`},
		{`call 1 is refused, and what it asks for is no longer announced`, `call 1 is refused, and is no longer announced`},
		{`agent A leaves traces of every kind`, `agent A fills its session with messages and tool calls`},
		{`agent A has a new session without traces of the old one`,
			`agent A has a new session that contains nothing of the old one`},
		{`agent A calls "next", and chooses again if it has to`,
			`agent A calls "next", choosing again if the host has forgotten the choices`},
		{`agent A sends the participant 1 message of 70 KB, if the target takes such`,
			`agent A sends the participant 1 message of 70 KB, if the target accepts that size`},
		{`the session is gone at call 2`, `the host has lost the session at call 2`},
	},
	"session-runtime": {
		{`in session "one"`, `the next steps are in session "one"`},
		{`the agents go on with the turns from before the cut`, `the agents continue the turns from before the cut`},
		{`none of that is forwarded`, `none of that output is forwarded`},
		{`the bus hands back what is published on SYSTEM and BROADCAST`,
			`the orchestrator receives what it publishes on SYSTEM and BROADCAST`},
		{`an input "t1" that nobody has said`, `an input "t1" that was never sent`},
		{`the user says "t1" with @ and the name of agent "b" in the text alone`,
			`the user says "t1" with @ and the name of agent "b" only in the text`},
		{`what was sent of "t1" is delivered by a second subscription`,
			`the output of "t1" is delivered by a second subscription`},
		{`"t1" reaches nobody`, `"t1" reaches no agent`},
		{`each of the 5 turns has a turn_id of its own`, `the 5 turns have different turn_ids`},
		{`agent "a" sends a final alone of "t1" on BROADCAST`, `agent "a" sends a final without chunks of "t1" on BROADCAST`},
		{`agent "a" says the same in another chunk of "t1"`, `agent "a" repeats its text in another chunk of "t1"`},
		{`the frontend gets what was sent of "t1"`, `the frontend receives the output of "t1"`},
		{`the frontend does not get what was sent of "t1"`, `the frontend does not receive the output of "t1"`},
		{`agent "a" sends a chunk of the other session's "t1" of "one"`, `agent "a" sends a chunk of "t1" of session "one"`},
		{`the user is asked whether agent "b" may take "t1" over`, `the user is asked whether agent "b" may take over "t1"`},
		{`the user confirms a handover to agent "b" that nobody has asked for`,
			`the user confirms a handover to agent "b" that no agent has requested`},
	},
}

// TestRenamed: an earlier text of a step means the present one, in live sessions and in features.
func TestRenamed(t *testing.T) {
	for _, p := range protocols.All.All {
		expressions := steps.Expressions(p)
		for _, pair := range p.(steps.Renamer).Renamed() {
			re := regexp.MustCompile(pair[0])
			if !slices.ContainsFunc(renamed[steps.Name(p)], func(texts [2]string) bool { return re.MatchString(texts[0]) }) {
				t.Errorf("%s: no example of %s", steps.Name(p), pair[0])
			}
		}
		for _, one := range renamed[steps.Name(p)] {
			if steps.ExpressionOf(expressions, one[0]) != "" {
				t.Errorf("%s: %q is still a step", steps.Name(p), one[0])
			}
			if steps.ExpressionOf(expressions, one[1]) == "" {
				t.Errorf("%s: %q is no step", steps.Name(p), one[1])
			}
			if got := steps.Current(p, one[0]); got != one[1] {
				t.Errorf("%s: %q is now %q, not %q", steps.Name(p), one[0], got, one[1])
			}
			if got := steps.Current(p, one[1]); got != one[1] {
				t.Errorf("%s: %q becomes %q", steps.Name(p), one[1], got)
			}
			feature := "Feature: f\r\n  Scenario: " + one[0] + "\r\n    And " + one[0] + "\r\n# Then " + one[0] + "\n"
			want := strings.Replace(feature, "And "+one[0], "And "+one[1], 1)
			if got := string(steps.CurrentFeature(p, []byte(feature))); got != want {
				t.Errorf("%s: the feature is\n%s", steps.Name(p), got)
			}
		}
	}
}
