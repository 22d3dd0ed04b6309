package orchestrator

import "testing"

func TestRemove(t *testing.T) { playAll(t, removeScripts) }

var removeScripts = []script{
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
	{name: "no agent, unknown, twice", lines: `
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
	{name: "another agent speaks", lines: speaking + `
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
}

func TestInvite(t *testing.T) { playAll(t, inviteScripts) }

var inviteScripts = []script{
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
	{name: "SessionManager names no agent, or another one", lines: `
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
	{name: "an agent in the session", lines: `
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
}
