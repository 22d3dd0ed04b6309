package model

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
)

// Beginnings of transcripts: a session, a routed turn, a running one, a speaking one, a finished one.
const (
	abc     = "set main a,b,c a\n"
	routed  = abc + "> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n"
	runs    = routed + "> a INPUT_ACK t1\n"
	speaks  = runs + "> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\n"
	over    = speaks + "> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\nfence\n"
	stops   = speaks + "> user CANCEL\n< CANCEL @a t1\n"
	bSpeaks = "> user USER_INPUT #6 mention=b\n< SWITCH_AGENT a>b\n< USER_INPUT @b t6 #6\n< TURN_ACCEPTED t6 of=b\n" +
		"> b INPUT_ACK t6\n> b AGENT_OUTPUT t6 #7 chunk\n< AGENT_OUTPUT t6 #7 chunk\n"
	beside = speaks + bSpeaks
	bEnds  = "> b AGENT_OUTPUT t6 #8 final\n< AGENT_OUTPUT t6 #8 final\n"
	asked  = over + "> a HANDOVER_REQUEST t1 of=b #5\n< HANDOVER_UI_PROMPT t1 x1 of=b #5\n"
	leaves = abc + "> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=b x1\n"
	comes  = abc + "> user INVITE_AGENT agent=d\n< REQUEST_ADD_AGENT agent=d x1\n"
	next   = "> user USER_INPUT #9\n< USER_INPUT @a t9 #9\n< TURN_ACCEPTED t9 of=a\nfence\n"
	// a mention that waited for the end of the turn
	released = "< SWITCH_AGENT a>b\n< USER_INPUT @b t7 #7\n< TURN_ACCEPTED t7 of=b\nfence\n"

	nextB = "> user USER_INPUT #9\n< USER_INPUT @b t9 #9\n< TURN_ACCEPTED t9 of=b\nfence\n"
	nextC = "> user USER_INPUT #9\n< USER_INPUT @c t9 #9\n< TURN_ACCEPTED t9 of=c\nfence\n"
)

// row is a transcript and the model's findings. Clauses are written without their RT-.
type row struct {
	reason string
	in     string
	kept   string // among others
	absent string // among others; kept by an absence
	broken string // exactly these
}

// courses are correct transcripts: no MUST is broken, and what they show is kept.
var courses = []row{
	{reason: "A: an input on its way", in: routed + "fence\n", kept: "001 015 069 075 068 072 053 076 009 074 055"},
	{reason: "a message after the fence, and nothing was delivered meanwhile", in: abc +
		"> user USER_INPUT #1\nfence\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\nfence\n", kept: "075 076"},
	{reason: "A: a structured payload", in: abc + `> user USER_INPUT {"text":"#1","n":[1.5,null]}` + "\n" +
		`< USER_INPUT @a t1 {"n":[1.5,null],"text":"#1"}` + "\n< TURN_ACCEPTED t1 of=a\nfence\n", kept: "068 075 069"},
	{reason: "A: ids of the user's own", in: abc +
		"> user USER_INPUT #1 t7\n< USER_INPUT @a t7 #1\n< TURN_ACCEPTED t7 of=a\nfence\n", kept: "072 075 076"},
	{reason: "A: metadata of the user's own", in: abc + `> user USER_INPUT #1 meta={"page":{"n":1}}` + "\n" +
		`< USER_INPUT @a t1 #1 meta={"page":{"n":1},"visibility":"x"}` + "\n< TURN_ACCEPTED t1 of=a\nfence\n", kept: "068"},
	{reason: "A: accepted as a CONTROL", in: abc +
		"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a event=CONTROL\nfence\n", kept: "076 009 074"},
	{reason: "A: a whole turn", in: over + "fence\n", kept: "002 015 039 148 149 150"},
	{reason: "A: the next turn", in: over + next, kept: "069 072 075 076"},
	{reason: "A: no acknowledgement",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 60ms\n" +
			"< ROUTE_TIMEOUT t1\nfence\n" + next, kept: "077 078"},
	{reason: "A: an acknowledgement that is none",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 60ms\n" +
			"< ROUTE_TIMEOUT t1\nfence\n> user USER_INPUT #9\n< USER_INPUT @a t9 #9\n< TURN_ACCEPTED t9 of=a\n" +
			"> a CANCEL_ACK t9\n+ 60ms\n< ROUTE_TIMEOUT t9\nfence\n", kept: "059"},
	{reason: "A: no agent is active, and there is a default agent",
		in:   "set main a,b,c -\n> user USER_INPUT #1\n< USER_INPUT @b t1 #1\n< TURN_ACCEPTED t1 of=b\nfence\n",
		kept: "070 075 076"},
	{reason: "A: no agent is active, and SessionManager is asked",
		in: "set main a,b,c -\n> user USER_INPUT #1\n< REQUEST_ADD_AGENT\nfence\n", kept: "070", broken: "071"},
	{reason: "A: accepted before the input is routed", in: abc +
		"> user USER_INPUT #1\n< TURN_ACCEPTED t1 of=a\n< USER_INPUT @a t1 #1\nfence\n", kept: "009 074 076"},
	{reason: "A: a default agent becomes the active one",
		in: "set main a,b,c -\n> user USER_INPUT #1\n< SWITCH_AGENT >b\n< USER_INPUT @b t1 #1\n< TURN_ACCEPTED t1 of=b\n" +
			"fence\n", kept: "070"},
	{reason: "A: a default agent becomes the active one, after the input",
		in: "set main a,b,c -\n> user USER_INPUT #1\n< USER_INPUT @b t1 #1\n< TURN_ACCEPTED t1 of=b\n< SWITCH_AGENT >b\n" +
			"fence\n", kept: "070"},

	{reason: "B: by the payload", in: abc + `> user USER_INPUT {"text":"#1","mentioned_agent_id":"agent-b"}` +
		"\n< SWITCH_AGENT a>b\n" + `< USER_INPUT @b t1 {"text":"#1","mentioned_agent_id":"agent-b"}` +
		"\n< TURN_ACCEPTED t1 of=b\nfence\n",
		kept: "084 086 088 092 089 090 065 063 066 006 091 048 093"},
	{reason: "B: by the subtype", in: abc +
		"> user USER_INPUT #1 mention=b subtype=MENTION\n< SWITCH_AGENT a>b on=BROADCAST\n< USER_INPUT @b t1 #1\n" +
		"< TURN_ACCEPTED t1 of=b\nfence\n",
		kept: "083 086 088 092 089 090 065 066 091 167"},
	{reason: "B: by a choice", in: abc +
		`> user USER_INPUT {"text":"#1","mentioned_agent_id":"agent-b"} mention=b subtype=MENTION` +
		"\n< SWITCH_AGENT a>b\n" + `< USER_INPUT @b t1 {"text":"#1","mentioned_agent_id":"agent-b"}` +
		"\n< TURN_ACCEPTED t1 of=b\nfence\n",
		kept: "085 086 088 092 089 090"},
	{reason: "B: and the next plain input", in: abc +
		"> user USER_INPUT #1 mention=b\n< SWITCH_AGENT a>b\n< USER_INPUT @b t1 #1\n< TURN_ACCEPTED t1 of=b\n" +
		"> b INPUT_ACK t1\n> b AGENT_OUTPUT t1 #2 final\n< AGENT_OUTPUT t1 #2 final\n" + nextB, kept: "069 083 088 092"},
	{reason: "B: the active agent", in: abc +
		"> user USER_INPUT #1 mention=a\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\nfence\n", kept: "083 088 092"},
	{reason: "B: no acknowledgement",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1 mention=b\n< SWITCH_AGENT a>b\n< USER_INPUT @b t1 #1\n" +
			"< TURN_ACCEPTED t1 of=b\n+ 60ms\n< ROUTE_TIMEOUT t1\nfence\n", kept: "077 078 094 093"},
	{reason: "B: an agent not in the session, and SessionManager is asked", in: abc +
		"> user USER_INPUT #1 mention=x\n< REQUEST_ADD_AGENT agent=x\nfence\n" + next, kept: "086 087", absent: "086 087"},
	{reason: "B: which is added", in: abc +
		"> user USER_INPUT #1 mention=x\n< REQUEST_ADD_AGENT agent=x\n> manager ADD_AGENT_DONE agent=x\n" +
		"< AGENT_ADDED agent=x\n< SWITCH_AGENT a>x\n< USER_INPUT @x t1 #1\n< TURN_ACCEPTED t1 of=x\nfence\n",
		kept: "086 087 127 092"},
	{reason: "B: which is not added", in: abc +
		"> user USER_INPUT #1 mention=x\n< REQUEST_ADD_AGENT agent=x\n> manager ADD_AGENT_FAILED agent=x\n" +
		"< ADD_AGENT_FAILED\nfence\n" + next, kept: "086 087 126 043 046"},
	{reason: "B: an agent not in the session, and an error", in: abc +
		"> user USER_INPUT #1 mention=x\n< AGENT_NOT_IN_SESSION\nfence\n" + next, kept: "086 087", absent: "086 087"},
	{reason: "B: no acknowledgement",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1 mention=b\n< SWITCH_AGENT a>b\n< USER_INPUT @b t1 #1\n" +
			"< TURN_ACCEPTED t1 of=b\n+ 70ms\n< ROUTE_TIMEOUT t1\nfence\n" + nextB, kept: "094 078"},
	{reason: "B: an agent being added, and later an error of another", in: comes +
		"> user USER_INPUT #1 mention=d\nfence\n> a ERROR #4\n< ERROR #4\nfence\n", kept: "011 040"},
	{reason: "B: an agent being added, and a later mention of one not in the session", in: comes +
		"> user USER_INPUT #1 mention=d\nfence\n> user USER_INPUT #6 mention=x\n< AGENT_NOT_IN_SESSION\nfence\n",
		kept: "086 087"},

	{reason: "C: a cancel", in: stops + "> a CANCEL_ACK t1\n< CANCELED t1\nfence\n> user CANCEL\nfence\n" + next,
		kept: "004 016 031 050 095 098 099 005 038 102 105", absent: "100 105 097"},
	{reason: "C: an interrupt, and a stream that stops", in: speaks +
		"> user INTERRUPT\n< CANCEL @a t1\n> a STREAM_STOPPED t1\n< CANCELED t1\nfence\n", kept: "095 099 102 105"},
	{reason: "C: no agent is speaking", in: abc + "> user CANCEL\n< NO_ACTIVE_SPEAKING\nfence\n", absent: "097"},
	{reason: "C: no agent is speaking any more", in: over + "> user CANCEL\nfence\n", absent: "097 145"},
	{reason: "C: output until the confirmation, none after it", in: stops +
		"> a AGENT_OUTPUT t1 #4 chunk\n< AGENT_OUTPUT t1 #4 chunk\n> a CANCEL_ACK t1\n< CANCELED t1\n" +
		"> a AGENT_OUTPUT t1 #5 final\nfence\n", kept: "105 148", absent: "104 141 162"},
	{reason: "C: it is never confirmed", in: stops + "fence\n< CANCEL_TIMEOUT t1\nfence\n", kept: "099",
		absent: "100 105"},
	{reason: "C: the agent that speaks is not the active one", in: speaks +
		"> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n> user CANCEL\n< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\n" +
		"fence\n" + nextB, kept: "050 099 105"},
	{reason: "C: the confirmation of another agent, and of another turn", in: stops +
		"> b CANCEL_ACK t1\n> a CANCEL_ACK t0\nfence\n> a CANCEL_ACK t1\n< CANCELED t1\nfence\n", kept: "105"},

	{reason: "D: a silent agent", in: leaves +
		"> manager REMOVE_AGENT_DONE agent=b x1\n< AGENT_REMOVED agent=b\nfence\n" + next,
		kept: "008 018 020 034 110 113 010 044 046 115 116 164", absent: "115 116 171"},
	{reason: "D: it fails", in: leaves +
		"> manager REMOVE_AGENT_FAILED agent=b x1\n< REMOVE_AGENT_FAILED agent=b\nfence\n", kept: "044 046 117 164"},
	{reason: "D: a speaking agent", in: speaks +
		"> user REMOVE_AGENT agent=a\n< CANCEL @a t1\n> a CANCEL_ACK t1\n< CANCELED t1\n< REQUEST_REMOVE_AGENT agent=a\n" +
		"> manager REMOVE_AGENT_DONE agent=a\n< AGENT_REMOVED agent=a\n< SWITCH_AGENT a>b\nfence\n" + nextB,
		kept: "060 106 109 105 110 116 112 065", absent: "060 106 109"},
	{reason: "D: the active agent, switched with the request", in: abc +
		"> user REMOVE_AGENT agent=a\n< SWITCH_AGENT a>c\n< REQUEST_REMOVE_AGENT agent=a\nfence\n" +
		"> manager REMOVE_AGENT_DONE agent=a\n< AGENT_REMOVED agent=a\nfence\n" + nextC, kept: "112 065 066 116"},
	{reason: "D: session_id in the payload", in: abc + "> user REMOVE_AGENT agent=b\n" +
		`< REQUEST_REMOVE_AGENT agent=b {"session_id":"main","agent_id":"agent-b"}` + "\nfence\n", kept: "110"},
	{reason: "D: another agent is speaking", in: speaks +
		"> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=b\nfence\n> manager REMOVE_AGENT_DONE agent=b\n" +
		"< AGENT_REMOVED agent=b\n> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\nfence\n", kept: "110 116 002"},
	{reason: "D: output of a removed agent", in: speaks +
		"> user REMOVE_AGENT agent=a\n< CANCEL @a t1\n> a STREAM_STOPPED t1\n< CANCELED t1\n" +
		"< REQUEST_REMOVE_AGENT agent=a\n> a AGENT_OUTPUT t1 #7 chunk\nfence\n", absent: "104 141"},
	{reason: "D: two, answered the other way round", in: leaves +
		"> user REMOVE_AGENT agent=c\n< REQUEST_REMOVE_AGENT agent=c x2\n> manager REMOVE_AGENT_DONE agent=c x2\n" +
		"< AGENT_REMOVED agent=c\n> manager REMOVE_AGENT_FAILED agent=b x1\n< REMOVE_AGENT_FAILED agent=b\nfence\n",
		kept: "116 117"},
	{reason: "D: the last agent",
		in: "set main a a\n> user REMOVE_AGENT agent=a\n< REQUEST_REMOVE_AGENT agent=a\n" +
			"> manager REMOVE_AGENT_DONE agent=a\n< AGENT_REMOVED agent=a\nfence\n", kept: "110 116"},

	{reason: "E: an invitation", in: comes + "fence\n> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\nfence\n" +
		next, kept: "017 020 033 119 120 121 010 043 046 124 127 163", absent: "122 126 127"},
	{reason: "E: it is made the active one", in: comes +
		"> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\n< SWITCH_AGENT a>d\nfence\n> user USER_INPUT #9\n" +
		"< USER_INPUT @d t9 #9\n< TURN_ACCEPTED t9 of=d\nfence\n", kept: "127 006 069"},
	{reason: "E: it fails", in: comes + "> manager ADD_AGENT_FAILED agent=d x1\n< ADD_AGENT_FAILED agent=d\nfence\n",
		kept: "043 046 126 163", absent: "127"},
	{reason: "E: and is mentioned", in: comes +
		"> manager ADD_AGENT_DONE agent=d x1\n< AGENT_ADDED agent=d\nfence\n> user USER_INPUT #1 mention=d\n" +
		"< SWITCH_AGENT a>d\n< USER_INPUT @d t1 #1\n< TURN_ACCEPTED t1 of=d\nfence\n", kept: "092 089"},
	{reason: "E: the request names the agent outside its payload", in: abc +
		"> user INVITE_AGENT agent=d\n< REQUEST_ADD_AGENT agent_id=agent-d\nfence\n", kept: "121"},

	{reason: "F: confirmed", in: asked +
		"fence\n> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT a>b\n< HANDOVER_CONTEXT @b #3\nfence\n" + nextB,
		kept: "007 019 038 128 131 132 130 035 061 134 065 165 135 136 129", absent: "133 128"},
	{reason: "F: confirmed, and the context is an input", in: asked +
		"> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT a>b on=BROADCAST\n" +
		`< USER_INPUT @b t2 {"from":"agent-a","said":"#2,#3"}` + "\n< TURN_ACCEPTED t2 of=b\nfence\n",
		kept: "134 135 136 129"},
	{reason: "F: rejected", in: asked + "> user HANDOVER_REJECT t1 x1\nfence\n" + next, kept: "131 132",
		absent: "137 133"},
	{reason: "F: while the agent is still speaking", in: speaks +
		"> a HANDOVER_REQUEST t1 of=b #5\n< HANDOVER_UI_PROMPT t1 of=b #5\n> a AGENT_OUTPUT t1 #3 final\n" +
		"< AGENT_OUTPUT t1 #3 final\nfence\n", kept: "131 132 002"},

	{reason: "G: chunks one right after the other", in: runs +
		"> a AGENT_OUTPUT t1 #2 chunk\n> a AGENT_OUTPUT t1 #3 chunk\n> a AGENT_OUTPUT t1 #4 final\n" +
		"< AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #3 chunk\n< AGENT_OUTPUT t1 #4 final\nfence\n",
		kept: "002 039 150 148 149"},
	{reason: "G: odd values", in: runs +
		`> a AGENT_OUTPUT t1 final {"#2":[{}],"":null} meta={"model":{"t":0.25},"none":null}` + "\n" +
		`< AGENT_OUTPUT t1 final {"":null,"#2":[{}]} meta={"none":null,"model":{"t":0.250},"mark":1}` + "\nfence\n",
		kept: "148 149"},
	{reason: "G: of an agent no longer active", in: speaks +
		"> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\nfence\n",
		kept: "002 032 063"},
	{reason: "G: of a turn that has completed", in: over +
		"> a AGENT_OUTPUT t1 #4 chunk\n> a AGENT_OUTPUT t1 #5 final\nfence\n", absent: "141"},
	{reason: "G: of another agent", in: speaks +
		"> b AGENT_OUTPUT t1 #4 final\nfence\n> a AGENT_OUTPUT t1 #3 final\n< AGENT_OUTPUT t1 #3 final\nfence\n", kept: "002",
		absent: "141"},
	{reason: "G: of a turn that there is not", in: speaks +
		"> a AGENT_OUTPUT t0 #4 final\n> a AGENT_OUTPUT #5 final\n< ERROR t0\nfence\n", absent: "141 052"},
	{reason: "G: of a turn that has timed out",
		in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n+ 60ms\n" +
			"< ROUTE_TIMEOUT t1\n> a INPUT_ACK t1\n> a AGENT_OUTPUT t1 #2 final\nfence\n", absent: "141 079"},

	{reason: "H: opened", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN x1\nfence\n> manager SESSION_OPENED x1\n< SESSION_OPENED\nfence\n" +
		next, kept: "020 036 151 153 045 046 154 155 166", absent: "154"},
	{reason: "H: closed", in: over +
		"> user SESSION_CLOSE\n< REQUEST_SESSION_CLOSE\nfence\n> manager SESSION_CLOSED\n< SESSION_CLOSED\nfence\n",
		kept: "036 153 155"},
	{reason: "H: closed while an agent is speaking", in: speaks +
		"> user SESSION_CLOSE\n< CANCEL @a t1\nfence\n> a CANCEL_ACK t1\n< CANCELED t1\n< REQUEST_SESSION_CLOSE\n" +
		"> manager SESSION_CLOSED\n< SESSION_CLOSED\nfence\n", kept: "152 153 105 155", absent: "152"},
	{reason: "H: reported under another name", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n> manager SESSION_OPENED\n" +
		"< SESSION_IS_OPENED event=EVENT on=FRONTEND\nfence\n", kept: "155"},
	{reason: "H: could not be opened, reported by an error", in: abc +
		"> user SESSION_OPEN\n< REQUEST_SESSION_OPEN\n> manager SESSION_FAILED\n< ERROR\nfence\n", kept: "045 046 155 166"},
	{reason: "H: could not be closed, reported by an event", in: abc +
		"> user SESSION_CLOSE\n< REQUEST_SESSION_CLOSE\n> manager SESSION_FAILED\n< SESSION_FAILED\nfence\n" + next,
		kept: "045 046 155 166"},

	{reason: "3: the user switches", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n" + nextB,
		kept: "032 063 065 066 006 091 048"},
	{reason: "3: and says something right after it", in: abc +
		"> user SWITCH_AGENT a>b\n> user USER_INPUT #9\n< SWITCH_AGENT a>b\n< USER_INPUT @b t9 #9\n" +
		"< TURN_ACCEPTED t9 of=b\nfence\n", kept: "032 069"},
	{reason: "3: from none", in: "set main a,b -\n> user SWITCH_AGENT >b\n< SWITCH_AGENT >b\n" + nextB, kept: "032 066"},
	{reason: "3: reported on SYSTEM, on BROADCAST and to the frontend", in: abc +
		"> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n< SWITCH_AGENT a>b on=BROADCAST\n< SWITCH_AGENT a>b on=FRONTEND\n" +
		"< ACTIVE_AGENT_CHANGED\n" + nextB, kept: "032 091 167"},

	{reason: "an error of an agent", in: speaks + "> a ERROR t1 #4\n< ERROR t1 #4\nfence\n", kept: "011 040"},
	{reason: "an error of SessionManager", in: abc + "> manager ERROR #4\n< ERROR #4\nfence\n", kept: "011"},
	{reason: "an input on BROADCAST", in: abc + "> user USER_INPUT #1 on=BROADCAST\nfence\n", absent: "028"},
	{reason: "messages of the logger", in: abc + "> logger SWITCH_AGENT a>b\n> logger SWITCH_AGENT a>b on=BROADCAST\n" +
		next, kept: "069", absent: "028"},
	{reason: "messages of agents on BROADCAST", in: routed +
		"> a INPUT_ACK t1 on=BROADCAST\n> a AGENT_OUTPUT t1 #2 final on=BROADCAST\n< AGENT_OUTPUT t1 #2 final\nfence\n",
		kept: "002 039"},
	{reason: "messages of agents on BROADCAST, after others on SYSTEM", in: over +
		"> user USER_INPUT #9\n< USER_INPUT @a t9 #9\n< TURN_ACCEPTED t9 of=a\n> a INPUT_ACK t9 on=BROADCAST\n" +
		"> a AGENT_OUTPUT t9 #10 final on=BROADCAST\n< AGENT_OUTPUT t9 #10 final\nfence\n", kept: "042 168"},
	{reason: "A: an acknowledgement within the limit", in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n" +
		"< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n> a INPUT_ACK t1\nfence\n+ 60ms\npast acknowledging an input\n",
		absent: "003 077 080 161"},
	{reason: "C: never confirmed", in: stops + "fence\npast confirming a cancel\n", absent: "100 102 105 160"},
	{reason: "C: an INPUT_ACK meanwhile", in: stops + "> a INPUT_ACK t1\nfence\n", absent: "059"},
	{reason: "3: a switch while an agent is speaking", in: abc + bSpeaks +
		"> user SWITCH_AGENT b>c\n< SWITCH_AGENT b>c\nfence\n", kept: "176"},
	{reason: "an input that two subscriptions deliver", in: abc +
		"> user USER_INPUT #1 id=i\n> user USER_INPUT #1 id=i on=BROADCAST\n< USER_INPUT @a t1 #1\n" +
		"< TURN_ACCEPTED t1 of=a\nfence\n", kept: "075", absent: "042"},
	{reason: "output that two subscriptions deliver", in: runs +
		"> a AGENT_OUTPUT t1 #2 chunk id=i\n> a AGENT_OUTPUT t1 #2 chunk id=i on=BROADCAST\n< AGENT_OUTPUT t1 #2 chunk\n" +
		"fence\n", kept: "002", absent: "042"},
	{reason: "a confirmation that two subscriptions deliver", in: stops +
		"> a CANCEL_ACK t1 id=i\n> a CANCEL_ACK t1 id=i\n< CANCELED t1\nfence\n", kept: "105", absent: "042"},
	{reason: "its own messages come back", in: abc +
		"> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n> self SWITCH_AGENT a>b back\nfence\n" + nextB, kept: "032",
		absent: "175"},
}

// compare judges one row.
func compare(t *testing.T, r row) {
	t.Helper()
	found := Judge(script(t, r.in))
	kept, broken, absent := summed(found)
	if diff := cmp.Diff(clauses(r.broken), sortedKeys(broken)); diff != "" {
		t.Errorf("broken; want(-) got(+):\n%s%s", diff, told(found))
	}
	for _, id := range clauses(r.kept) {
		if !kept[id] {
			t.Errorf("%s is not kept: only %v are", id, sortedKeys(kept))
		}
	}
	for _, id := range clauses(r.absent) {
		if !absent[id] {
			t.Errorf("of %s nothing is absent: only of %v", id, sortedKeys(absent))
		}
	}
}

func sortedKeys(set map[string]bool) []string {
	if len(set) == 0 {
		return nil
	}
	return listOf(set)
}

func TestCourses(t *testing.T) {
	for _, r := range courses {
		t.Run(r.reason, func(t *testing.T) { compare(t, r) })
	}
}

// TestUpdateShown: only an input behind a change of the active agent shows that the change takes effect at once.
func TestUpdateShown(t *testing.T) {
	for in, want := range map[string]bool{
		"> user USER_INPUT #9\n< USER_INPUT @a t9 #9\n":                                              false,
		"> user USER_INPUT #9 mention=a\n< USER_INPUT @a t9 #9\n":                                    false,
		"> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n> user USER_INPUT #9\n< USER_INPUT @b t9 #9\n": true,
	} {
		shown := slices.ContainsFunc(Judge(script(t, abc+in)), func(f verdict.Finding) bool {
			return f.OK && slices.Contains(f.Clauses, "RT-064")
		})
		if shown != want {
			t.Errorf("%s: RT-064 is shown: %v", in, shown)
		}
	}
}
