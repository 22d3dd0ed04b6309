package orchestrator

import "testing"

func TestInput(t *testing.T) {
	playAll(t, []script{
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
		{name: "acks that mean nothing: of another agent, of no turn, twice", lines: `
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
		{name: "turns side by side, each with its own time", lines: `
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
		{name: "nobody is active: the first agent", o: Options{Agents: []string{"a", "b"}}, lines: `
			> ui input t1
			< a USER_INPUT t1
			< ui TURN_ACCEPTED t1 a
			> ui mention t2 b
			< sm SWITCH_AGENT null b MENTION
			< b USER_INPUT t2
			< ui TURN_ACCEPTED t2 b`},
		{name: "nobody is active: the default agent", o: Options{Agents: []string{"a", "b"}, Default: "b"}, lines: `
			> ui input t1
			< b USER_INPUT t1
			< ui TURN_ACCEPTED t1 b`},
		{name: "nobody is there", o: Options{Agents: []string{}}, lines: `
			> ui input t1
			< ui ERROR NO_AGENT t1
			> ui mention t1 a
			< ui ERROR AGENT_NOT_IN_SESSION t1`},
	})
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
		{name: "an agent that is not there", lines: `
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

// speaking is how turn t1 of a begins to speak.
const speaking = `
	> ui input t1
	< a USER_INPUT t1
	< ui TURN_ACCEPTED t1 a
	> a ack t1
	< ui AGENT_STARTED t1 a
	> a chunk t1 one
	< ui AGENT_OUTPUT t1 one
`

// alsoSpeaking is how turn t2 of b does.
const alsoSpeaking = `
	> ui mention t2 b
	< sm SWITCH_AGENT a b MENTION
	< b USER_INPUT t2
	< ui TURN_ACCEPTED t2 b
	> b chunk t2 two
	< ui AGENT_STARTED t2 b
	< ui AGENT_OUTPUT t2 two
`

func TestCancel(t *testing.T) {
	playAll(t, []script{
		{name: "nobody speaks", lines: `
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
		{name: "an ack that comes too late ends the turn all the same", lines: speaking + `
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
		{name: "two speak: the one that is named", lines: speaking + alsoSpeaking + `
			> ui cancel t1
			< a CANCEL t1 a
			< ui CANCEL_SENT t1 a
			> ui cancel t3
			< ui NO_ACTIVE_SPEAKING t3
			> a stop
			< ui CANCELED t1 a
			> b chunk t2 on
			< ui AGENT_OUTPUT t2 on`},
	})
}

func TestRemove(t *testing.T) {
	playAll(t, []script{
		{name: "an idle agent", lines: `
			> ui remove b x1
			< ui AGENT_REMOVING b
			< sm REQUEST_REMOVE_AGENT b
			> ui mention t1 b
			< ui ERROR AGENT_NOT_IN_SESSION t1
			> sm REMOVE_AGENT_DONE b x1
			< ui AGENT_REMOVED b
			> sm REMOVE_AGENT_DONE b x1
			> sm REMOVE_AGENT_FAILED b x1`},
		{name: "the active agent", lines: `
			> ui remove a
			< ui AGENT_REMOVING a
			< sm REQUEST_REMOVE_AGENT a
			< sm SWITCH_AGENT a b REMOVE_AGENT
			> ui input t1
			< b USER_INPUT t1
			< ui TURN_ACCEPTED t1 b
			> sm REMOVE_AGENT_FAILED
			< ui ERROR REMOVE_AGENT_FAILED a`},
		{name: "the last agent", o: Options{Agents: []string{"a"}, Active: "a"}, lines: `
			> ui remove a
			< ui AGENT_REMOVING a
			< sm REQUEST_REMOVE_AGENT a
			< sm SWITCH_AGENT a null REMOVE_AGENT
			> ui input t1
			< ui ERROR NO_AGENT t1
			> sm REMOVE_AGENT_DONE a
			< ui AGENT_REMOVED a`},
		{name: "nobody, unknown, twice", lines: `
			> ui remove -
			< ui ERROR INVALID_MESSAGE
			> ui remove x
			< ui ERROR AGENT_NOT_IN_SESSION
			> ui remove b
			< ui AGENT_REMOVING b
			< sm REQUEST_REMOVE_AGENT b
			> ui remove b
			< ui ERROR ALREADY_IN_PROGRESS
			> sm REMOVE_AGENT_DONE b
			< ui AGENT_REMOVED b
			> ui remove b
			< ui ERROR AGENT_NOT_IN_SESSION`},
		{name: "while it speaks", lines: speaking + `
			> ui remove a x1
			< a CANCEL t1 a
			< ui CANCEL_SENT t1 a
			> sm REMOVE_AGENT_DONE a x1
			> ui remove a
			< ui ERROR ALREADY_IN_PROGRESS
			> a stop t1
			< ui CANCELED t1 a
			< ui AGENT_REMOVING a
			< sm REQUEST_REMOVE_AGENT a
			< sm SWITCH_AGENT a b REMOVE_AGENT
			> sm REMOVE_AGENT_DONE a x1
			< ui AGENT_REMOVED a
			> time 1h`},
		{name: "while it speaks, and no ack", lines: speaking + `
			> ui remove a x1
			< a CANCEL t1 a
			< ui CANCEL_SENT t1 a
			> time 10s
			< ui ERROR CANCEL_TIMEOUT t1 a
			> time 1h
			> a stop t1
			< ui CANCELED t1 a
			> sm REMOVE_AGENT_DONE a x1
			> ui input t2
			< a USER_INPUT t2
			< ui TURN_ACCEPTED t2 a`},
		{name: "while it is being canceled", lines: speaking + `
			> ui cancel
			< a CANCEL t1 a
			< ui CANCEL_SENT t1 a
			> ui remove a
			> a stream t1
			< ui CANCELED t1 a
			< ui AGENT_REMOVING a
			< sm REQUEST_REMOVE_AGENT a
			< sm SWITCH_AGENT a b REMOVE_AGENT`},
		{name: "it speaks in two turns, and begins a third", lines: speaking + `
			> ui input t2
			< a USER_INPUT t2
			< ui TURN_ACCEPTED t2 a
			> a chunk t2 x
			< ui AGENT_STARTED t2 a
			< ui AGENT_OUTPUT t2 x
			> ui remove a
			< a CANCEL t1 a
			< ui CANCEL_SENT t1 a
			< a CANCEL t2 a
			< ui CANCEL_SENT t2 a
			> ui input t3
			< a USER_INPUT t3
			< ui TURN_ACCEPTED t3 a
			> a chunk t3 x
			< ui AGENT_STARTED t3 a
			< ui AGENT_OUTPUT t3 x
			> a stop t2
			< ui CANCELED t2 a
			> a stop t1
			< ui CANCELED t1 a
			< a CANCEL t3 a
			< ui CANCEL_SENT t3 a
			> a stop t3
			< ui CANCELED t3 a
			< ui AGENT_REMOVING a
			< sm REQUEST_REMOVE_AGENT a
			< sm SWITCH_AGENT a b REMOVE_AGENT`},
		{name: "another one speaks", lines: speaking + `
			> ui remove b
			< ui AGENT_REMOVING b
			< sm REQUEST_REMOVE_AGENT b
			> a final t1 x
			< ui AGENT_OUTPUT t1 x`},
		{name: "its turn is in flight", lines: `
			> ui input t1
			< a USER_INPUT t1
			< ui TURN_ACCEPTED t1 a
			> ui remove a
			< ui AGENT_REMOVING a
			< sm REQUEST_REMOVE_AGENT a
			< sm SWITCH_AGENT a b REMOVE_AGENT
			> time 10s
			< ui ERROR ROUTE_TIMEOUT t1 a`},
		{name: "two at once, by tx_id and by agent_id", lines: `
			> ui remove b x1
			< ui AGENT_REMOVING b
			< sm REQUEST_REMOVE_AGENT b
			> ui remove c x2
			< ui AGENT_REMOVING c
			< sm REQUEST_REMOVE_AGENT c
			> sm REMOVE_AGENT_DONE
			> sm REMOVE_AGENT_DONE - x3
			> sm REMOVE_AGENT_DONE a
			> sm ADD_AGENT_DONE b x1
			> sm REMOVE_AGENT_FAILED - x1
			< ui ERROR REMOVE_AGENT_FAILED b
			> sm REMOVE_AGENT_DONE c
			< ui AGENT_REMOVED c`},
		{name: "the others leave, too", lines: `
			> ui remove a
			< ui AGENT_REMOVING a
			< sm REQUEST_REMOVE_AGENT a
			< sm SWITCH_AGENT a b REMOVE_AGENT
			> ui remove b
			< ui AGENT_REMOVING b
			< sm REQUEST_REMOVE_AGENT b
			< sm SWITCH_AGENT b c REMOVE_AGENT`},
	})
}

func TestInvite(t *testing.T) {
	playAll(t, []script{
		{name: "done", lines: `
			> ui invite d x1
			< sm REQUEST_ADD_AGENT d
			< ui ADDING_AGENT d
			> ui mention t1 d
			< ui ERROR AGENT_NOT_IN_SESSION t1
			> sm ADD_AGENT_DONE d x1
			< ui AGENT_ADDED d
			> sm ADD_AGENT_DONE d x1
			> ui input t2
			< a USER_INPUT t2
			< ui TURN_ACCEPTED t2 a
			> ui mention t3 d
			< sm SWITCH_AGENT a d MENTION
			< d USER_INPUT t3
			< ui TURN_ACCEPTED t3 d`},
		{name: "failed", lines: `
			> ui invite d x1
			< sm REQUEST_ADD_AGENT d
			< ui ADDING_AGENT d
			> sm ADD_AGENT_FAILED - x1
			< ui ERROR ADD_AGENT_FAILED d
			> ui mention t1 d
			< ui ERROR AGENT_NOT_IN_SESSION t1`},
		{name: "SessionManager names the agent", lines: `
			> ui invite -
			< sm REQUEST_ADD_AGENT
			< ui ADDING_AGENT
			> sm ADD_AGENT_DONE d
			< ui AGENT_ADDED d
			> ui switch d
			< sm SWITCH_AGENT a d SWITCH_AGENT`},
		{name: "SessionManager names nobody, or somebody else", lines: `
			> ui invite -
			< sm REQUEST_ADD_AGENT
			< ui ADDING_AGENT
			> sm ADD_AGENT_DONE
			< ui ERROR ADD_AGENT_FAILED
			> ui invite - x2
			< sm REQUEST_ADD_AGENT
			< ui ADDING_AGENT
			> sm ADD_AGENT_DONE frontend x2
			< ui ERROR ADD_AGENT_FAILED
			> sm ADD_AGENT_DONE d x2`},
		{name: "two at once", lines: `
			> ui invite d x1
			< sm REQUEST_ADD_AGENT d
			< ui ADDING_AGENT d
			> ui invite e x2
			< sm REQUEST_ADD_AGENT e
			< ui ADDING_AGENT e
			> ui invite d
			< ui ERROR ALREADY_IN_PROGRESS
			> sm ADD_AGENT_DONE - x1
			< ui AGENT_ADDED d
			> sm ADD_AGENT_FAILED e
			< ui ERROR ADD_AGENT_FAILED e`},
		{name: "an agent that is there", lines: `
			> ui invite b
			< ui ERROR INVALID_MESSAGE`},
		{name: "unasked", lines: `
			> sm ADD_AGENT_DONE d
			> sm ADD_AGENT_DONE d x1
			> ui mention t1 d
			< ui ERROR AGENT_NOT_IN_SESSION t1`},
		{name: "into an empty session", o: Options{Agents: []string{}}, lines: `
			> ui invite d
			< sm REQUEST_ADD_AGENT d
			< ui ADDING_AGENT d
			> sm ADD_AGENT_DONE d
			< ui AGENT_ADDED d
			> ui input t1
			< d USER_INPUT t1
			< ui TURN_ACCEPTED t1 d`},
	})
}

func TestHandover(t *testing.T) {
	playAll(t, []script{
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
		{name: "the turn is not named: the last output", lines: speaking + `
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
		{name: "two are open: one is named or nothing is done", lines: `
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
	})
}

func TestOutput(t *testing.T) {
	playAll(t, []script{
		{name: "of no turn, of another agent, of nobody", lines: `
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

func TestSession(t *testing.T) {
	playAll(t, []script{
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
	})
}
