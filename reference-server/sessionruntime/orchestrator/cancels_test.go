package orchestrator

import "testing"

// speaking makes turn t1 of a speak.
const speaking = `
	> ui input t1
	< a USER_INPUT t1
	< ui TURN_ACCEPTED t1 a
	> a ack t1
	< ui AGENT_STARTED t1 a
	> a chunk t1 one
	< ui AGENT_OUTPUT t1 one
`

// alsoSpeaking makes turn t2 of b speak.
const alsoSpeaking = `
	> ui mention t2 b
	< sm SWITCH_AGENT a b MENTION
	< b USER_INPUT t2
	< ui TURN_ACCEPTED t2 b
	> b chunk t2 two
	< ui AGENT_STARTED t2 b
	< ui AGENT_OUTPUT t2 two
`

func TestCancel(t *testing.T) { playAll(t, cancelScripts) }

var cancelScripts = []script{
	{name: "no turn speaks", lines: `
		> ui cancel
		< ui NO_ACTIVE_SPEAKING
		> ui input t1
		< a USER_INPUT t1
		< ui TURN_ACCEPTED t1 a
		> a ack t1
		< ui AGENT_STARTED t1 a
		> ui cancel t1
		< ui NO_ACTIVE_SPEAKING t1
		> ui interrupt
		< ui NO_ACTIVE_SPEAKING
		> a stop t1
		> a stream t1`},
	{name: "acknowledged", lines: speaking + `
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> a chunk t1 before
		< ui AGENT_OUTPUT t1 before
		> a stop t1
		< ui CANCELED t1 a
		> a stop t1
		> a stream t1
		> a chunk t1 after
		< ui ERROR UNEXPECTED_OUTPUT t1 a
		> ui cancel
		< ui NO_ACTIVE_SPEAKING
		> time 1h`},
	{name: "interrupted, and the stream stopped", lines: speaking + `
		> ui interrupt t1
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> a stream t1
		< ui CANCELED t1 a
		> time 1h`},
	{name: "an ack without ids", lines: speaking + `
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> b stop
		> a stop
		< ui CANCELED t1 a`},
	{name: "an ack of another agent", lines: speaking + `
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> b stop t1
		> b stream t1
		> a chunk t1 more
		< ui AGENT_OUTPUT t1 more`},
	{name: "asked twice", lines: speaking + `
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> ui cancel
		> ui interrupt t1
		> a stop t1
		< ui CANCELED t1 a`},
	{name: "no ack in time", lines: speaking + `
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> time 10s
		< ui ERROR CANCEL_TIMEOUT t1 a
		> time 1h
		> a chunk t1 on
		< ui AGENT_OUTPUT t1 on
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> a stop t1
		< ui CANCELED t1 a`},
	{name: "a late ack still ends the turn", lines: speaking + `
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> time 10s
		< ui ERROR CANCEL_TIMEOUT t1 a
		> a stop t1
		< ui CANCELED t1 a
		> a chunk t1 after
		< ui ERROR UNEXPECTED_OUTPUT t1 a`},
	{name: "a final before the ack", lines: speaking + `
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> a final t1 end
		< ui AGENT_OUTPUT t1 end
		> a chunk t1 more
		< ui ERROR UNEXPECTED_OUTPUT t1 a
		> ui cancel
		< ui NO_ACTIVE_SPEAKING
		> a stop t1
		< ui CANCELED t1 a COMPLETED
		> a stop t1
		> time 1h`},
	{name: "a final, and no ack", lines: speaking + `
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> a final t1 end
		< ui AGENT_OUTPUT t1 end
		> time 10s
		< ui ERROR CANCEL_TIMEOUT t1 a
		> a stop t1`},
	{name: "two speak: the last one", lines: speaking + alsoSpeaking + `
		> ui cancel
		< b CANCEL t2 b
		< ui CANCEL_SENT t2 b
		> a chunk t1 more
		< ui AGENT_OUTPUT t1 more
		> ui cancel
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> a stop t2
		> b stop t2
		< ui CANCELED t2 b
		> a stop t1
		< ui CANCELED t1 a`},
	{name: "two speak: the named one", lines: speaking + alsoSpeaking + `
		> ui cancel t1
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> ui cancel t3
		< ui NO_ACTIVE_SPEAKING t3
		> a stop
		< ui CANCELED t1 a
		> b chunk t2 on
		< ui AGENT_OUTPUT t2 on`},
}
