package orchestrator

import "testing"

func TestInput(t *testing.T) { playAll(t, inputScripts) }

var inputScripts = []script{
	{name: "a turn", lines: `
		> ui input t1 hello
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> a ack t1
		< ui AGENT_STARTED t1 a
		> a chunk t1 one
		< ui AGENT_OUTPUT t1 one
		> a chunk t1 two
		< ui AGENT_OUTPUT t1 two
		> a final t1 three
		< ui AGENT_OUTPUT t1 three
		> time 1h`},
	{name: "no ack in time", lines: `
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> time 9.999s
		> time 1ms
		< ui ERROR ROUTE_TIMEOUT t1 a
		> time 1h
		> a ack t1
		> a chunk t1 late
		< ui ERROR UNEXPECTED_OUTPUT t1 a`},
	{name: "ack just in time", lines: `
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> time 9.999s
		> a ack t1
		< ui AGENT_STARTED t1 a
		> time 1h`},
	{name: "ineffective acks: of another agent, of no turn, repeated", lines: `
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> b ack t1
		> b ack
		> a ack t2
		> a ack
		< ui AGENT_STARTED t1 a
		> a ack t1
		> a ack
		> x ack t1`},
	{name: "an ack without turn_id that two turns could mean", lines: `
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> ui input t2
		< a USER_INPUT t2
		< ui TURN_ACCEPTED t2 a
		> a ack
		> time 10s
		< ui ERROR ROUTE_TIMEOUT t1 a
		< ui ERROR ROUTE_TIMEOUT t2 a`},
	{name: "the first chunk is an implicit start", lines: `
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> a chunk t1 one
		< ui AGENT_STARTED t1 a
		< ui AGENT_OUTPUT t1 one
		> a ack t1
		> time 1h
		> a final t1 two
		< ui AGENT_OUTPUT t1 two`},
	{name: "a lone final", lines: `
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> a final t1 all
		< ui AGENT_STARTED t1 a
		< ui AGENT_OUTPUT t1 all
		> ui cancel
		< ui NO_ACTIVE_SPEAKING
		> a final t1 again
		< ui ERROR UNEXPECTED_OUTPUT t1 a
		> time 1h`},
	{name: "concurrent turns, each with its own timeout", lines: `
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> time 4s
		> ui mention t2 b
		< sm SWITCH_AGENT a b MENTION
		< b USER_INPUT t2
		< ui TURN_ACCEPTED t2 b
		> b ack t2
		< ui AGENT_STARTED t2 b
		> time 6s
		< ui ERROR ROUTE_TIMEOUT t1 a
		> b final t2 x
		< ui AGENT_OUTPUT t2 x`},
	{name: "a turn_id is used once", lines: `
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> ui input t1
		< ui ERROR INVALID_MESSAGE
		> a final t1 x
		< ui AGENT_STARTED t1 a
		< ui AGENT_OUTPUT t1 x
		> ui input t1
		< ui ERROR INVALID_MESSAGE`},
	{name: "no active agent: the first agent", o: Options{Agents: []string{"a", "b"}}, lines: `
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> ui mention t2 b
		< sm SWITCH_AGENT null b MENTION
		< b USER_INPUT t2
		< ui TURN_ACCEPTED t2 b`},
	{name: "no active agent: the default agent", o: Options{Agents: []string{"a", "b"}, Default: "b"}, lines: `
		> ui input t1
		< b USER_INPUT t1
		< ui TURN_ACCEPTED t1 b`},
	{name: "no agents", o: Options{Agents: []string{}}, lines: `
		> ui input t1
		< ui ERROR NO_AGENT t1
		> ui mention t1 a
		< ui ERROR AGENT_NOT_IN_SESSION t1`},
}

func TestMention(t *testing.T) {
	playAll(t, []script{
		{name: "later input goes there, too", lines: `
			> ui mention t1 b
			< sm SWITCH_AGENT a b MENTION
			< b USER_INPUT t1
			< ui TURN_ACCEPTED t1 b
			> ui input t2
			< b USER_INPUT t2
			< ui TURN_ACCEPTED t2 b`},
		{name: "the active agent", lines: `
			> ui mention t1 a
			< a USER_INPUT t1
			< ui TURN_ACCEPTED t1 a`},
		{name: "an absent agent", lines: `
			> ui mention t1 x
			< ui ERROR AGENT_NOT_IN_SESSION t1
			> ui input t1
			< a USER_INPUT t1
			< ui TURN_ACCEPTED t1 a`},
		{name: "no ack in time", lines: `
			> ui mention t1 b
			< sm SWITCH_AGENT a b MENTION
			< b USER_INPUT t1
			< ui TURN_ACCEPTED t1 b
			> time 10s
			< ui ERROR ROUTE_TIMEOUT t1 b`},
		{name: "switches of the frontend", lines: `
			> ui switch b
			< sm SWITCH_AGENT a b SWITCH_AGENT
			> ui switch b
			> ui switch x
			< ui ERROR AGENT_NOT_IN_SESSION
			> ui switch -
			< ui ERROR INVALID_MESSAGE
			> ui input t1
			< b USER_INPUT t1
			< ui TURN_ACCEPTED t1 b`},
	})
}
