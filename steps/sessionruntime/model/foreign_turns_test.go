package model_test

const (
	timeout   = `< ERROR/ROUTE_TIMEOUT FRONTEND {"turn_id":"t1"}` + "\n"
	cancelled = `> frontend CONTROL/CANCEL` + "\n"
	interrupt = `> frontend CONTROL/INTERRUPT` + "\n"
	stop      = `< CONTROL/CANCEL AGENT {"target_id":"agent-a","turn_id":"t1"}` + "\n"
	stopped   = `> agent-a CONTROL/CANCEL_ACK {"turn_id":"t1"}` + "\n"
	isStopped = `< EVENT/CANCELED FRONTEND {"turn_id":"t1"}` + "\n"
	canceled  = speaks + cancelled + stop + stopped + isStopped
	alone     = `> agent-a AGENT_OUTPUT {"turn_id":"t1","payload":"one","is_chunk":true,"target":"BROADCAST"}` + "\n"
	alone2    = `> agent-a AGENT_OUTPUT {"turn_id":"t1","payload":"1.5","is_chunk":true,"target":"BROADCAST"}` + "\n"
	half      = `> agent-a AGENT_OUTPUT {"turn_id":"t1","payload":"1.5","is_chunk":true}` + "\n"
	halfOut   = `< AGENT_OUTPUT FRONTEND {"turn_id":"t1","payload":"1.5","is_chunk":true}` + "\n"
	foreign   = `> agent-b AGENT_OUTPUT {"turn_id":"t1","payload":"no","is_chunk":true}` + "\n"
	foreignTo = `< AGENT_OUTPUT FRONTEND {"turn_id":"t1","payload":"no","is_chunk":true}` + "\n"
	oneAgain  = `> agent-a AGENT_OUTPUT {"id":"o1","turn_id":"t1","payload":"one","is_chunk":true}` + "\n"
	oneOut    = `< AGENT_OUTPUT FRONTEND {"turn_id":"t1","payload":"one","is_chunk":true}` + "\n"
	fails     = `> agent-a ERROR/MODEL {"turn_id":"t1","payload":{"why":"x"}}` + "\n"
	failsOut  = `< ERROR/MODEL FRONTEND {"turn_id":"t1","payload":{"why":"x"}}` + "\n"
	sayAgain  = `> frontend USER_INPUT {"id":"i1","payload":"Hi"}` + "\n"
	goesTo    = `< USER_INPUT AGENT {"target_id":"agent-a","payload":"Hi","turn_id":`
)

var turnRows = []row{
	{acks, "acked, and comes to its final", over + fence, "003 056 077 080 161", ""},
	{acks, "times out behind its output", speaks + timeout, "", "003 077 080 161"},
	{acks, "the ack was under way", runs + ack + timeout, "", ""},
	{acks, "times out", runs + timeout + ack, "", ""},
	{acks, "times out twice", runs + timeout + timeout, "", "056"},
	{acks, "times out behind its final", over + timeout, "", "056 080"},
	{acks, "an implicit start", runs + chunk + chunkOut + fence, "169", ""},
	{acks, "an implicit start that times out", runs + chunk + chunkOut + timeout, "", "169"},
	{acks, "started before the ack", runs + "< EVENT/AGENT_STARTED FRONTEND {\"turn_id\":\"t1\"}", "", "077"},
	{acks, "started behind an ack without its turn", runs + "> agent-a CONTROL/INPUT_ACK\n" +
		"< EVENT/AGENT_STARTED FRONTEND {\"turn_id\":\"t1\"}", "", ""},
	{acks, "started behind the ack of a sender with another name", runs +
		`> worker CONTROL/INPUT_ACK {"turn_id":"t1"}` + "\n" +
		"< EVENT/AGENT_STARTED FRONTEND {\"turn_id\":\"t1\"}", "", ""},
	{acks, "started behind the time-out", runs + timeout + ack + "< EVENT/AGENT_STARTED FRONTEND {\"turn_id\":\"t1\"}", "",
		"079"},
	{acks, "nothing starts behind the time-out", runs + timeout + ack + fence, "079", ""},
	{acks, "a mention comes to its final", over + byKey + toB + byKeyToB + acceptB + ackB + outB + outBOut, "094", ""},
	{acks, "a mention times out behind its output", over + byKey + toB + byKeyToB + acceptB + ackB +
		`> agent-b AGENT_OUTPUT {"turn_id":"t2","payload":"a","is_chunk":true}` + "\n" +
		`< AGENT_OUTPUT FRONTEND {"turn_id":"t2","payload":"a","is_chunk":true}` + "\n" +
		`< ERROR/ROUTE_TIMEOUT FRONTEND {"turn_id":"t2"}`, "", "003 077 080 094 161"},

	{outputs, "forwarded", over, "002 015 039 139 140 148 149 150", ""},
	{outputs, "not forwarded", speaks + final + fence, "", "002 039 082 139 140 146"},
	{outputs, "not yet forwarded", speaks + final, "", ""},
	{outputs, "one of them is left out", speaks + half + final + finalOut, "", "002 039 082 139 140"},
	{outputs, "one of them before the ack is left out", runs + chunk + ack + half + halfOut, "", ""},
	{outputs, "in another order", speaks + half + final + finalOut + halfOut, "", "139 150"},
	{outputs, "twice", speaks + chunkOut, "", "002"},
	{outputs, "two of the same words", speaks + chunk + chunkOut, "", ""},
	{outputs, "that no agent has sent", runs + ack + chunkOut, "", "002 141"},
	{outputs, "another payload", runs + ack + chunk + oneLess, "", "148"},
	{outputs, "other metadata", runs + ack + chunk + oneOut, "", "149"},
	{outputs, "alone", runs + ack + final + finalOut, "146", ""},
	{outputs, "alone, and not forwarded", runs + ack + final + fence, "", "002 039 082 139 140 146"},
	{outputs, "of another agent", speaks + foreign + fence, "055 141", ""},
	{outputs, "of another agent, and forwarded", speaks + foreign + foreignTo, "", "141"},
	{outputs, "behind the final", over + half + fence, "141", ""},
	{outputs, "behind the final, and forwarded", over + half + halfOut, "", "056 141"},
	{outputs, "behind the time-out", runs + timeout + half + fence, "079 141", ""},
	{outputs, "behind the time-out, and forwarded", runs + timeout + half + halfOut, "", "079 141"},
	{outputs, "behind the cancel", canceled + half + fence, "104 141 162", ""},
	{outputs, "behind the cancel, and forwarded", canceled + half + halfOut, "", "104 141 162"},
	{outputs, "until the cancel", speaks + cancelled + stop + half + stopped + halfOut + isStopped, "", ""},
	{outputs, "on BROADCAST", runs + ack + alone + oneOut, "042 168", ""},
	{outputs, "on BROADCAST, and left out", runs + ack + chunk + chunkOut + alone + alone2 + halfOut, "",
		"002 039 042 082 139 140 168"},
	{outputs, "through two subscriptions", runs + ack + oneAgain + oneAgain + oneOut + fence, "042", ""},
	{outputs, "through two subscriptions, and forwarded twice", runs + ack + oneAgain + oneAgain + oneOut + oneOut, "",
		"042"},
	{outputs, "an input through two subscriptions, and routed twice", abc + sayAgain + sayAgain + goesTo + `"t1"}` + "\n" +
		goesTo + `"t2"}`, "", "042"},
	{outputs, "of a turn that nobody has seen begin", chunk + chunkOut + finalOut, "-", ""},
	{outputs, "of senders with other names", runs + `> worker-7 AGENT_OUTPUT {"turn_id":"t1","payload":"no"}` + "\n" +
		`< AGENT_OUTPUT FRONTEND {"turn_id":"t1","payload":"no"}`, "-", ""},
	{outputs, "behind what cannot be read", runs + "junk\n" + chunkOut, "-", ""},

	{cancels, "as it should", canceled, "004 005 016 031 038 050 053 098 099 100 102 105 142 160 162", ""},
	{cancels, "interrupted", speaks + interrupt + stop, "095", ""},
	{cancels, "no CANCEL", speaks + cancelled + fence, "", "004 016 031 099"},
	{cancels, "no CANCEL of an INTERRUPT", speaks + interrupt + fence, "", "004 016 031 095 099"},
	{cancels, "no CANCEL, since it ends", speaks + cancelled + final + finalOut + fence, "", ""},
	{cancels, "to another agent", speaks + cancelled + `< CONTROL/CANCEL AGENT {"target_id":"agent-b","turn_id":"t1"}`, "",
		"050 099"},
	{cancels, "without its turn", speaks + cancelled + `< CONTROL/CANCEL AGENT {"target_id":"agent-a"}`, "", "099"},
	{cancels, "with another trace_id", speaks + cancelled +
		`< CONTROL/CANCEL AGENT {"target_id":"agent-a","turn_id":"t1","trace_id":"x"}`, "", "099"},
	{cancels, "with another turn_id", speaks + cancelled +
		`< CONTROL/CANCEL AGENT {"target_id":"agent-a","turn_id":"t9","trace_id":"x"}`, "", "098 099"},
	{cancels, "no CANCEL of the next speaker", canceled + next + nextToA + acceptA +
		`> agent-a CONTROL/INPUT_ACK {"turn_id":"t2"}` + "\n" +
		`> agent-a AGENT_OUTPUT {"turn_id":"t2","payload":"a","is_chunk":true}` + "\n" +
		`< AGENT_OUTPUT FRONTEND {"turn_id":"t2","payload":"a","is_chunk":true}` + "\n" + cancelled + fence, "",
		"004 016 031 099 142"},
	{cancels, "nobody speaks", over + cancelled + fence, "097 145", ""},
	{cancels, "nobody speaks, and it is sent", over + cancelled + stop, "", "097 145"},
	{cancels, "it had been under way", speaks + cancelled + final + finalOut + stop, "", ""},
	{cancels, "it has stopped", canceled + cancelled + fence, "097 103", ""},
	{cancels, "it has stopped, and is stopped once more", canceled + cancelled + stop, "", "097 103"},
	{cancels, "CANCELED before the ack", speaks + cancelled + stop + isStopped + stopped, "", "100 102 105"},
	{cancels, "CANCELED twice", canceled + isStopped, "", "105"},
	{cancels, "STREAM_STOPPED", speaks + cancelled + stop + "> agent-a EVENT/STREAM_STOPPED {\"turn_id\":\"t1\"}\n" +
		isStopped, "016 100 102 105", ""},
	{cancels, "no CANCELED", speaks + cancelled + stop + stopped + fence, "", "005 016 038 102 105"},
	{cancels, "no CANCELED yet", speaks + cancelled + stop + stopped, "", ""},

	{errors, "told", runs + fails + failsOut, "011 040", ""},
	{errors, "not told", runs + fails + fence, "", "011 040"},
	{errors, "not yet told", runs + fails, "", ""},
	{errors, "of a turn that nobody has seen", abc + fails + fence, "", ""},
}

const oneLess = `< AGENT_OUTPUT FRONTEND {"turn_id":"t1","payload":"on","is_chunk":true,` +
	`"metadata":{"model":"m"}}` + "\n"
