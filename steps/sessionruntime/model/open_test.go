package model

import "testing"

// leftOpen lists choices that the source leaves to the orchestrator, and races: either way nothing is broken.
var leftOpen = []row{
	{reason: "A: a session without agents", in: "set main - -\n> user USER_INPUT #1\n< ERROR\nfence\n"},
	{reason: "A: a second input meanwhile is routed", in: runs +
		"> user USER_INPUT #7\n< USER_INPUT @a t7 #7\n< TURN_ACCEPTED t7 of=a\nfence\n"},
	{reason: "A: a second input meanwhile is refused", in: runs + "> user USER_INPUT #7\n< ERROR\nfence\n"},
	{reason: "A: two inputs at once", in: abc +
		"> user USER_INPUT #1\n> user USER_INPUT #7\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
		"< USER_INPUT @a t7 #7\n< TURN_ACCEPTED t7 of=a\nfence\n"},
	{reason: "A: a report that the agent has started", in: routed + "> a INPUT_ACK t1\n< AGENT_STARTED t1\nfence\n"},
	{reason: "A: a time-out a little early",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 54ms\n" +
			"< ROUTE_TIMEOUT t1\nfence\n", kept: "077"},
	{reason: "A: a time-out without a turn_id",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 60ms\n" +
			"< ROUTE_TIMEOUT\nfence\n", kept: "078"},
	{reason: "A: the limit is unknown", in: routed + "+ 1ms\n< ROUTE_TIMEOUT t1\nfence\n", kept: "078"},
	{reason: "A: an acknowledgement at the limit, and a time-out",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 59ms\n" +
			"> a INPUT_ACK t1\n+ 2ms\n< ROUTE_TIMEOUT t1\nfence\n> a AGENT_OUTPUT t1 #2 final\nfence\n"},
	{reason: "A: an acknowledgement at the limit, and none",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 59ms\n" +
			"> a INPUT_ACK t1\n+ 2ms\nfence\n> a AGENT_OUTPUT t1 #2 final\n< AGENT_OUTPUT t1 #2 final\nfence\n"},
	{reason: "A: an acknowledgement at the limit, and what comes of it is lost",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 59ms\n" +
			"> a INPUT_ACK t1\n+ 2ms\nfence\n> a AGENT_OUTPUT t1 #2 chunk\n> user CANCEL\nfence\n"},
	{reason: "A: a chunk without an acknowledgement is forwarded", in: routed +
		"> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\n> a AGENT_OUTPUT t1 #3 final\n" +
		"< AGENT_OUTPUT t1 #3 final\nfence\n", absent: "169"},
	{reason: "A: a chunk without an acknowledgement is dropped, and the turn times out",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
			"> a AGENT_OUTPUT t1 #2 chunk\n+ 60ms\n< ROUTE_TIMEOUT t1\nfence\n"},
	{reason: "A: a chunk without an acknowledgement is reported", in: routed +
		"> a AGENT_OUTPUT t1 #2 chunk\n< ERROR t1\nfence\n"},
	{reason: "A: an acknowledgement of another agent",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
			"> b INPUT_ACK t1\nfence\n+ 60ms\n< ROUTE_TIMEOUT t1\nfence\n", kept: "078"},
	{reason: "A: an acknowledgement twice", in: runs +
		"> a INPUT_ACK t1\n> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\nfence\n"},
	{reason: "A: a session without agents, SessionManager is asked, and the input goes to the new one",
		in: "set main - -\n> user USER_INPUT #1\n< REQUEST_ADD_AGENT agent=d\n> manager ADD_AGENT_DONE agent=d\n" +
			"< AGENT_ADDED agent=d\n< USER_INPUT @d t1 #1\n< TURN_ACCEPTED t1 of=d\nfence\n"},
	{reason: "A: no agent is active, SessionManager is asked, and the input goes to the new one",
		in: "set main a,b,c -\n> user USER_INPUT #1\n< REQUEST_ADD_AGENT agent=d\nfence\n" +
			"> manager ADD_AGENT_DONE agent=d\n< AGENT_ADDED agent=d\n< USER_INPUT @d t1 #1\n< TURN_ACCEPTED t1 of=d\nfence\n",
		broken: "071"},
	{reason: "A: a second input meanwhile waits", in: runs +
		"> user USER_INPUT #7\n< TURN_ACCEPTED t7 of=a\nfence\n> a AGENT_OUTPUT t1 #2 final\n< AGENT_OUTPUT t1 #2 final\n" +
		"< USER_INPUT @a t7 #7\nfence\n"},

	{reason: "B: the active agent is mentioned, and a switch is reported", in: abc +
		"> user USER_INPUT #1 mention=a\n< SWITCH_AGENT a>a\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\nfence\n"},
	{reason: "B: meanwhile, and done", in: runs +
		"> user USER_INPUT #7 mention=b\n< SWITCH_AGENT a>b\n< USER_INPUT @b t7 #7\n< TURN_ACCEPTED t7 of=b\nfence\n"},
	{reason: "B: meanwhile, and refused", in: runs +
		"> user USER_INPUT #7 mention=b\n< ERROR\nfence\n> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\n" + next},
	{reason: "B: meanwhile, refused, and the active agent changes nevertheless", in: runs +
		"> user USER_INPUT #7 mention=b\n< SWITCH_AGENT a>b\n< ERROR\nfence\n> a AGENT_OUTPUT t1 #3 final\n" +
		"< AGENT_OUTPUT t1 #3 final\n" + nextB},
	{reason: "B: meanwhile, and it waits for the time-out",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
			"> user USER_INPUT #7 mention=b\nfence\n+ 60ms\n< ROUTE_TIMEOUT t1\n" + released},
	{reason: "B: meanwhile, it waits for the time-out, and the switch is told to the frontend, too",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
			"> user USER_INPUT #7 mention=b\nfence\n+ 60ms\n< ROUTE_TIMEOUT t1\n< SWITCH_AGENT a>b on=FRONTEND\n" + released},
	{reason: "B: meanwhile, and it waits for the final", in: runs +
		"> user USER_INPUT #7 mention=b\nfence\n> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\n" + released},
	{reason: "B: meanwhile, and it waits for an ERROR of the agent", in: runs +
		"> user USER_INPUT #7 mention=b\nfence\n> a ERROR t1\n< ERROR t1\n" + released},
	{reason: "B: meanwhile, and it waits until the turn is cancelled", in: stops +
		"> user USER_INPUT #7 mention=b\nfence\n> a CANCEL_ACK t1\n< CANCELED t1\n" + released},
	{reason: "B: meanwhile, it waits, and another agent becomes active before it", in: runs +
		"> user USER_INPUT #7 mention=b\nfence\n> user SWITCH_AGENT a>c\n< SWITCH_AGENT a>c\nfence\n" +
		"> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\n< SWITCH_AGENT c>b\n< USER_INPUT @b t7 #7\n" +
		"< TURN_ACCEPTED t7 of=b\nfence\n"},
	{reason: "B: meanwhile, it waits, and the user switches to the same agent before it", in: runs +
		"> user USER_INPUT #7 mention=b\nfence\n> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\nfence\n" +
		"> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\n< SWITCH_AGENT b>b\n< USER_INPUT @b t7 #7\n" +
		"< TURN_ACCEPTED t7 of=b\nfence\n"},
	{reason: "B: meanwhile, an agent not in the session, and it waits", in: runs +
		"> user USER_INPUT #7 mention=x\nfence\n> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\n" +
		"< ERROR\nfence\n" + next},
	{reason: "B: meanwhile, an agent not in the session, which is added while it waits", in: runs +
		"> user USER_INPUT #7 mention=d\nfence\n> user INVITE_AGENT agent=d\n< REQUEST_ADD_AGENT agent=d x1\nfence\n" +
		"> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\nfence\n> a AGENT_OUTPUT t1 #3 final\n" +
		"< AGENT_OUTPUT t1 #3 final\n< SWITCH_AGENT a>d\n< USER_INPUT @d t7 #7\n< TURN_ACCEPTED t7 of=d\nfence\n"},
	{reason: "B: an agent being added, and the input waits", in: comes +
		"> user USER_INPUT #1 mention=d\nfence\n> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\n" +
		"< SWITCH_AGENT a>d\n< USER_INPUT @d t1 #1\n< TURN_ACCEPTED t1 of=d\nfence\n"},
	{reason: "B: an agent being added, and the input is dropped", in: comes +
		"> user USER_INPUT #1 mention=d\nfence\n> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\nfence\n"},
	{reason: "B: an agent being added, and an error", in: comes +
		"> user USER_INPUT #1 mention=d\n< ERROR\n> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\nfence\n"},
	{reason: "B: an agent not in the session, both", in: abc +
		"> user USER_INPUT #1 mention=x\n< REQUEST_ADD_AGENT agent=x\n< ADD_AGENT_FAILED\nfence\n", kept: "086 087"},
	{reason: "B: an agent being removed gets it", in: leaves +
		"> user USER_INPUT #1 mention=b\n< SWITCH_AGENT a>b\n< USER_INPUT @b t1 #1\n< TURN_ACCEPTED t1 of=b\nfence\n"},
	{reason: "B: an agent being removed does not get it", in: leaves +
		"> user USER_INPUT #1 mention=b\n< ERROR\nfence\n" + next},
	{reason: "B: an agent being removed is asked for again", in: leaves +
		"> user USER_INPUT #1 mention=b\n< REQUEST_ADD_AGENT agent=b\nfence\n> manager ADD_AGENT_DONE agent=b\n" +
		"< AGENT_ADDED agent=b\n< USER_INPUT @b t1 #1\n< TURN_ACCEPTED t1 of=b\nfence\n"},
	{reason: "B: an agent that could not be removed", in: leaves +
		"> manager REMOVE_AGENT_FAILED agent=b x1\n< REMOVE_AGENT_FAILED agent=b\nfence\n> user USER_INPUT #1 mention=b\n" +
		"< ERROR\nfence\n"},

	{reason: "G: output with nothing in it", in: speaks + `> a AGENT_OUTPUT t1 {"text":""} final` + "\n" +
		`< AGENT_OUTPUT t1 {"text":""} final` + "\nfence\n" + next, kept: "002 039"},
	{reason: "C: no agent is speaking, and it is reported", in: abc +
		"> user CANCEL\n< NO_ACTIVE_SPEAKING\n< CANCEL_SENT\nfence\n"},
	{reason: "C: before the first chunk, stopped", in: runs +
		"> user CANCEL\n< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n", kept: "105"},
	{reason: "C: before the first chunk, not stopped", in: runs +
		"> user CANCEL\n< NO_ACTIVE_SPEAKING\nfence\n> a AGENT_OUTPUT t1 #2 final\n< AGENT_OUTPUT t1 #2 final\nfence\n"},
	{reason: "C: right after the input, not stopped", in: abc +
		"> user USER_INPUT #1\n> user CANCEL\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\nfence\n"},
	{reason: "C: right after the first chunk", in: runs +
		"> a AGENT_OUTPUT t1 #2 chunk\n> user CANCEL\n< AGENT_OUTPUT t1 #2 chunk\n< CANCEL @a t1\nfence\n", kept: "099"},
	{reason: "C: confirmed before the CANCEL is seen", in: speaks +
		"> user CANCEL\n> a CANCEL_ACK t1\n< CANCEL @a t1\n< CANCELED t1\nfence\n", kept: "105"},
	{reason: "C: twice, the agent is asked once", in: stops +
		"> user CANCEL\nfence\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n", kept: "105"},
	{reason: "C: twice, the agent is asked twice", in: stops +
		"> user INTERRUPT\n< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n", kept: "105"},
	{reason: "C: the agent is asked once more by itself", in: stops + "< CANCEL @a t1\nfence\n"},
	{reason: "C: the final comes after the cancel, and then the confirmation", in: stops +
		"> a AGENT_OUTPUT t1 #4 final\n< AGENT_OUTPUT t1 #4 final\n> a CANCEL_ACK t1\nfence\n" + next},
	{reason: "C: the final comes after the cancel, and it is cancelled", in: stops +
		"> a AGENT_OUTPUT t1 #4 final\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n" + next},
	{reason: "C: an agent stops by itself, reported", in: speaks + "> a STREAM_STOPPED t1\n< CANCELED t1\nfence\n"},
	{reason: "C: an agent stops by itself, and nothing follows", in: speaks + "> a STREAM_STOPPED t1\nfence\n" + next},
	{reason: "C: an agent that has ended says that it has stopped", in: over +
		"> a STREAM_STOPPED t1\n> a CANCEL_ACK t1\nfence\n"},
	{reason: "C: confirmed twice", in: stops + "> a CANCEL_ACK t1\n< CANCELED t1\n> a STREAM_STOPPED t1\nfence\n"},
	{reason: "C: without a turn_id, cancelled", in: stops + "> a CANCEL_ACK t1\n< CANCELED\nfence\n", kept: "105"},
	{reason: "C: of two that speak one is stopped", in: beside +
		"> user CANCEL\n< CANCEL @b t6\nfence\n> a AGENT_OUTPUT t1 #8 final\n< AGENT_OUTPUT t1 #8 final\nfence\n",
		kept: "099"},
	{reason: "C: of two that speak both are stopped", in: beside +
		"> user CANCEL\n< CANCEL @b t6\n< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\n> b CANCEL_ACK t6\n" +
		"< CANCELED t6\nfence\n", kept: "099 105"},
	{reason: "C: of two that speak none is stopped", in: beside + "> user CANCEL\nfence\n", broken: "004 016 031 099"},
	{reason: "C: of two that speak one is stopped, and the other one is removed at once", in: beside +
		"> user CANCEL\n< CANCEL @b t6\nfence\n> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\nfence\n"},
	{reason: "C: of two that spoke one has ended, and the other one is stopped", in: beside + bEnds +
		"> user CANCEL\n< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n"},
	{reason: "C: of two that spoke one has ended, and the other one is not stopped", in: beside + bEnds +
		"> user CANCEL\nfence\n> a AGENT_OUTPUT t1 #10 final\n< AGENT_OUTPUT t1 #10 final\nfence\n"},
	{reason: "C: of two that spoke one was cancelled, and the other one is not stopped", in: beside +
		"> user CANCEL\n< CANCEL @b t6\n> b CANCEL_ACK t6\n< CANCELED t6\nfence\n> user CANCEL\nfence\n"},
	{reason: "C: while one is to stop another one speaks, and none is stopped any more", in: stops + "fence\n" + bSpeaks +
		"> user CANCEL\nfence\n"},
	{reason: "C: a short limit, confirmed, and reported",
		in: "set main a,b,c a 5s\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n> a INPUT_ACK t1\n" +
			"fence\n> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\n> user CANCEL\n< CANCEL @a t1\n" +
			"> a CANCEL_ACK t1\n< CANCELED t1\nfence\n"},
	{reason: "C: a short limit, confirmed too late",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
			"> a INPUT_ACK t1\nfence\n> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\n> user CANCEL\n" +
			"< CANCEL @a t1\n+ 80ms\n< CANCEL_TIMEOUT t1\n> a CANCEL_ACK t1\nfence\n"},
	{reason: "C: right after the input, stopped", in: abc +
		"> user USER_INPUT #1\n> user CANCEL\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n< CANCEL @a t1\n" +
		"> a CANCEL_ACK t1\n< CANCELED t1\nfence\n"},
	{reason: "C: a turn that has timed out is confirmed as cancelled, and has one outcome",
		in: "set main a,b,c a 60ms/60s\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
			"> user CANCEL\n< CANCEL @a t1\n+ 60ms\n< ROUTE_TIMEOUT t1\n> a CANCEL_ACK t1\nfence\n"},

	{reason: "D: an agent not in the session, asked", in: abc +
		"> user REMOVE_AGENT agent=x\n< REQUEST_REMOVE_AGENT agent=x\n> manager REMOVE_AGENT_DONE agent=x\n" +
		"< AGENT_REMOVED agent=x\nfence\n"},
	{reason: "D: an agent not in the session, refused", in: abc +
		"> user REMOVE_AGENT agent=x\n< AGENT_NOT_IN_SESSION\nfence\n" + next},
	{reason: "D: twice, asked once", in: leaves +
		"> user REMOVE_AGENT agent=b\n< ERROR\n> manager REMOVE_AGENT_DONE agent=b x1\n< AGENT_REMOVED agent=b\nfence\n"},
	{reason: "D: twice, asked twice", in: leaves +
		"> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=b x2\n> manager REMOVE_AGENT_DONE agent=b x1\n" +
		"< AGENT_REMOVED agent=b\n> manager REMOVE_AGENT_FAILED agent=b x2\n< REMOVE_AGENT_FAILED agent=b\nfence\n"},
	{reason: "D: an agent that has not begun to speak, asked at once", in: runs +
		"> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n< SWITCH_AGENT a>b\nfence\n"},
	{reason: "D: an agent that has not begun to speak, stopped first", in: runs +
		"> user REMOVE_AGENT agent=a\n< CANCEL @a t1\nfence\n> a CANCEL_ACK t1\n< CANCELED t1\n" +
		"< REQUEST_REMOVE_AGENT agent=a\n< SWITCH_AGENT a>b\nfence\n"},
	{reason: "D: right after the input, stopped first", in: abc +
		"> user USER_INPUT #1\n> user REMOVE_AGENT agent=a\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
		"< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\n< REQUEST_REMOVE_AGENT agent=a\n< SWITCH_AGENT a>b\nfence\n"},
	{reason: "D: a short limit, confirmed too late, and given up",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
			"> a INPUT_ACK t1\nfence\n> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\n> user REMOVE_AGENT agent=a\n" +
			"< CANCEL @a t1\n+ 80ms\n< REMOVE_AGENT_FAILED agent=a\n> a CANCEL_ACK t1\nfence\n"},
	{reason: "D: the active agent, and no agent is left",
		in: "set main a a\n> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n< SWITCH_AGENT a>\n" +
			"> manager REMOVE_AGENT_DONE agent=a\n< AGENT_REMOVED agent=a\nfence\n"},
	{reason: "D: a report that the agent is leaving", in: leaves + "< AGENT_REMOVING agent=b\nfence\n"},
	{reason: "D: an unexpected receipt, reported", in: abc +
		"> manager REMOVE_AGENT_DONE agent=b\n< AGENT_REMOVED agent=b\nfence\n"},
	{reason: "D: an unexpected receipt, not reported", in: abc +
		"> manager REMOVE_AGENT_DONE agent=b\n> manager REMOVE_AGENT_FAILED agent=c\nfence\n"},
	{reason: "D: it fails, and the active one is the fallback", in: abc +
		"> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n< SWITCH_AGENT a>b\n" +
		"> manager REMOVE_AGENT_FAILED agent=a\n< REMOVE_AGENT_FAILED agent=a\nfence\n" + nextB},
	{reason: "D: output between the request and the receipt, forwarded", in: runs +
		"> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n< SWITCH_AGENT a>b\n> a AGENT_OUTPUT t1 #2 final\n" +
		"< AGENT_OUTPUT t1 #2 final\nfence\n"},
	{reason: "D: output between the request and the receipt, dropped", in: runs +
		"> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n< SWITCH_AGENT a>b\n> a AGENT_OUTPUT t1 #2 final\n" +
		"fence\n"},
	{reason: "D: a short limit, confirmed in time",
		in: "set main a,b,c a 5s\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n> a INPUT_ACK t1\n" +
			"fence\n> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\n> user REMOVE_AGENT agent=a\n< CANCEL @a t1\n" +
			"> a CANCEL_ACK t1\n< CANCELED t1\n< REQUEST_REMOVE_AGENT agent=a\n> manager REMOVE_AGENT_DONE agent=a\n" +
			"< AGENT_REMOVED agent=a\n< SWITCH_AGENT a>b\nfence\n"},
	{reason: "D: the final comes in place of the confirmation, and it is asked then", in: speaks +
		"> user REMOVE_AGENT agent=a\n< CANCEL @a t1\n> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\n" +
		"< REQUEST_REMOVE_AGENT agent=a\n< SWITCH_AGENT a>b\nfence\n"},
	{reason: "D: no agent is left, reported with the receipt",
		in: "set main a a\n> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\nfence\n" +
			"> manager REMOVE_AGENT_DONE agent=a\n< AGENT_REMOVED agent=a\n< SWITCH_AGENT a>\nfence\n"},
	{reason: "D: the active one has changed meanwhile", in: abc +
		"> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n> user INVITE_AGENT agent=d\n" +
		"< REQUEST_ADD_AGENT agent=d\n> manager ADD_AGENT_DONE agent=d\n< AGENT_ADDED agent=d\n> user SWITCH_AGENT a>d\n" +
		"< SWITCH_AGENT a>d\n> manager REMOVE_AGENT_DONE agent=a\n< AGENT_REMOVED agent=a\nfence\n"},
	{reason: "D: an unexpected receipt, and a fallback", in: abc +
		"> manager REMOVE_AGENT_DONE agent=a\n< AGENT_REMOVED agent=a\n< SWITCH_AGENT a>b\nfence\n"},

	{reason: "E: an agent already present, asked", in: abc +
		"> user INVITE_AGENT agent=b\n< REQUEST_ADD_AGENT agent=b\n> manager ADD_AGENT_DONE agent=b\n" +
		"< AGENT_ADDED agent=b\nfence\n"},
	{reason: "E: an agent already present, refused", in: abc + "> user INVITE_AGENT agent=b\n< ERROR\nfence\n"},
	{reason: "E: twice, asked once", in: comes +
		"> user INVITE_AGENT agent=d\nfence\n> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\nfence\n"},
	{reason: "E: a report that the agent is coming", in: comes + "< ADDING_AGENT agent=d\nfence\n"},
	{reason: "E: an unexpected receipt, reported", in: abc +
		"> manager ADD_AGENT_DONE agent=d\n< AGENT_ADDED agent=d\nfence\n"},
	{reason: "E: an unexpected receipt, not reported", in: abc +
		"> manager ADD_AGENT_DONE agent=d\n> manager ADD_AGENT_FAILED agent=e\nfence\n"},
	{reason: "E: the new agent is not active, as no switch was reported", in: comes +
		"> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\nfence\nfence\n" + next, kept: "069"},
	{reason: "E: the failure is reported by any message", in: comes +
		"> manager ADD_AGENT_FAILED agent=d x1\n< AGENT_NOT_ADDED on=FRONTEND\nfence\n", kept: "126"},

	{reason: "F: an agent not in the session", in: over + "> a HANDOVER_REQUEST t1 of=x #5\n< ERROR\nfence\n" + next},
	{reason: "F: an agent not in the session, asked for", in: over +
		"> a HANDOVER_REQUEST t1 of=x #5\n< REQUEST_ADD_AGENT agent=x\nfence\n"},
	{reason: "F: to the active agent", in: over +
		"> a HANDOVER_REQUEST t1 of=a #5\n< HANDOVER_UI_PROMPT t1 of=a #5\n> user HANDOVER_CONFIRM t1\nfence\n"},
	{reason: "F: a second one meanwhile, refused", in: asked +
		"> a HANDOVER_REQUEST t1 of=c #6\n< ERROR\n> user HANDOVER_CONFIRM x1\n< SWITCH_AGENT a>b\n" +
		"< HANDOVER_CONTEXT @b #3\nfence\n"},
	{reason: "F: a second one meanwhile, asked", in: asked +
		"> a HANDOVER_REQUEST t1 of=c #6\n< HANDOVER_UI_PROMPT t1 x2 of=c #6\n> user HANDOVER_CONFIRM x2\n" +
		"< SWITCH_AGENT a>c\n< HANDOVER_CONTEXT @c #3\n> user HANDOVER_REJECT x1\nfence\n"},
	{reason: "F: a second one to the same agent meanwhile, in another turn, refused", in: asked +
		"> user USER_INPUT #6\n< USER_INPUT @a t6 #6\n< TURN_ACCEPTED t6 of=a\n> a INPUT_ACK t6\n" +
		"> a HANDOVER_REQUEST t6 of=b #7\n< ERROR\nfence\n"},
	{reason: "F: answered before it was asked", in: over +
		"> a HANDOVER_REQUEST t1 of=b #5\n> user HANDOVER_CONFIRM t1 x1\n< HANDOVER_UI_PROMPT t1 of=b #5\nfence\n"},
	{reason: "F: answered, without a request", in: abc + "> user HANDOVER_CONFIRM x7\n> user HANDOVER_REJECT\nfence\n"},
	{reason: "F: the old agent is stopped", in: speaks +
		"> a HANDOVER_REQUEST t1 of=b #5\n< HANDOVER_UI_PROMPT t1 x1 of=b #5\n> user HANDOVER_CONFIRM x1\n< CANCEL @a t1\n" +
		"< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @b #2\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n"},
	{reason: "F: the old agent goes on", in: speaks +
		"> a HANDOVER_REQUEST t1 of=b #5\n< HANDOVER_UI_PROMPT t1 x1 of=b #5\n> user HANDOVER_CONFIRM x1\n" +
		"< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @b #2\n> a AGENT_OUTPUT t1 #6 final\n< AGENT_OUTPUT t1 #6 final\nfence\n"},
	{reason: "F: the new agent acknowledges an input with the context", in: asked +
		"> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT a>b\n" + `< USER_INPUT @b t2 {"said":"#3"}` +
		"\n> b INPUT_ACK t2\n> b AGENT_OUTPUT t2 #6 final\n< AGENT_OUTPUT t2 #6 final\nfence\n"},
	{reason: "F: the agent has said nothing yet", in: runs +
		"> a HANDOVER_REQUEST t1 of=b #5\n< HANDOVER_UI_PROMPT t1 x1 of=b #5\n> user HANDOVER_CONFIRM x1\n" +
		"< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @b #5\nfence\n", kept: "135"},

	{reason: "G: of an unknown turn, reported", in: speaks + "> a AGENT_OUTPUT t0 #4 chunk\n< ERROR #4\nfence\n",
		absent: "141"},
	{reason: "G: between the cancel and its confirmation, dropped", in: stops +
		"> a AGENT_OUTPUT t1 #4 chunk\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n"},
	{reason: "G: after an error of its agent, forwarded", in: speaks +
		"> a ERROR t1 #4\n< ERROR #4\n> a AGENT_OUTPUT t1 #5 final\n< AGENT_OUTPUT t1 #5 final\nfence\n"},
	{reason: "G: after an error of its agent, dropped", in: speaks +
		"> a ERROR t1 #4\n< ERROR #4\n> a AGENT_OUTPUT t1 #5 final\nfence\n" + next},
	{reason: "G: sent before the last one was seen, forwarded", in: runs +
		"> a AGENT_OUTPUT t1 #2 chunk\n> a AGENT_OUTPUT t1 #3 final\n> user CANCEL\n< AGENT_OUTPUT t1 #2 chunk\n" +
		"< AGENT_OUTPUT t1 #3 final\nfence\n", absent: "097"},

	{reason: "H: opened twice, asked once", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n> user SESSION_OPEN\nfence\n"},
	{reason: "H: an unexpected receipt, reported", in: abc + "> manager SESSION_OPENED\n< SESSION_OPENED\nfence\n"},
	{reason: "H: an unexpected receipt, not reported", in: abc +
		"> manager SESSION_CLOSED\n> manager SESSION_FAILED\nfence\n" + next},
	{reason: "H: a receipt without the ids of its request, not reported", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN x1\n> manager SESSION_OPENED\nfence\n" + next},
	{reason: "H: a receipt without the ids of its request, reported", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN x1\n> manager SESSION_OPENED\n< SESSION_OPENED\nfence\n" + next},
	{reason: "D: a receipt without the ids of its request, not reported", in: leaves +
		"> manager REMOVE_AGENT_DONE agent=b\nfence\n" + next},
	{reason: "E: a receipt without the ids of its request, not reported", in: comes +
		"> manager ADD_AGENT_DONE agent=d\nfence\n" + next},
	{reason: "F: a confirmation without the ids of its prompt, ignored", in: asked + "> user HANDOVER_CONFIRM\nfence\n" +
		next},
	{reason: "H: any message after closing", in: over +
		"> user SESSION_CLOSE\n< REQUEST_SESSION_CLOSE\n> manager SESSION_CLOSED\n< SESSION_CLOSED\n> user USER_INPUT #9\n" +
		"> user REMOVE_AGENT agent=b\n> user CANCEL\n< AGENT_REMOVED agent=c\n< SWITCH_AGENT a>\nfence\n"},
	{reason: "H: of two that speak the last is stopped", in: beside +
		"> user SESSION_CLOSE\n< CANCEL @b t6\nfence\n> b CANCEL_ACK t6\n< CANCELED t6\n< REQUEST_SESSION_CLOSE\nfence\n" +
		"> a CANCEL_ACK t1\nfence\n", kept: "152"},
	{reason: "H: of two that speak the first is stopped", in: beside +
		"> user SESSION_CLOSE\n< CANCEL @a t1\nfence\n> b CANCEL_ACK t6\nfence\n> a CANCEL_ACK t1\n< CANCELED t1\n" +
		"< REQUEST_SESSION_CLOSE\nfence\n", kept: "152"},
	{reason: "H: of two that speak both are stopped", in: beside +
		"> user SESSION_CLOSE\n< CANCEL @a t1\n< CANCEL @b t6\nfence\n> b CANCEL_ACK t6\n< CANCELED t6\nfence\n" +
		"> a CANCEL_ACK t1\n< CANCELED t1\n< REQUEST_SESSION_CLOSE\nfence\n", kept: "152"},
	{reason: "H: of two that speak both are stopped, one after the other", in: beside +
		"> user SESSION_CLOSE\n< CANCEL @b t6\nfence\n> b CANCEL_ACK t6\n< CANCELED t6\n< CANCEL @a t1\nfence\n" +
		"> a CANCEL_ACK t1\n< CANCELED t1\n< REQUEST_SESSION_CLOSE\nfence\n", kept: "152"},
	{reason: "H: of two that speak one is stopped, and has ended", in: beside +
		"> user SESSION_CLOSE\n< CANCEL @b t6\nfence\n" + bEnds + "> a CANCEL_ACK t1\nfence\n"},
	{reason: "H: of two that spoke one has ended, and none is stopped", in: beside + bEnds +
		"> user SESSION_CLOSE\n< REQUEST_SESSION_CLOSE\nfence\n"},
	{reason: "H: of two that spoke one has ended, and the other one is stopped", in: beside + bEnds +
		"> user SESSION_CLOSE\n< CANCEL @a t1\nfence\n> a CANCEL_ACK t1\n< CANCELED t1\n< REQUEST_SESSION_CLOSE\nfence\n"},
	{reason: "D: of two that speak one is removed at once", in: beside +
		"> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\nfence\n"},
	{reason: "D: of two that speak one is removed once it is stopped", in: beside +
		"> user REMOVE_AGENT agent=a\n< CANCEL @a t1\nfence\n> a CANCEL_ACK t1\n< CANCELED t1\n" +
		"< REQUEST_REMOVE_AGENT agent=a\nfence\n"},
	{reason: "H: closed before the first chunk, asked at once", in: runs +
		"> user SESSION_CLOSE\n< REQUEST_SESSION_CLOSE\nfence\n"},
	{reason: "H: closed before the first chunk, stopped first", in: runs +
		"> user SESSION_CLOSE\n< CANCEL @a t1\nfence\n> a CANCEL_ACK t1\n< CANCELED t1\n< REQUEST_SESSION_CLOSE\nfence\n"},
	{reason: "H: a short limit, confirmed in time",
		in: "set main a,b,c a 5s\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n> a INPUT_ACK t1\n" +
			"fence\n> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\n> user SESSION_CLOSE\n< CANCEL @a t1\n" +
			"> a CANCEL_ACK t1\n< CANCELED t1\n< REQUEST_SESSION_CLOSE\n> manager SESSION_CLOSED\n< SESSION_CLOSED\nfence\n"},
	{reason: "H: the final comes in place of the confirmation, and it is asked then", in: speaks +
		"> user SESSION_CLOSE\n< CANCEL @a t1\n> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\n" +
		"< REQUEST_SESSION_CLOSE\nfence\n"},

	{reason: "D: a receipt for another agent, which is told", in: abc +
		"> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=b\nfence\n> manager REMOVE_AGENT_DONE agent=c\n" +
		"< AGENT_REMOVED agent=c\n> manager REMOVE_AGENT_DONE agent=b\n< AGENT_REMOVED agent=b\nfence\n"},
	{reason: "D: an error comes in place of the confirmation, and it is asked then", in: speaks +
		"> user REMOVE_AGENT agent=a\n< CANCEL @a t1\n> a ERROR t1 #4\n< ERROR t1 #4\n< REQUEST_REMOVE_AGENT agent=a\n" +
		"fence\n"},
	{reason: "D: another turn of the agent has begun, and is stopped first", in: speaks +
		"> user REMOVE_AGENT agent=a\n< CANCEL @a t1\n> user USER_INPUT #7\n< USER_INPUT @a t7 #7\n" +
		"< TURN_ACCEPTED t7 of=a\n> a AGENT_OUTPUT t7 #8 chunk\n< AGENT_OUTPUT t7 #8 chunk\n> a CANCEL_ACK t1\n" +
		"< CANCELED t1\n< CANCEL @a t7\nfence\n> a CANCEL_ACK t7\n< CANCELED t7\n< REQUEST_REMOVE_AGENT agent=a\nfence\n"},
	{reason: "H: two turns are confirmed before their cancels are seen", in: speaks +
		"> user USER_INPUT #7\n< USER_INPUT @a t7 #7\n< TURN_ACCEPTED t7 of=a\n> a INPUT_ACK t7\n" +
		"> a AGENT_OUTPUT t7 #8 chunk\n< AGENT_OUTPUT t7 #8 chunk\n> user SESSION_CLOSE\n> a CANCEL_ACK t7\n" +
		"> a CANCEL_ACK t1\n< CANCEL @a t1\n< CANCEL @a t7\n< CANCELED t1\n< CANCELED t7\n< REQUEST_SESSION_CLOSE\nfence\n"},
	{reason: "F: a confirmation without ids while two are open, and the first is meant", in: over +
		"> a HANDOVER_REQUEST t1 of=b #5\n< HANDOVER_UI_PROMPT t1 of=b #5\n> a HANDOVER_REQUEST t1 of=b #6\n< ERROR\n" +
		"> user HANDOVER_CONFIRM of=b\n< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @b #3\nfence\n"},

	{reason: "3: to the active agent, reported", in: abc + "> user SWITCH_AGENT a>a\n< SWITCH_AGENT a>a\n" + next},
	{reason: "3: to the active agent, not reported", in: abc + "> user SWITCH_AGENT a>a\n" + next},
	{reason: "3: to an agent not in the session, refused", in: abc + "> user SWITCH_AGENT a>x\n< ERROR\n" + next},
	{reason: "3: to an agent not in the session, done", in: abc + "> user SWITCH_AGENT a>x\n< SWITCH_AGENT a>x\nfence\n"},
	{reason: "3: a switch that was optional comes after a fence", in: abc +
		"> user SWITCH_AGENT a>a\nfence\n< SWITCH_AGENT a>a\nfence\n", broken: "065"},
	{reason: "3: reported elsewhere after a fence", in: abc +
		"> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\nfence\n< SWITCH_AGENT a>b on=BROADCAST\nfence\n", broken: "065"},
	{reason: "3: reported before the fence is answered", in: abc +
		"> user SWITCH_AGENT a>b\nask f\n< SWITCH_AGENT a>b\nfenced f\n", kept: "032"},
	{reason: "3: asked for after a fence that is answered later", in: abc +
		"ask f\n> user SWITCH_AGENT a>b\nfenced f\n< SWITCH_AGENT a>b\nfence\n", kept: "032"},

	{reason: "an error of an agent not in the session", in: abc + "> x ERROR #4\nfence\n"},
	{reason: "an error named by its turn", in: runs + "> a ERROR t1 #4\n< AGENT_NOT_IN_SESSION t1\nfence\n", kept: "011"},
	{reason: "a request without an id of its transaction",
		in: abc + "> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=b tx_id=-\nfence\n" +
			"> manager REMOVE_AGENT_DONE agent=b\n< AGENT_REMOVED agent=b\nfence\n", kept: "110"},
	{reason: "a prompt without an id, and a confirmation with ids",
		in: over + "> a HANDOVER_REQUEST t1 of=b #5\n" +
			`< HANDOVER_UI_PROMPT tx_id=- {"from":"agent-a","to":"agent-b","why":"needed\u0020#5","said":"#3"}` +
			"\n> user HANDOVER_CONFIRM t9 x9 of=b\n< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @b #3\nfence\n", kept: "131"},
	{reason: "an error named by neither", in: runs + "> a ERROR t1 #4\n< ERROR\nfence\n", kept: "011"},
	{reason: "messages of its own", in: abc +
		"< HELLO on=LOGGER\n< HELLO on=SESSION\n< ACTIVE_AGENT_CHANGED\n< ERROR\n< CANCEL_SENT\nfence\n"},
	{reason: "messages nobody asked for", in: abc +
		"> user HELLO\n> manager HELLO\n> a HELLO t1\n> a EVENT\n> logger USER_INPUT #1\nfence\n"},
	{reason: "messages without an id", in: abc +
		"> user USER_INPUT #1 -id\n> user USER_INPUT #7 -id\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
		"< USER_INPUT @a t7 #7\n< TURN_ACCEPTED t7 of=a\nfence\n"},
}

func TestLeftOpen(t *testing.T) {
	for _, r := range leftOpen {
		t.Run(r.reason, func(t *testing.T) { compare(t, r) })
	}
}
