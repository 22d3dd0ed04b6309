package model_test

import "strings"

const (
	removesA  = `> frontend CONTROL/REMOVE_AGENT {"payload":{"agent_id":"agent-a"}}` + "\n"
	requestsA = `< CONTROL/REQUEST_REMOVE_AGENT SYSTEM {"payload":{"agent_id":"agent-a","session_id":"main",` +
		`"reason":"r"}}` + "\n"
	goneA     = `> session_manager CONTROL/REMOVE_AGENT_DONE {"payload":{"agent_id":"agent-a"}}` + "\n"
	removedA  = `< EVENT/AGENT_REMOVED FRONTEND {"payload":{"agent_id":"agent-a"}}` + "\n"
	removesB  = `> frontend CONTROL/REMOVE_AGENT {"payload":{"agent_id":"agent-b"}}` + "\n"
	requestsB = `< CONTROL/REQUEST_REMOVE_AGENT SYSTEM {"payload":{"agent_id":"agent-b","session_id":"main",` +
		`"reason":"r"}}` + "\n"
	goneB    = `> session_manager CONTROL/REMOVE_AGENT_DONE {"payload":{"agent_id":"agent-b"}}` + "\n"
	staysB   = `> session_manager CONTROL/REMOVE_AGENT_FAILED {"payload":{"agent_id":"agent-b"}}` + "\n"
	removedB = `< EVENT/AGENT_REMOVED FRONTEND {"payload":{"agent_id":"agent-b"}}` + "\n"
	withD    = abc + invitesD + requestsD + hereD + addedD
	noAgentD = `< ERROR/AGENT_NOT_IN_SESSION FRONTEND {"payload":{"agent_id":"agent-d","code":"AGENT_NOT_IN_SESSION"}}` +
		"\n"
	noAgentB = `< ERROR/AGENT_NOT_IN_SESSION FRONTEND {"payload":{"agent_id":"agent-b"}}` + "\n"
	removesD = `> frontend CONTROL/REMOVE_AGENT {"payload":{"agent_id":"agent-d"}}` + "\n"
	requestD = `< CONTROL/REQUEST_REMOVE_AGENT SYSTEM {"payload":{"agent_id":"agent-d","session_id":"main",` +
		`"reason":"r"}}` + "\n"
	failedA   = `< ERROR/REMOVE_AGENT_FAILED FRONTEND {"payload":{"agent_id":"agent-a"}}` + "\n"
	failedB   = `< ERROR/REMOVE_AGENT_FAILED FRONTEND {"payload":{"agent_id":"agent-b"}}` + "\n"
	withoutB  = abc + removesB + requestsB + goneB + removedB
	invitesD  = `> frontend CONTROL/INVITE_AGENT {"payload":{"agent_id":"agent-d"}}` + "\n"
	requestsD = `< CONTROL/REQUEST_ADD_AGENT SYSTEM {"payload":{"agent_id":"agent-d"}}` + "\n"
	hereD     = `> session_manager CONTROL/ADD_AGENT_DONE {"payload":{"agent_id":"agent-d"}}` + "\n"
	noD       = `> session_manager CONTROL/ADD_AGENT_FAILED {"payload":{"agent_id":"agent-d"}}` + "\n"
	addedD    = `< EVENT/AGENT_ADDED FRONTEND {"payload":{"agent_id":"agent-d"}}` + "\n"
	byKeyD    = `> frontend USER_INPUT {"payload":{"text":"Next","mentioned_agent_id":"agent-d"}}` + "\n"
	byKeyToD  = `< USER_INPUT AGENT {"target_id":"agent-d","turn_id":"t2","payload":{"text":"Next",` +
		`"mentioned_agent_id":"agent-d"}}` + "\n"
	opens     = `> frontend CONTROL/SESSION_OPEN` + "\n"
	closes    = `> frontend CONTROL/SESSION_CLOSE` + "\n"
	asksOpen  = `< CONTROL/REQUEST_SESSION_OPEN SYSTEM` + "\n"
	asksClose = `< CONTROL/REQUEST_SESSION_CLOSE SYSTEM` + "\n"
	isOpen    = `> session_manager CONTROL/SESSION_OPENED` + "\n"
	isClosed  = `> session_manager CONTROL/SESSION_CLOSED` + "\n"
	hasFailed = `> session_manager CONTROL/SESSION_FAILED` + "\n"
	tellsOpen = `< EVENT/SESSION_OPENED FRONTEND` + "\n"
	tellsEnd  = `< EVENT/SESSION_CLOSED FRONTEND` + "\n"
)

// composed returns lines whose agent-d has another letter as its name.
func composed(lines, d string) string { return strings.ReplaceAll(lines, "agent-d", "agent-"+d) }

var moveRows = []row{
	{moves, "removed", withoutB, "008 010 018 020 034 044 046 108 110 113 115 116 160 164 171 172", ""},
	{moves, "not asked for", abc + removesB + fence, "", "008 018 020 034 108 110"},
	{moves, "not yet asked for", abc + removesB, "", ""},
	{moves, "refused", abc + removesB + "< ERROR/NO FRONTEND\n" + fence, "", ""},
	{moves, "asked for under another name", abc + removesB +
		`< CONTROL/REQUEST_REMOVE SYSTEM {"payload":{"agent_id":"agent-b"}}` + "\n" + fence, "", "110 172"},
	{moves, "asked for without a reason", abc + removesB +
		`< CONTROL/REQUEST_REMOVE_AGENT SYSTEM {"payload":{"agent_id":"agent-b"}}`, "", "110"},
	{moves, "asked for elsewhere", abc + removesB +
		`< CONTROL/REQUEST_REMOVE_AGENT BROADCAST {"payload":{"agent_id":"agent-b","reason":"r"}}` + "\n" + fence, "", "113"},
	{moves, "asked for elsewhere too", abc + removesB +
		`< CONTROL/REQUEST_REMOVE_AGENT BROADCAST {"payload":{"agent_id":"agent-b","reason":"r"}}` + "\n" + requestsB + fence,
		"113", ""},
	{moves, "told before the receipt", abc + removesB + requestsB + removedB + goneB, "", "115 116 160 171"},
	{moves, "told at the receipt of another agent", abc + removesB + requestsB + goneA + removedB, "", "115 116 160 171"},
	{moves, "told though it failed", abc + removesB + requestsB + staysB + removedB, "", "115 116"},
	{moves, "not told", abc + removesB + requestsB + goneB + fence, "", "018 044 046 116 164"},
	{moves, "told in another form", abc + removesB + requestsB + goneB +
		strings.Replace(removedB, "EVENT/", "CONTROL/", 1) + fence, "", "010 116"},
	{moves, "not yet told", abc + removesB + requestsB + goneB, "", ""},
	{moves, "the failure is told", abc + removesB + requestsB + staysB + failedB, "044 046 117 164", ""},
	{moves, "the failure is not told", abc + removesB + requestsB + staysB + fence, "", "044 046 117 164"},
	{moves, "stopped first", speaks + removesA + stop + stopped + requestsA, "060 106 109", ""},
	{moves, "not stopped first", speaks + removesA + stop + requestsA + stopped, "", "060 106 109"},
	{moves, "not asked for once stopped", speaks + removesA + stop + stopped + isStopped + fence, "",
		"018 110"},
	{moves, "not asked for once stopped, as it had ended", speaks + removesA + stop + final + stopped + fence, "",
		"018 110"},
	{moves, "not asked for once stopped, as its agent had failed", speaks + removesA + stop + fails + failsOut + stopped +
		fence, "", "018 110"},
	{moves, "not asked for once stopped, as the ERROR that is passed on behind that came first", speaks + removesA + stop +
		fails + stopped + failsOut + fence, "", "018 110"},
	{moves, "refused as its agent had failed", speaks + removesA + stop + fails + failsOut + "< ERROR/NO FRONTEND\n" +
		stopped + fence, "", ""},
	{moves, "refused as its agent has failed, and stops nevertheless", speaks + removesA + stop + fails + failedA +
		stopped + fence, "", ""},
	{moves, "said to be absent once added", withD + byKeyD + noAgentD, "", "049 086"},
	{moves, "said to be absent once added, by the id of the message", withD +
		strings.Replace(byKeyD, "{", `{"id":"i7",`, 1) +
		`< ERROR/NO FRONTEND {"payload":{"code":"AGENT_NOT_IN_SESSION","message_id":"i7"}}` + "\n", "", "049 086"},
	{moves, "said to be absent once added, when it is to be removed", withD + removesD + noAgentD, "", "049 110"},
	{moves, "said to be absent, and added", abc + byKeyD + noAgentD + invitesD + requestsD + hereD + addedD, "", ""},
	{moves, "said to be absent once added, as it had been asked for before", abc + byKeyD + invitesD + requestsD + hereD +
		addedD + noAgentD, "", ""},
	{moves, "another agent said to be absent", withD + removesB + requestsB + goneB + removedB + byKey + noAgentB, "", ""},
	{moves, "said to be absent once it is to leave again", withD + removesD + byKeyD + noAgentD, "", ""},
	{moves, "said to be absent once it has left again", withD + removesD + requestD + byKeyD + noAgentD, "", ""},
	{moves, "not there for another reason once added", withD + byKeyD +
		`< ERROR/BUSY FRONTEND {"payload":{"agent_id":"agent-d"}}` + "\n" + fence, "", ""},
	{moves, "asked for in another Unicode form", abc + composed(invitesD, "e\u0301") +
		composed(requestsD, "\u00e9"), "", "121"},
	{moves, "added in another Unicode form", abc + composed(invitesD+requestsD+hereD, "e\u0301") +
		composed(addedD, "\u00e9"), "", "127"},
	{moves, "removed in another Unicode form", abc + composed(invitesD+requestsD+hereD+addedD+removesD, "e\u0301") +
		composed(requestD, "\u00e9"), "", "110"},
	{moves, "said to be removed in another Unicode form", abc +
		composed(strings.ReplaceAll(removesB+requestsB+goneB, "agent-b", "agent-d"), "e\u0301") +
		composed(strings.ReplaceAll(removedB, "agent-b", "agent-d"), "\u00e9"), "", "116"},
	{moves, "added in the Unicode form of the invitation", abc + composed(invitesD+requestsD+hereD+addedD, "e\u0301"),
		"121 127", ""},
	{inputs, "routed in another Unicode form", abc + composed(invitesD+requestsD+hereD+addedD+byKeyD, "e\u0301") +
		composed(byKeyToD, "\u00e9"), "", "015 075"},
	{inputs, "routed in the Unicode form of the invitation", abc +
		composed(invitesD+requestsD+hereD+addedD+byKeyD+byKeyToD, "e\u0301"), "092", ""},
	{moves, "refused once stopped", speaks + removesA + stop + stopped + isStopped + "< ERROR/NO FRONTEND\n" + fence,
		"", ""},
	{moves, "it ends meanwhile", speaks + removesA + final + requestsA, "", ""},
	{moves, "another one speaks", speaks + removesB + requestsB, "", ""},
	{moves, "somebody else is removed", abc + removesB + requestsB + goneB +
		`< EVENT/AGENT_REMOVED FRONTEND {"payload":{"agent_id":"agent-c"}}`, "", "116"},
	{moves, "a mention of who is gone", withoutB + byKey + "< ERROR/NO FRONTEND\n" + fence, "049 086 087 111", ""},
	{moves, "a mention of who is gone is routed", withoutB + byKey + byKeyToB, "", "049 086 087 111"},
	{moves, "a mention of who is gone goes to another agent", withoutB + byKey + byKeyToA, "", "049 086 087"},
	{moves, "a mention of who is gone, and has come back", withoutB + byKey +
		`< CONTROL/REQUEST_ADD_AGENT SYSTEM {"payload":{"agent_id":"agent-b"}}` + "\n" +
		`> session_manager CONTROL/ADD_AGENT_DONE` +
		` {"payload":{"agent_id":"agent-b"}}` + "\n" + byKeyToB, "049 086 087 111", ""},

	{moves, "added", abc + invitesD + requestsD + hereD + addedD,
		"010 017 020 025 033 043 046 119 120 121 122 124 126 127 160 163", ""},
	{moves, "an invitation that nothing is done about", abc + invitesD + fence, "", "017 020 033 119 120 121"},
	{moves, "who is there already", abc + `> frontend CONTROL/INVITE_AGENT {"payload":{"agent_id":"agent-b"}}` + "\n" +
		`< EVENT/AGENT_ADDED FRONTEND {"payload":{"agent_id":"agent-b"}}` + "\n" + fence, "", ""},
	{moves, "added before the receipt", abc + invitesD + requestsD + addedD + hereD, "", "119 122 126 127 160"},
	{moves, "added although nobody is asked", abc + invitesD + addedD + fence, "", "119 122 126 127 160"},
	{moves, "added as SessionManager has it done unasked", abc + invitesD + hereD + addedD, "", ""},
	{moves, "added where no setup shows that all is seen", invitesD + addedD + fence, "", ""},
	{moves, "removed although nobody is asked", abc + removesB + removedB + fence, "", "115 116 160 171"},
	{moves, "added though it failed", abc + invitesD + requestsD + noD + addedD, "", "126 127"},
	{moves, "added under the name that SessionManager gives", abc + invitesD + requestsD +
		`> session_manager CONTROL/ADD_AGENT_DONE {"payload":{"agent_id":"agent-d-7"}}` + "\n" +
		`< EVENT/AGENT_ADDED FRONTEND {"payload":{"agent_id":"agent-d-7"}}` + "\n" + fence, "", ""},
	{moves, "not told that it was added", abc + invitesD + requestsD + hereD + fence, "", "017 043 046 124 127 163"},
	{moves, "not told that it was not added", abc + invitesD + requestsD + noD + fence, "", "043 046 163"},
	{moves, "told that it was not added", abc + invitesD + requestsD + noD + "< ERROR/NO FRONTEND\n" + fence, "", ""},
	{moves, "routed before the receipt", abc + invitesD + requestsD + byKeyD + byKeyToD, "", "049 086 087 122"},
	{moves, "joined in the middle", removedB + addedD + goneB + hereD, "-", ""},

	{sessions, "opened", abc + opens + asksOpen + isOpen + tellsOpen, "020 036 045 046 151 153 154 155 160 166", ""},
	{sessions, "closed", abc + closes + asksClose + isClosed + tellsEnd, "020 036 045 046 151 153 154 155 160 166", ""},
	{sessions, "not asked for", abc + opens + fence, "", "020 036 151 153"},
	{sessions, "asked for elsewhere", abc + opens + "< CONTROL/REQUEST_SESSION_OPEN BROADCAST\n" + fence, "", "153"},
	{sessions, "not asked for yet", abc + opens, "", ""},
	{sessions, "open already", abc + opens + tellsOpen + fence, "", "154 155"},
	{sessions, "told before the receipt", abc + opens + asksOpen + tellsOpen + isOpen, "", "154 155"},
	{sessions, "told though it failed", abc + opens + asksOpen + hasFailed + tellsOpen, "", "155"},
	{sessions, "not told", abc + opens + asksOpen + isOpen + fence, "", "045 046 155 166"},
	{sessions, "told under another name", abc + opens + asksOpen + isOpen + "< EVENT/READY FRONTEND\n" + fence, "", ""},
	{sessions, "the failure is not told", abc + opens + asksOpen + hasFailed + fence, "", "045 046 155 166"},
	{sessions, "stopped first", speaks + closes + stop + stopped + isStopped + asksClose, "152", ""},
	{sessions, "not asked for once stopped", speaks + closes + stop + stopped + isStopped + fence, "", "153"},
	{sessions, "not asked for once stopped, as its agent had failed", speaks + closes + stop + fails + failsOut + stopped +
		fence, "", "153"},
	{sessions, "not stopped first", speaks + closes + asksClose, "", "152"},
	{sessions, "it ends meanwhile", speaks + closes + final + asksClose, "", ""},
}
