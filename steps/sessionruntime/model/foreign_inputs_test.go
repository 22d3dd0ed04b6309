package model_test

// Parts of transcripts.
const (
	abc      = "set agent-a,agent-b,agent-c agent-a\n"
	says     = `> frontend USER_INPUT {"payload":{"text":"Hi"}}` + "\n"
	routes   = `< USER_INPUT AGENT {"target_id":"agent-a","turn_id":"t1","payload":{"text":"Hi"}}` + "\n"
	accept   = `< EVENT/TURN_ACCEPTED FRONTEND {"turn_id":"t1","payload":{"target_agent":"agent-a"}}` + "\n"
	runs     = abc + says + routes + accept
	ack      = `> agent-a CONTROL/INPUT_ACK {"turn_id":"t1"}` + "\n"
	chunk    = `> agent-a AGENT_OUTPUT {"turn_id":"t1","payload":"one","is_chunk":true,"metadata":{"model":"m"}}` + "\n"
	chunkOut = `< AGENT_OUTPUT FRONTEND {"turn_id":"t1","payload":"one","is_chunk":true,"metadata":{"model":"m",` +
		`"x":1}}` + "\n"
	final    = `> agent-a AGENT_OUTPUT {"turn_id":"t1","payload":"two","final":true}` + "\n"
	finalOut = `< AGENT_OUTPUT FRONTEND {"turn_id":"t1","payload":"two","final":true}` + "\n"
	speaks   = runs + ack + chunk + chunkOut
	over     = speaks + final + finalOut
	next     = `> frontend USER_INPUT {"payload":{"text":"Next"}}` + "\n"
	nextToA  = `< USER_INPUT AGENT {"target_id":"agent-a","turn_id":"t2","payload":{"text":"Next"}}` + "\n"
	nextToB  = `< USER_INPUT AGENT {"target_id":"agent-b","turn_id":"t2","payload":{"text":"Next"}}` + "\n"
	asksB    = `> frontend CONTROL/SWITCH_AGENT {"payload":{"to":"agent-b"}}` + "\n"
	toB      = `< CONTROL/SWITCH_AGENT SYSTEM {"payload":{"from":"agent-a","to":"agent-b","reason":"r",` +
		`"trigger":"t"}}` + "\n"
	toBOnly = `< CONTROL/SWITCH_AGENT FRONTEND {"payload":{"from":"agent-a","to":"agent-b","reason":"r",` +
		`"trigger":"t"}}` + "\n"
	byKey    = `> frontend USER_INPUT {"payload":{"text":"Next","mentioned_agent_id":"agent-b"}}` + "\n"
	byKeyToA = `< USER_INPUT AGENT {"target_id":"agent-a","turn_id":"t2","payload":{"text":"Next",` +
		`"mentioned_agent_id":"agent-b"}}` + "\n"
	byKeyToB = `< USER_INPUT AGENT {"target_id":"agent-b","turn_id":"t2","payload":{"text":"Next",` +
		`"mentioned_agent_id":"agent-b"}}` + "\n"
	byMark   = `> frontend USER_INPUT {"subtype":"MENTION","mention":"agent-b","payload":"Next"}` + "\n"
	byMarkTo = `< USER_INPUT AGENT {"turn_id":"t2","payload":"Next","target_id":`
	byPick   = `> frontend USER_INPUT {"subtype":"MENTION","mention":"agent-b","payload":{"pick":1}}` + "\n"
	byPickTo = `< USER_INPUT AGENT {"turn_id":"t2","payload":{"pick":1},"target_id":`
	acceptB  = `< EVENT/TURN_ACCEPTED FRONTEND {"turn_id":"t2","payload":{"target_agent":"agent-b"}}` + "\n"
	acceptA  = `< EVENT/TURN_ACCEPTED FRONTEND {"turn_id":"t2","payload":{"target_agent":"agent-a"}}` + "\n"
	ackB     = `> agent-b CONTROL/INPUT_ACK {"turn_id":"t2"}` + "\n"
	outB     = `> agent-b AGENT_OUTPUT {"turn_id":"t2","payload":"yes","final":true}` + "\n"
	outBOut  = `< AGENT_OUTPUT FRONTEND {"turn_id":"t2","payload":"yes","final":true}` + "\n"
	fence    = "fence\n"
)

var inputRows = []row{
	{inputs, "routed and accepted", runs, "001 009 013 015 053 055 067 068 072 074 075 076 170", ""},
	{inputs, "a turn of its own", over + next + nextToA, "052", ""},
	{inputs, "the turn_id of another", over + next +
		`< USER_INPUT AGENT {"target_id":"agent-a","turn_id":"t1","payload":{"text":"Next"}}`, "", "052 072"},
	{inputs, "another payload", abc + says +
		`< USER_INPUT AGENT {"target_id":"agent-a","turn_id":"t1","payload":"{text:Hi}"}` + "\n" + fence, "", "068"},
	{inputs, "something else that the orchestrator says, and then the input", abc + says +
		`< USER_INPUT AGENT {"target_id":"agent-b","turn_id":"t0","payload":"Welcome"}` + "\n" + routes + accept + fence,
		"001", ""},
	{inputs, "output of a turn that a handover has begun", over + handsTo + prompt + confirms + toB +
		`< USER_INPUT AGENT {"target_id":"agent-b","turn_id":"t2","payload":"two"}` + "\n" + ackB + outB + outBOut,
		"001", ""},
	{inputs, "another turn_id than the user's", abc + `> frontend USER_INPUT {"payload":"Hi","turn_id":"u1"}` + "\n" +
		`< USER_INPUT AGENT {"target_id":"agent-a","turn_id":"t1","payload":"Hi"}`, "", "072"},
	{inputs, "no ids", abc + says + `< USER_INPUT AGENT {"target_id":"agent-a","payload":{"text":"Hi"}}`, "",
		"053 072 075"},
	{inputs, "no agent", abc + says + `< USER_INPUT AGENT {"turn_id":"t1","payload":{"text":"Hi"}}`, "", "015 075"},
	{inputs, "not routed", abc + says + fence, "", "001 013 015 067 075"},
	{inputs, "not yet routed", abc + says, "", ""},
	{inputs, "refused with a reason", abc + says + "< ERROR/OVERLOADED FRONTEND\n" + fence, "", ""},
	{inputs, "another one waits for the first", runs + next + fence, "", ""},
	{inputs, "two of the same words", abc + says + says + routes + accept + fence, "", ""},
	{inputs, "not routed, though later ones were", abc + says + "+ 1s\n" + fence, "", "001 013 015 067 075"},
	{inputs, "accepted for another agent", abc + says + routes +
		`< EVENT/TURN_ACCEPTED FRONTEND {"turn_id":"t1","payload":{"target_agent":"agent-b"}}`, "", "055 076"},
	{inputs, "accepted for another agent, before it is routed", abc + says +
		`< EVENT/TURN_ACCEPTED FRONTEND {"turn_id":"t1",` +
		`"payload":{"target_agent":"agent-b"}}` + "\n" + routes, "", "055 076"},
	{inputs, "accepted first", abc + says + accept + routes + ack + chunk + chunkOut, "009 074 076 170", ""},
	{inputs, "accepted without an agent", abc + says + routes + `< EVENT/TURN_ACCEPTED FRONTEND {"turn_id":"t1"}`, "",
		"076"},
	{inputs, "output before it is accepted", abc + says + routes + ack + chunk + chunkOut + accept, "",
		"009 074 076 170"},
	{inputs, "a mention accepted", over + byKey + toB + byKeyToB + acceptB, "084 086 092 093", ""},
	{inputs, "a marked mention", over + byMark + toB + byMarkTo + `"agent-b"}`, "083", ""},
	{inputs, "a choice", over + byPick + toB + byPickTo + `"agent-b"}`, "085", ""},
	{inputs, "a mention goes to the active agent", over + byKey + byKeyToA, "", "015 049 084 092"},
	{inputs, "a marked mention goes to the active agent", over + byMark + byMarkTo + `"agent-a"}`, "",
		"015 049 083 092 174"},
	{inputs, "a choice goes to the active agent", over + byPick + byPickTo + `"agent-a"}`, "", "015 049 085 092"},
	{inputs, "a mention that is not accepted", over + byKey + toB + byKeyToB + ackB + outB + outBOut, "",
		"009 074 076 093 170"},
	{inputs, "joined in the middle", chunkOut + accept + finalOut, "-", ""},
	{inputs, "a session on two connections", "B " + says + routes + accept + "B " + ack, "-", ""},
	{inputs, "the bus ends", abc + says + "closed\n" + fence, "", ""},

	{active, "the active agent gets it", runs, "014 048 069", ""},
	{active, "another one gets it", abc + next + nextToB + acceptB + fence, "", "014 048 069"},
	{active, "another one gets it, which a switch explains", abc + next + nextToB + acceptB + toB + fence, "", ""},
	{active, "it names the other one", abc + `> frontend USER_INPUT {"payload":"agent-b, help"}` + "\n" +
		`< USER_INPUT AGENT {"target_id":"agent-b","turn_id":"t2","payload":"agent-b, help"}` + "\n" + acceptB + fence,
		"", ""},
	{active, "switched", abc + asksB + toB + next + nextToB, "006 032 063 064 065 066 069 091 167", ""},
	{active, "switched, and nothing has changed", abc + asksB + toB + next + nextToA + acceptA + fence, "",
		"014 048 063 064 069"},
	{active, "the input was under way", abc + asksB + next + toB + nextToA + acceptA + fence, "", ""},
	{active, "not switched", abc + asksB + fence, "", "006 032 063 065"},
	{active, "not switched, with a reason", abc + asksB + "< ERROR/NO FRONTEND\n" + fence, "", ""},
	{active, "not switched yet", abc + asksB, "", ""},
	{active, "told on two targets", abc + asksB + toB + toBOnly, "066 091 167", ""},
	{active, "told to the frontend first", abc + asksB + toBOnly + toB + fence, "066", ""},
	{active, "told on two targets, with a request between", abc + asksB + toB +
		`> frontend CONTROL/SWITCH_AGENT {"payload":{"to":"agent-c"}}` + "\n" + toBOnly + fence, "066", "006 032 063 065"},
	{active, "told to the frontend only", abc + asksB + toBOnly + fence, "", "091 167"},
	{active, "without a trigger", abc + asksB +
		`< CONTROL/SWITCH_AGENT SYSTEM {"payload":{"from":"agent-a","to":"agent-b","reason":"r"}}`, "", "066"},
	{active, "from another agent", abc + asksB +
		`< CONTROL/SWITCH_AGENT SYSTEM {"payload":{"from":"agent-c","to":"agent-b","reason":"r","trigger":"t"}}`, "",
		"048 066"},
	{active, "a mention", over + byKey + toB + byKeyToB + acceptB + ackB + outB + outBOut +
		`> frontend USER_INPUT {"payload":"More"}` + "\n" +
		`< USER_INPUT AGENT {"target_id":"agent-b","turn_id":"t3","payload":"More"}`, "065 088 089 090", ""},
	{active, "a mention that changes nothing", over + byKey + toB + byKeyToB + acceptB + ackB + outB + outBOut +
		`> frontend USER_INPUT {"payload":"More"}` + "\n" +
		`< USER_INPUT AGENT {"target_id":"agent-a","turn_id":"t3","payload":"More"}` + "\n" +
		`< EVENT/TURN_ACCEPTED FRONTEND {"turn_id":"t3","payload":{"target_agent":"agent-a"}}` + "\n" + fence, "",
		"014 048 069 088"},
	{active, "a mention is routed first", over + byKey + byKeyToB + toB, "", "090"},
	{active, "a mention without a switch", over + byKey + byKeyToB + acceptB + fence, "", "006 063 065 089"},
	{active, "a mention while a turn is in flight", speaks + byKey + byKeyToB + acceptB + fence, "", ""},
	{active, "switched while busy", speaks + asksB + toB, "176", ""},
	{active, "refused as busy", speaks + asksB + `< ERROR/agent_busy FRONTEND`, "", "176"},
	{active, "a fallback", abc + removesA + requestsA + toB + goneA + removedA, "112", ""},
	{active, "no fallback", abc + removesA + requestsA + goneA + removedA + next + nextToB + fence, "", "065 112"},
	{active, "a fallback behind the receipt", abc + removesA + requestsA + goneA + removedA + toB + next + nextToB +
		acceptB + fence,
		"112", ""},
}
