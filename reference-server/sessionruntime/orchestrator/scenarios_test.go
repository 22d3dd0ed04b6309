package orchestrator

import "testing"

func TestHandover(t *testing.T) { playAll(t, handoverScripts) }

var handoverScripts = []script{
	{name: "confirmed", lines: speaking + `
		> a handover t1 b
		< ui HANDOVER_UI_PROMPT a b [one]
		> ui input t2
		< a USER_INPUT t2
		< ui TURN_ACCEPTED t2 a
		> a final t1 end
		< ui AGENT_OUTPUT t1 end
		> ui confirm
		< sm SWITCH_AGENT a b HANDOVER_CONFIRM
		< b HANDOVER_CONTEXT a b [one end]
		> b HANDOVER_ACCEPTED
		> ui confirm
		< ui ERROR INVALID_MESSAGE
		> ui input t3
		< b USER_INPUT t3
		< ui TURN_ACCEPTED t3 b`},
	{name: "rejected", lines: speaking + `
		> a handover t1 b
		< ui HANDOVER_UI_PROMPT a b [one]
		> ui reject
		> ui confirm
		< ui ERROR INVALID_MESSAGE
		> ui input t2
		< a USER_INPUT t2
		< ui TURN_ACCEPTED t2 a`},
	{name: "answers without a request", lines: `
		> ui confirm
		< ui ERROR INVALID_MESSAGE
		> ui reject x1
		< ui ERROR INVALID_MESSAGE`},
	{name: "no named turn: the last output", lines: speaking + `
		> a handover - b
		< ui HANDOVER_UI_PROMPT a b [one]`},
	{name: "without output", lines: `
		> b handover - c
		< ui HANDOVER_UI_PROMPT b c []
		> ui confirm
		< sm SWITCH_AGENT a c HANDOVER_CONFIRM
		< c HANDOVER_CONTEXT b c []`},
	{name: "refused", lines: `
		> a handover - x
		< ui ERROR AGENT_NOT_IN_SESSION
		> x handover - a
		< ui ERROR AGENT_NOT_IN_SESSION
		> b handover - a
		< ui ERROR INVALID_MESSAGE
		> b handover - b
		< ui ERROR INVALID_MESSAGE
		> a handover -
		< ui ERROR INVALID_MESSAGE
		> a handover - b
		< ui HANDOVER_UI_PROMPT a b []
		> a handover - b
		< ui ERROR ALREADY_IN_PROGRESS`},
	{name: "the heir has left", lines: `
		> a handover - b
		< ui HANDOVER_UI_PROMPT a b []
		> ui remove b
		< ui AGENT_REMOVING b
		< sm REQUEST_REMOVE_AGENT b
		> ui confirm
		< ui ERROR AGENT_NOT_IN_SESSION
		> ui confirm
		< ui ERROR INVALID_MESSAGE`},
	{name: "the heir is active by then", lines: `
		> a handover - b
		< ui HANDOVER_UI_PROMPT a b []
		> ui switch b
		< sm SWITCH_AGENT a b SWITCH_AGENT
		> ui confirm
		< b HANDOVER_CONTEXT a b []`},
	{name: "two are open: an answer must name one", lines: `
		> a handover - b
		< ui HANDOVER_UI_PROMPT a b []
		> a handover - c
		< ui HANDOVER_UI_PROMPT a c []
		> ui confirm
		< ui ERROR INVALID_MESSAGE`},
	{name: "a frontend and SessionManager hand nothing over", lines: `
		> ui HANDOVER_REQUEST
		< ui ERROR INVALID_MESSAGE
		> sm HANDOVER_REQUEST b
		> sm HANDOVER_CONFIRM`},
}

func TestOutput(t *testing.T) {
	playAll(t, []script{
		{name: "of no turn, of another agent, of an unknown agent", lines: `
			> a chunk t9 x
			< ui ERROR UNEXPECTED_OUTPUT t9 a
			> a chunk - x
			< ui ERROR UNEXPECTED_OUTPUT a
			> ui input t1
			< a USER_INPUT t1
			< ui TURN_ACCEPTED t1 a
			> b final t1 x
			< ui ERROR UNEXPECTED_OUTPUT b
			> x chunk t1 x
			< ui ERROR UNEXPECTED_OUTPUT x
			> a final t1 x
			< ui AGENT_STARTED t1 a
			< ui AGENT_OUTPUT t1 x`},
		{name: "an error of the agent fails its turn", lines: speaking + `
			> a error t1
			< ui ERROR MODEL t1
			> a chunk t1 more
			< ui ERROR UNEXPECTED_OUTPUT t1 a
			> ui cancel
			< ui NO_ACTIVE_SPEAKING
			> a error t1
			< ui ERROR MODEL t1`},
		{name: "an error before the ack", lines: `
			> ui input t1
			< a USER_INPUT t1
			< ui TURN_ACCEPTED t1 a
			> a error t1
			< ui ERROR MODEL t1
			> time 1h`},
		{name: "errors of others fail nothing", lines: speaking + `
			> b error t1
			< ui ERROR MODEL t1
			> a error
			< ui ERROR MODEL
			> x error
			< ui ERROR MODEL
			> a chunk t1 more
			< ui AGENT_OUTPUT t1 more`},
		{name: "an error while a CANCEL is in flight", lines: speaking + `
			> ui cancel
			< a CANCEL t1 a
			< ui CANCEL_SENT t1 a
			> a error t1
			< ui ERROR MODEL t1
			> a stop t1
			< ui CANCELED t1 a FAILED`},
	})
}

func TestSession(t *testing.T) { playAll(t, sessionScripts) }

var sessionScripts = []script{
	{name: "opened and closed", lines: `
		> ui open x1
		< sm REQUEST_SESSION_OPEN
		> ui open
		< ui ERROR ALREADY_IN_PROGRESS
		> sm SESSION_CLOSED
		> sm SESSION_OPENED
		< ui SESSION_OPENED
		> sm SESSION_OPENED
		> ui close
		< sm REQUEST_SESSION_CLOSE
		> sm SESSION_CLOSED
		< ui SESSION_CLOSED`},
	{name: "failed", lines: `
		> ui open x1
		< sm REQUEST_SESSION_OPEN
		> ui close x2
		< sm REQUEST_SESSION_CLOSE
		> sm SESSION_FAILED
		> sm SESSION_FAILED - x2
		< ui ERROR SESSION_FAILED
		> sm SESSION_FAILED
		< ui ERROR SESSION_FAILED`},
	{name: "closed while two speak", lines: speaking + alsoSpeaking + `
		> ui close
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		< b CANCEL t2 b
		< ui CANCEL_SENT t2 b
		> sm SESSION_CLOSED
		> b stop t2
		< ui CANCELED t2 b
		> a stop t1
		< ui CANCELED t1 a
		< sm REQUEST_SESSION_CLOSE
		> sm SESSION_CLOSED
		< ui SESSION_CLOSED`},
	{name: "closed while one speaks, and no ack", lines: speaking + `
		> ui close
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> time 10s
		< ui ERROR CANCEL_TIMEOUT t1 a
		> a stop t1
		< ui CANCELED t1 a
		> ui close
		< sm REQUEST_SESSION_CLOSE`},
	{name: "a removal and a close wait for one ack", lines: speaking + `
		> ui remove a
		< a CANCEL t1 a
		< ui CANCEL_SENT t1 a
		> ui close
		> a stop t1
		< ui CANCELED t1 a
		< ui AGENT_REMOVING a
		< sm REQUEST_REMOVE_AGENT a
		< sm SWITCH_AGENT a b REMOVE_AGENT
		< sm REQUEST_SESSION_CLOSE`},
	{name: "opened while one speaks", lines: speaking + `
		> ui open
		< sm REQUEST_SESSION_OPEN`},
}
