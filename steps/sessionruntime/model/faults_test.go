package model

import (
	"slices"
	"strings"
	"testing"
)

// faults are transcripts with one mistake each, and the clauses that it breaks.
var faults = []row{
	{reason: "A: the input is lost", in: abc + "> user USER_INPUT #1\nfence\n", broken: "001 013 015 067 075"},
	{reason: "A: to another agent than the active one", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @b t1 #1\n< TURN_ACCEPTED t1 of=b\nfence\n", broken: "014 015 048 069"},
	{reason: "A: routed twice", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n< USER_INPUT @a t2 #1\nfence\n",
		broken: "075"},
	{reason: "A: an input never said", in: abc + "< USER_INPUT @a t1 #7\nfence\n", broken: "015"},
	{reason: "a message after the fence, and after something else", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\nfence\n> a INPUT_ACK t1\n< TURN_ACCEPTED t1 of=a\nfence\n",
		broken: "074"},
	{reason: "a message after the fence, and before any acknowledgement", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\nfence\n> user CANCEL\n< TURN_ACCEPTED t1 of=a\nfence\n"},
	{reason: "A: another payload", in: abc + `> user USER_INPUT {"text":"#1","n":1}` + "\n" +
		`< USER_INPUT @a t1 {"text":"#1","n":2}` + "\n< TURN_ACCEPTED t1 of=a\nfence\n", broken: "068"},
	{reason: "A: a payload in its printed form", in: abc + `> user USER_INPUT {"text":"#1"}` + "\n" +
		`< USER_INPUT @a t1 "map[text:#1]"` + "\n< TURN_ACCEPTED t1 of=a\nfence\n", broken: "068"},
	{reason: "A: metadata gone", in: abc + `> user USER_INPUT #1 meta={"page":{"n":1}}` +
		"\n< USER_INPUT @a t1 #1 meta={}\n< TURN_ACCEPTED t1 of=a\nfence\n", broken: "068"},
	{reason: "A: metadata changed", in: abc + `> user USER_INPUT #1 meta={"page":{"n":1}}` + "\n" +
		`< USER_INPUT @a t1 #1 meta={"page":{"n":2}}` + "\n< TURN_ACCEPTED t1 of=a\nfence\n", broken: "068"},
	{reason: "A: no turn_id", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a #1 trace_id=r1\n< TURN_ACCEPTED of=a trace_id=r1\nfence\n",
		broken: "053 072 075"},
	{reason: "A: no trace_id", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a t1 #1 trace_id=-\n< TURN_ACCEPTED t1 of=a trace_id=-\nfence\n",
		broken: "053 072 075"},
	{reason: "A: no turn_id, and accepted with one: nothing differs from an id that is not there", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a #1 trace_id=r1\n< TURN_ACCEPTED t1 of=a trace_id=r1\nfence\n",
		broken: "053 072 075"},
	{reason: "A: no turn_id, and accepted with another trace_id", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a #1 trace_id=r1\n< TURN_ACCEPTED t1 of=a trace_id=r2\nfence\n",
		broken: "053 072 075 076"},
	{reason: "A: no turn_id, and not accepted", in: abc + "> user USER_INPUT #1\n< USER_INPUT @a #1 trace_id=r1\nfence\n",
		broken: "009 053 072 074 075 076 170"},
	{reason: "A: no trace_id, and accepted with one", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a t1 #1 trace_id=-\n< TURN_ACCEPTED t1 of=a trace_id=r1\nfence\n",
		broken: "053 072 075"},
	{reason: "A: another turn_id than the user's", in: abc +
		"> user USER_INPUT #1 t7\n< USER_INPUT @a t8 #1 trace_id=rt7\n< TURN_ACCEPTED t8 of=a trace_id=rt7\nfence\n",
		broken: "072"},
	{reason: "A: another trace_id than the user's", in: abc +
		"> user USER_INPUT #1 t7\n< USER_INPUT @a t7 #1 trace_id=q\n< TURN_ACCEPTED t7 of=a trace_id=q\nfence\n",
		broken: "072"},
	{reason: "A: the turn_id of an earlier turn", in: over +
		"> user USER_INPUT #9\n< USER_INPUT @a t1 #9\n< TURN_ACCEPTED t1 of=a\nfence\n", broken: "052 072"},
	{reason: "D: a receipt for another agent is taken for this one's", in: abc +
		"> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=b\nfence\n> manager REMOVE_AGENT_DONE agent=c\n" +
		"< AGENT_REMOVED agent=b\nfence\n", broken: "115 116 159 160 171"},
	{reason: "A: not accepted", in: abc + "> user USER_INPUT #1\n< USER_INPUT @a t1 #1\nfence\n",
		broken: "009 074 076 170"},
	{reason: "A: accepted twice", in: routed + "< TURN_ACCEPTED t1 of=a\nfence\n", broken: "009 076"},
	{reason: "A: accepted for another turn", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t2 of=a\nfence\n", broken: "009 076"},
	{reason: "A: accepted without a turn_id", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED of=a\nfence\n", broken: "076"},
	{reason: "A: accepted without a trace_id", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a trace_id=-\nfence\n", broken: "076"},
	{reason: "A: accepted for another agent", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=b\nfence\n", broken: "055 076"},
	{reason: "A: an acknowledged turn times out",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
			"> a INPUT_ACK t1\nfence\n+ 60ms\n< ROUTE_TIMEOUT t1\nfence\n", broken: "003 077 080 161"},
	{reason: "A: too early",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 50ms\n" +
			"< ROUTE_TIMEOUT t1\nfence\n", broken: "077"},
	{reason: "A: twice",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 60ms\n" +
			"< ROUTE_TIMEOUT t1\n< ROUTE_TIMEOUT t1\nfence\n", broken: "056 078"},
	{reason: "A: of no turn", in: abc + "< ROUTE_TIMEOUT\nfence\n", broken: "056 078"},
	{reason: "A: of a finished turn", in: over + "< ROUTE_TIMEOUT t1\nfence\n", broken: "003 056 077 080 161"},
	{reason: "A: after a chunk that was forwarded",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n" +
			"> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\n+ 60ms\n< ROUTE_TIMEOUT t1\nfence\n", broken: "169"},
	{reason: "A: no agent is active, and nothing is done", in: "set main a,b,c -\n> user USER_INPUT #1\nfence\n",
		broken: "070"},
	{reason: "A: no agent is active, and it goes to an agent not in the session",
		in:     "set main a,b,c -\n> user USER_INPUT #1\n< USER_INPUT @x t1 #1\n< TURN_ACCEPTED t1 of=x\nfence\n",
		broken: "015 070"},
	{reason: "A: accepted before, and never routed", in: abc + "> user USER_INPUT #1\n< TURN_ACCEPTED t1 of=a\nfence\n",
		broken: "001 013 015 067 075"},
	{reason: "A: accepted before, of another turn", in: abc +
		"> user USER_INPUT #1\n< TURN_ACCEPTED t2 of=a\n< USER_INPUT @a t1 #1\nfence\n", broken: "076"},
	{reason: "A: started before it is acknowledged", in: routed + "< AGENT_STARTED t1\nfence\n", broken: "077"},
	{reason: "A: started after it has timed out",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 60ms\n" +
			"< ROUTE_TIMEOUT t1\n> a INPUT_ACK t1\n< AGENT_STARTED t1\nfence\n", broken: "079"},

	{reason: "B: by the payload, and to the active agent", in: abc +
		`> user USER_INPUT {"text":"#1","mentioned_agent_id":"agent-b"}` + "\n" +
		`< USER_INPUT @a t1 {"text":"#1","mentioned_agent_id":"agent-b"}` + "\n< TURN_ACCEPTED t1 of=a\nfence\n",
		broken: "049 084 086 088 092"},
	{reason: "B: by the subtype, and to the active agent", in: abc +
		"> user USER_INPUT #1 mention=b\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\nfence\n",
		broken: "049 083 086 088 092 174"},
	{reason: "B: by a choice, and to the active agent", in: abc + `> user USER_INPUT {"text":"#1"} mention=b` + "\n" +
		`< USER_INPUT @a t1 {"text":"#1"}` + "\n< TURN_ACCEPTED t1 of=a\nfence\n", broken: "049 085 086 088 092"},
	{reason: "B: no switch", in: abc +
		"> user USER_INPUT #1 mention=b\n< USER_INPUT @b t1 #1\n< TURN_ACCEPTED t1 of=b\nfence\n",
		broken: "006 063 065 089"},
	{reason: "B: the switch comes after the input", in: abc +
		"> user USER_INPUT #1 mention=b\n< USER_INPUT @b t1 #1\n< SWITCH_AGENT a>b\n< TURN_ACCEPTED t1 of=b\nfence\n",
		broken: "090"},
	{reason: "B: the switch alone", in: abc + "> user USER_INPUT #1 mention=b\n< SWITCH_AGENT a>b\nfence\n",
		broken: "030 049 086 092"},
	{reason: "B: meanwhile, it waits, and the switch is told again later", in: runs +
		"> user USER_INPUT #7 mention=b\nfence\n> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\n" + released +
		"fence\n< SWITCH_AGENT a>b\nfence\n", broken: "065"},
	{reason: "B: meanwhile, it waits, and an agent that nobody has named becomes active", in: runs +
		"> user USER_INPUT #7 mention=b\nfence\n> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\n" +
		"< SWITCH_AGENT a>c\nfence\n", broken: "049 065 083 086 092 174"},
	{reason: "B: and the next plain input to the agent before", in: abc +
		"> user USER_INPUT #1 mention=b\n< SWITCH_AGENT a>b\n< USER_INPUT @b t1 #1\n< TURN_ACCEPTED t1 of=b\n" +
		"> b INPUT_ACK t1\n> b AGENT_OUTPUT t1 #2 final\n< AGENT_OUTPUT t1 #2 final\n" + next,
		broken: "014 015 048 063 064 069 088"},
	{reason: "B: an agent not in the session, and nothing is done", in: abc + "> user USER_INPUT #1 mention=x\nfence\n",
		broken: "087"},
	{reason: "B: an agent not in the session, and it is routed there", in: abc +
		"> user USER_INPUT #1 mention=x\n< ERROR\n< USER_INPUT @x t1 #1\nfence\n", broken: "049 086 087"},
	{reason: "B: an agent not in the session, and it goes to the active one", in: abc +
		"> user USER_INPUT #1 mention=x\n< ERROR\n< USER_INPUT @a t1 #1\nfence\n", broken: "049 086 087"},
	{reason: "B: an agent not in the session, and it is made active", in: abc +
		"> user USER_INPUT #1 mention=x\n< REQUEST_ADD_AGENT agent=x\n< SWITCH_AGENT a>x\nfence\n",
		broken: "049 086 087 122"},

	{reason: "C: nothing is done", in: speaks + "> user CANCEL\nfence\n", broken: "004 016 031 099"},
	{reason: "C: stopped once, and not when another agent is active", in: stops +
		"> a CANCEL_ACK t1\n< CANCELED t1\n> user USER_INPUT #6\n< USER_INPUT @a t6 #6\n< TURN_ACCEPTED t6 of=a\n" +
		"> a INPUT_ACK t6\n> a AGENT_OUTPUT t6 #7 chunk\n< AGENT_OUTPUT t6 #7 chunk\n> user SWITCH_AGENT a>b\n" +
		"< SWITCH_AGENT a>b\n> user CANCEL\nfence\n", broken: "004 016 031 050 099 142"},
	{reason: "C: to another agent", in: speaks + "> user CANCEL\n< CANCEL @b t1\nfence\n", broken: "015 050 099"},
	{reason: "C: without ids", in: speaks + "> user CANCEL\n< CANCEL @a\nfence\n", broken: "099"},
	{reason: "C: without a trace_id", in: speaks + "> user CANCEL\n< CANCEL @a t1 trace_id=-\nfence\n", broken: "099"},
	{reason: "C: of an earlier turn", in: over +
		"> user USER_INPUT #9\n< USER_INPUT @a t9 #9\n< TURN_ACCEPTED t9 of=a\n> a INPUT_ACK t9\n" +
		"> a AGENT_OUTPUT t9 #10 chunk\n< AGENT_OUTPUT t9 #10 chunk\n> user CANCEL\n< CANCEL @a t1\nfence\n",
		broken: "098 099"},
	{reason: "C: no agent is speaking", in: abc + "> user CANCEL\n< CANCEL @a t1\nfence\n", broken: "097"},
	{reason: "C: no agent is speaking any more", in: over + "> user CANCEL\n< CANCEL @a t1\nfence\n", broken: "097 145"},
	{reason: "C: no agent is speaking since the confirmation", in: stops +
		"> a CANCEL_ACK t1\n< CANCELED t1\n> user CANCEL\n< CANCEL @a t1 turn_id=t0\nfence\n", broken: "097 103"},
	{reason: "C: cancelled before the confirmation", in: stops + "< CANCELED t1\nfence\n", broken: "100 102 105"},
	{reason: "C: cancelled without one", in: speaks + "< CANCELED t1\nfence\n", broken: "100 102 105"},
	{reason: "C: not cancelled", in: stops + "> a CANCEL_ACK t1\nfence\n", broken: "005 016 038 102 105"},
	{reason: "C: cancelled twice", in: stops + "> a CANCEL_ACK t1\n< CANCELED t1\n< CANCELED t1\nfence\n", broken: "105"},
	{reason: "C: cancelled, of another turn", in: stops + "> a CANCEL_ACK t1\n< CANCELED t0\nfence\n", broken: "105"},
	{reason: "C: confirmed by another agent", in: stops + "> b CANCEL_ACK t1\n< CANCELED t1\nfence\n",
		broken: "100 102 105"},
	{reason: "C: confirmed for another turn", in: stops + "> a CANCEL_ACK t0\n< CANCELED t1\nfence\n",
		broken: "100 102 105"},
	{reason: "C: output after the confirmation", in: stops +
		"> a CANCEL_ACK t1\n< CANCELED t1\n> a AGENT_OUTPUT t1 #4 chunk\n< AGENT_OUTPUT t1 #4 chunk\nfence\n",
		broken: "104 141 162"},
	{reason: "C: no cancel was requested", in: speaks + "< CANCEL @a t1\nfence\n", broken: "160"},
	{reason: "C: an INTERRUPT for the agent", in: speaks + "> user INTERRUPT\n< INTERRUPT @a t1\nfence\n",
		broken: "031 095 099"},

	{reason: "B: not accepted", in: abc +
		"> user USER_INPUT #1 mention=b\n< SWITCH_AGENT a>b\n< USER_INPUT @b t1 #1\nfence\n",
		broken: "009 074 076 093 170"},
	{reason: "B: an acknowledged turn times out",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1 mention=b\n< SWITCH_AGENT a>b\n< USER_INPUT @b t1 #1\n" +
			"< TURN_ACCEPTED t1 of=b\n> b INPUT_ACK t1\nfence\n+ 60ms\n< ROUTE_TIMEOUT t1\nfence\n",
		broken: "003 077 080 094 161"},

	{reason: "D: nothing is done", in: abc + "> user REMOVE_AGENT agent=b\nfence\n", broken: "008 018 020 034 108 110"},
	{reason: "D: the request has another name", in: abc +
		"> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE agent=b on=SYSTEM\nfence\n", broken: "110 172"},
	{reason: "D: the request goes elsewhere", in: abc +
		"> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=b on=BROADCAST\nfence\n", broken: "113"},
	{reason: "D: another agent", in: abc + "> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=c\nfence\n",
		broken: "110"},
	{reason: "D: no agent", in: abc + "> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT\nfence\n", broken: "110"},
	{reason: "D: no reason", in: abc + "> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=b -reason\nfence\n",
		broken: "110"},
	{reason: "D: another session", in: abc + "> user REMOVE_AGENT agent=b\n" +
		`< REQUEST_REMOVE_AGENT agent=b {"session_id":"other"}` + "\nfence\n", broken: "110"},
	{reason: "D: asked twice", in: leaves + "< REQUEST_REMOVE_AGENT agent=b\nfence\n", broken: "110"},
	{reason: "D: unrequested", in: abc + "< REQUEST_REMOVE_AGENT agent=b\nfence\n", broken: "110"},
	{reason: "D: asked before the cancel is confirmed", in: speaks +
		"> user REMOVE_AGENT agent=a\n< CANCEL @a t1\n< REQUEST_REMOVE_AGENT agent=a\nfence\n", broken: "060 106 109"},
	{reason: "D: asked without a cancel", in: speaks +
		"> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\nfence\n", broken: "060 106 109"},
	{reason: "D: not asked after the cancel, though it was without one", in: speaks +
		"> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=b\n> user REMOVE_AGENT agent=a\n< CANCEL @a t1\n" +
		"> a CANCEL_ACK t1\n< CANCELED t1\nfence\n", broken: "018 060 106 110"},
	{reason: "D: not asked after the cancel", in: speaks +
		"> user REMOVE_AGENT agent=a\n< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n", broken: "018 110"},
	{reason: "D: a silent agent is stopped", in: speaks +
		"> user REMOVE_AGENT agent=b\n< CANCEL @a t1\n< REQUEST_REMOVE_AGENT agent=b\nfence\n", broken: "160"},
	{reason: "D: reported before the receipt", in: leaves + "< AGENT_REMOVED agent=b\nfence\n",
		broken: "115 116 159 160 171"},
	{reason: "D: failure before the receipt", in: leaves + "< REMOVE_AGENT_FAILED agent=b\nfence\n", broken: "117"},
	{reason: "D: missing", in: leaves + "> manager REMOVE_AGENT_DONE agent=b x1\nfence\n", broken: "018 044 046 116 164"},
	{reason: "D: reported twice", in: leaves +
		"> manager REMOVE_AGENT_DONE agent=b x1\n< AGENT_REMOVED agent=b\n< AGENT_REMOVED agent=b\nfence\n", broken: "116"},
	{reason: "D: reported of another agent", in: leaves +
		"> manager REMOVE_AGENT_DONE agent=b x1\n< AGENT_REMOVED agent=c\nfence\n", broken: "116"},
	{reason: "D: the failure is not reported", in: leaves + "> manager REMOVE_AGENT_FAILED agent=b x1\nfence\n",
		broken: "044 046 117 164"},
	{reason: "D: the failure is reported as a success", in: leaves +
		"> manager REMOVE_AGENT_FAILED agent=b x1\n< AGENT_REMOVED agent=b\nfence\n", broken: "115 116 117"},
	{reason: "D: the active agent, and no switch", in: abc +
		"> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n> manager REMOVE_AGENT_DONE agent=a\n" +
		"< AGENT_REMOVED agent=a\nfence\n", broken: "006 063 065 112"},
	{reason: "D: the active agent, and a switch from another", in: abc +
		"> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n> manager REMOVE_AGENT_DONE agent=a\n" +
		"< AGENT_REMOVED agent=a\n< SWITCH_AGENT c>b\nfence\n", broken: "066 048"},
	{reason: "D: the active agent, and the next input goes elsewhere than the switch", in: abc +
		"> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n> manager REMOVE_AGENT_DONE agent=a\n" +
		"< AGENT_REMOVED agent=a\n< SWITCH_AGENT a>b\n" + nextC, broken: "014 015 048 063 064 069 112"},
	{reason: "D: while a cancel is not confirmed, asked before it is", in: stops +
		"fence\n> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n< SWITCH_AGENT a>b\nfence\n",
		broken: "060 106 109"},

	{reason: "E: nothing is done", in: abc + "> user INVITE_AGENT agent=d\nfence\n", broken: "017 020 033 119 120 121"},
	{reason: "E: asked twice", in: comes + "< REQUEST_ADD_AGENT agent=d\nfence\n", broken: "121"},
	{reason: "E: unrequested", in: abc + "< REQUEST_ADD_AGENT agent=d\nfence\n", broken: "121"},
	{reason: "E: another agent", in: abc + "> user INVITE_AGENT agent=d\n< REQUEST_ADD_AGENT agent=e\nfence\n",
		broken: "120"},
	{reason: "E: reported before the receipt", in: comes + "< AGENT_ADDED agent=d\nfence\n",
		broken: "025 119 122 126 127 159 160"},
	{reason: "E: missing", in: comes + "> manager ADD_AGENT_DONE agent=d x1\nfence\n", broken: "017 043 046 124 127 163"},
	{reason: "E: reported to another party", in: comes +
		"> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d on=SYSTEM\nfence\n", broken: "010 046 127"},
	{reason: "E: reported twice", in: comes +
		"> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\n< AGENT_ADDED agent=d\nfence\n", broken: "127"},
	{reason: "E: reported after it failed", in: comes +
		"> manager ADD_AGENT_FAILED agent=d x1\n< AGENT_ADDED agent=d\n< ERROR\nfence\n", broken: "126 127"},
	{reason: "E: the failure is not reported", in: comes + "> manager ADD_AGENT_FAILED agent=d x1\nfence\n",
		broken: "043 046 163"},
	{reason: "E: active before the receipt", in: comes + "< SWITCH_AGENT a>d\nfence\n", broken: "122"},
	{reason: "E: active without a switch", in: comes +
		"> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\nfence\n> user USER_INPUT #9\n< USER_INPUT @d t9 #9\n" +
		"< TURN_ACCEPTED t9 of=d\nfence\n", broken: "014 015 048 069"},
	{reason: "E: mentioned after it failed, and routed", in: comes +
		"> manager ADD_AGENT_FAILED agent=d x1\n< ERROR\n> user USER_INPUT #1 mention=d\n< ERROR\n< USER_INPUT @d t1 #1\n" +
		"fence\n", broken: "049 086 087 122"},

	{reason: "F: the frontend is not asked", in: over + "> a HANDOVER_REQUEST t1 of=b #5\nfence\n",
		broken: "007 019 038 130 131"},
	{reason: "F: it is asked twice", in: asked + "< HANDOVER_UI_PROMPT t1 of=b #5\nfence\n", broken: "131"},
	{reason: "F: it is asked without a request", in: abc + "< HANDOVER_UI_PROMPT t1 of=b #5\nfence\n", broken: "131"},
	{reason: "F: without the new agent", in: over + "> a HANDOVER_REQUEST t1 of=b #5\n" + `< HANDOVER_UI_PROMPT t1 #5` +
		"\nfence\n", broken: "130 132"},
	{reason: "F: without the reason", in: over + "> a HANDOVER_REQUEST t1 of=b #5\n< HANDOVER_UI_PROMPT t1 of=b\nfence\n",
		broken: "130 132"},
	{reason: "F: without a turn_id and words", in: over +
		"> a HANDOVER_REQUEST t1 of=b #5\n< HANDOVER_UI_PROMPT of=b #5\nfence\n", broken: "132"},
	{reason: "F: switched before it has confirmed", in: asked + "< SWITCH_AGENT a>b\nfence\n", broken: "061 128 133"},
	{reason: "F: switched for a confirmation of another one",
		in: asked + "> user HANDOVER_CONFIRM t9 x9\n< SWITCH_AGENT a>b\nfence\n", broken: "061 062 065 133 135 137"},
	{reason: "F: handed over before it has confirmed", in: asked + "< HANDOVER_CONTEXT @b #3\nfence\n",
		broken: "061 133 135"},
	{reason: "F: confirmed, and nothing is done", in: asked + "> user HANDOVER_CONFIRM t1 x1\nfence\n",
		broken: "006 019 035 061 063 065 134 135 165"},
	{reason: "F: no switch", in: asked + "> user HANDOVER_CONFIRM t1 x1\n< HANDOVER_CONTEXT @b #3\nfence\n",
		broken: "006 061 063 065 134"},
	{reason: "F: no context", in: asked + "> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT a>b\nfence\n",
		broken: "061 135"},
	{reason: "F: the context comes first", in: asked +
		"> user HANDOVER_CONFIRM t1 x1\n< HANDOVER_CONTEXT @b #3\n< SWITCH_AGENT a>b\nfence\n", broken: "061 136"},
	{reason: "F: the context goes elsewhere", in: asked +
		"> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @c #3\nfence\n", broken: "015 135"},
	{reason: "F: without output of the agent", in: asked +
		"> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @b #5\nfence\n", broken: "129 135"},
	{reason: "F: the context twice", in: asked +
		"> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @b #3\n< HANDOVER_CONTEXT @b #3\nfence\n",
		broken: "061 133 135"},
	{reason: "F: the switch once more, for a second confirmation", in: asked +
		"> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @b #3\nfence\n" +
		"> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT b>b\nfence\n", broken: "061 065 133 135 137"},
	{reason: "F: a switch after it has rejected", in: asked + "> user HANDOVER_REJECT t1 x1\n< SWITCH_AGENT a>b\nfence\n",
		broken: "137"},
	{reason: "F: a context after it has rejected", in: asked +
		"> user HANDOVER_REJECT t1 x1\n< HANDOVER_CONTEXT @b #3\nfence\n", broken: "137"},
	{reason: "F: never confirmed", in: over + "< HANDOVER_CONTEXT @b #3\nfence\n", broken: "061 133 135"},
	{reason: "F: the next input goes to the old agent", in: asked +
		"> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @b #3\nfence\n" + next,
		broken: "014 015 048 063 064 069 134"},
	{reason: "F: without the agent that asks", in: over + "> a HANDOVER_REQUEST t1 of=b #5\n" +
		`< HANDOVER_UI_PROMPT t1 {"to":"agent-b","why":"needed\u0020#5"}` + "\nfence\n", broken: "130 132"},
	{reason: "F: the prompt does not name what is asked", in: over + "> a HANDOVER_REQUEST t1 of=b #5\n" +
		`< HANDOVER_UI_PROMPT t1 {"from":"agent-a","to":"agent-b","why":"somehow"}` + "\nfence\n", broken: "130 132"},

	{reason: "G: lost", in: runs + "> a AGENT_OUTPUT t1 #2 chunk\nfence\n", broken: "002 039 082 139 140"},
	{reason: "G: twice", in: speaks + "< AGENT_OUTPUT t1 #2 chunk\nfence\n", broken: "002"},
	{reason: "G: in another order", in: runs +
		"> a AGENT_OUTPUT t1 #2 chunk\n> a AGENT_OUTPUT t1 #3 chunk\n< AGENT_OUTPUT t1 #3 chunk\n" +
		"< AGENT_OUTPUT t1 #2 chunk\nfence\n", broken: "139 150"},
	{reason: "G: the payload changed", in: runs + `> a AGENT_OUTPUT t1 chunk {"text":"#2","n":1}` + "\n" +
		`< AGENT_OUTPUT t1 chunk {"text":"#2"}` + "\nfence\n", broken: "148"},
	{reason: "G: metadata gone", in: runs + `> a AGENT_OUTPUT t1 chunk #2 meta={"model":"m"}` +
		"\n< AGENT_OUTPUT t1 chunk #2 meta={}\nfence\n", broken: "149"},
	{reason: "G: no metadata", in: runs + `> a AGENT_OUTPUT t1 chunk #2 meta={"model":"m"}` +
		"\n< AGENT_OUTPUT t1 chunk #2 -metadata\nfence\n", broken: "149"},
	{reason: "G: output never sent", in: speaks + "< AGENT_OUTPUT t1 #7 chunk\nfence\n", broken: "002 141"},
	{reason: "G: of a finished turn", in: over + "> a AGENT_OUTPUT t1 #4 chunk\n< AGENT_OUTPUT t1 #4 chunk\nfence\n",
		broken: "056 141"},
	{reason: "G: of another agent", in: speaks + "> b AGENT_OUTPUT t1 #4 chunk\n< AGENT_OUTPUT t1 #4 chunk\nfence\n",
		broken: "141"},
	{reason: "G: of a turn that there is not", in: speaks +
		"> a AGENT_OUTPUT t0 #4 chunk\n< AGENT_OUTPUT t0 #4 chunk\nfence\n", broken: "052 141"},
	{reason: "G: of a turn that has timed out",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 60ms\n" +
			"< ROUTE_TIMEOUT t1\n> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\nfence\n", broken: "079 141"},
	{reason: "G: the final of another agent ends the turn", in: speaks +
		"> b AGENT_OUTPUT t1 #4 final\n> user CANCEL\nfence\n", broken: "004 016 031 099"},

	{reason: "H: nothing is done", in: abc + "> user SESSION_OPEN\nfence\n", broken: "020 036 151 153"},
	{reason: "H: the other request", in: abc + "> user SESSION_OPEN\n< REQUEST_SESSION_CLOSE\nfence\n", broken: "153"},
	{reason: "H: asked twice", in: abc + "> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n< REQUEST_SESSION_OPEN\nfence\n",
		broken: "153"},
	{reason: "H: unrequested", in: abc + "< REQUEST_SESSION_CLOSE\nfence\n", broken: "153"},
	{reason: "H: closed before the cancel is confirmed", in: speaks +
		"> user SESSION_CLOSE\n< CANCEL @a t1\n< REQUEST_SESSION_CLOSE\nfence\n", broken: "152"},
	{reason: "H: closed without a cancel", in: speaks + "> user SESSION_CLOSE\n< REQUEST_SESSION_CLOSE\nfence\n",
		broken: "152"},
	{reason: "H: not closed after the cancel, though it was without one", in: abc +
		"> user SESSION_CLOSE\n< REQUEST_SESSION_CLOSE\n> manager SESSION_FAILED\n< ERROR\nfence\n" +
		strings.TrimPrefix(speaks, abc) + "> user SESSION_CLOSE\n< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n",
		broken: "152 153"},
	{reason: "H: of two that speak none is stopped", in: beside + "> user SESSION_CLOSE\n< REQUEST_SESSION_CLOSE\nfence\n",
		broken: "152"},
	{reason: "H: of two that speak one is stopped, and not waited for", in: beside +
		"> user SESSION_CLOSE\n< CANCEL @b t6\n< REQUEST_SESSION_CLOSE\nfence\n", broken: "152"},
	{reason: "H: of two that are stopped one is waited for", in: beside +
		"> user SESSION_CLOSE\n< CANCEL @a t1\n< CANCEL @b t6\nfence\n> b CANCEL_ACK t6\n< CANCELED t6\n" +
		"< REQUEST_SESSION_CLOSE\nfence\n", broken: "152"},
	{reason: "H: of two that are stopped both have confirmed", in: beside +
		"> user SESSION_CLOSE\n< CANCEL @a t1\n< CANCEL @b t6\nfence\n> b CANCEL_ACK t6\n< CANCELED t6\n" +
		"> a CANCEL_ACK t1\n< CANCELED t1\nfence\n", broken: "153"},
	{reason: "H: not closed after the cancel", in: speaks +
		"> user SESSION_CLOSE\n< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n", broken: "153"},
	{reason: "H: reported before the receipt", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n< SESSION_OPENED\nfence\n", broken: "154 155"},
	{reason: "H: not reported", in: abc + "> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n> manager SESSION_OPENED\nfence\n",
		broken: "045 046 155 166"},
	{reason: "H: reported as a CONTROL", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n> manager SESSION_OPENED\n< SESSION_OPENED event=CONTROL\nfence\n",
		broken: "155"},
	{reason: "H: reported to another party", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n> manager SESSION_OPENED\n< SESSION_OPENED on=SYSTEM\nfence\n",
		broken: "046 155"},
	{reason: "H: reported twice", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n> manager SESSION_OPENED\n< SESSION_OPENED\n< SESSION_OPENED\nfence\n",
		broken: "155"},
	{reason: "H: the failure is reported as a success", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n> manager SESSION_FAILED\n< SESSION_OPENED\nfence\n", broken: "155"},
	{reason: "H: the failure is not reported", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n> manager SESSION_FAILED\nfence\n", broken: "045 046 155 166"},
	{reason: "H: output of a turn that was stopped, once it is closed", in: speaks +
		"> user SESSION_CLOSE\n< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\n< REQUEST_SESSION_CLOSE\n" +
		"> manager SESSION_CLOSED\n< SESSION_CLOSED\n> a AGENT_OUTPUT t1 #4 chunk\n< AGENT_OUTPUT t1 #4 chunk\nfence\n",
		broken: "104 141 162"},
	{reason: "H: while a cancel is not confirmed, asked before it is", in: stops +
		"fence\n> user SESSION_CLOSE\n< REQUEST_SESSION_CLOSE\nfence\n", broken: "152"},

	{reason: "3: not reported", in: abc + "> user SWITCH_AGENT a>b\nfence\n", broken: "006 032 063 065"},
	{reason: "3: reported, and nothing has changed", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n" + next,
		broken: "014 015 048 063 064 069"},
	{reason: "3: without from", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b -from\nfence\n",
		broken: "066 048"},
	{reason: "3: without reason", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b -reason\nfence\n",
		broken: "066"},
	{reason: "3: without trigger", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b -trigger\nfence\n",
		broken: "066"},
	{reason: "3: from another agent", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT c>b\nfence\n",
		broken: "066 048"},
	{reason: "3: to another agent", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>c\nfence\n",
		broken: "006 032 063 065"},
	{reason: "3: reported to an agent", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b on=AGENT\nfence\n",
		broken: "091 167"},
	{reason: "3: reported twice", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\nfence\n",
		broken: "065"},
	{reason: "3: reported elsewhere, and of another agent", in: abc +
		"> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n< SWITCH_AGENT a>c on=BROADCAST\nfence\n", broken: "065"},
	{reason: "3: unrequested", in: abc + "< SWITCH_AGENT a>b\nfence\n", broken: "065"},
	{reason: "3: only to the frontend", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b on=FRONTEND\nfence\n",
		broken: "091 167"},

	{reason: "of two ERRORs the one about the turn is there", in: comes +
		"> manager ADD_AGENT_FAILED agent=d x1\n> user USER_INPUT #1 t7 mention=d\n< ERROR t7\nfence\n",
		broken: "043 046 163"},
	{reason: "of two ERRORs the one about the receipt is there", in: comes +
		"> manager ADD_AGENT_FAILED agent=d x1 t6\n> user USER_INPUT #1 t7 mention=d\n< ERROR t6\nfence\n", broken: "087"},
	{reason: "of two ERRORs the one of the agent is there", in: abc +
		"> user USER_INPUT #7 mention=x\n> a ERROR #4\n< ERROR #4\nfence\n", broken: "087"},
	{reason: "G: output with nothing in it is dropped", in: speaks + `> a AGENT_OUTPUT t1 {"text":""} final` + "\nfence\n",
		broken: "002 039 082 139 140 146"},
	{reason: "output is no news of a failure", in: runs +
		"> user INVITE_AGENT agent=d\n< REQUEST_ADD_AGENT agent=d x1\n> manager ADD_AGENT_FAILED agent=d x1\n" +
		"> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\nfence\n", broken: "043 046 163"},
	{reason: "a request that comes too early is the request", in: speaks +
		"> user REMOVE_AGENT agent=a\n< CANCEL @a t1\n< REQUEST_REMOVE_AGENT agent=a\n> a CANCEL_ACK t1\n< CANCELED t1\n" +
		"fence\n> manager REMOVE_AGENT_DONE agent=a\n< AGENT_REMOVED agent=a\n< SWITCH_AGENT a>b\nfence\n",
		broken: "060 106 109"},
	{reason: "a close that comes too early is the close", in: speaks +
		"> user SESSION_CLOSE\n< CANCEL @a t1\n< REQUEST_SESSION_CLOSE\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n",
		broken: "152"},
	{reason: "after a cancel that never came everything follows", in: speaks +
		"> user CANCEL\nfence\n> a CANCEL_ACK t1\n> a AGENT_OUTPUT t1 #4 chunk\n< AGENT_OUTPUT t1 #4 chunk\nfence\n" +
		"> user REMOVE_AGENT agent=b\nfence\n", broken: "004 016 031 099"},
	{reason: "what a message holds is reported all the same", in: speaks + "> user CANCEL\nfence\n" +
		`> a AGENT_OUTPUT t1 chunk {"text":"#4","n":1}` + "\n" + `< AGENT_OUTPUT t1 chunk {"text":"#4"}` + "\nfence\n",
		broken: "004 016 031 099 148"},
}

func TestFaults(t *testing.T) {
	for _, r := range slices.Concat(faults, messageFaults, lateFaults) {
		t.Run(r.reason, func(t *testing.T) { compare(t, r) })
	}
}
