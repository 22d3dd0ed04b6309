package model

// messageFaults are faults like those of faults: of messages on BROADCAST, of ERRORs, and after a limit.
var messageFaults = []row{
	{reason: "output on BROADCAST, after others on SYSTEM, is lost", in: runs +
		"> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\n> a AGENT_OUTPUT t1 #3 chunk on=BROADCAST\nfence\n",
		broken: "002 039 042 082 139 140 168"},
	{reason: "A: no time-out within the limit", in: "set main a,b,c a 60ms\n> user USER_INPUT #1\n" +
		"< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\nfence\nvain ROUTE_TIMEOUT\n", broken: "073 077 078 082"},
	{reason: "A: no message, and no answer to a fence", in: abc +
		"> user USER_INPUT #1\nask f\nvain USER_INPUT to an agent\n", broken: "001 013 015 067 075"},
	{reason: "C: an INPUT_ACK counts as a confirmation", in: stops + "> a INPUT_ACK t1\n< CANCELED t1\nfence\n",
		broken: "059 100 102 105"},
	{reason: "3: a switch while an agent is speaking is not made", in: abc + bSpeaks +
		"> user SWITCH_AGENT b>c\nfence\n", broken: "006 032 063 065 176"},
	{reason: "B: an agent that was removed, and it is routed there", in: leaves +
		"> manager REMOVE_AGENT_DONE agent=b x1\n< AGENT_REMOVED agent=b\nfence\n> user USER_INPUT #7 mention=b\n" +
		"< USER_INPUT @b t7 #7\nfence\n", broken: "049 086 087 111"},
	{reason: "an error that the frontend does not get", in: speaks + "> a ERROR t1 #4\nfence\n", broken: "011 040"},
	{reason: "an error of SessionManager that the frontend does not get", in: abc +
		"> manager ERROR #4\n< ERROR #5\nfence\n", broken: "011"},
	{reason: "an input on BROADCAST is routed", in: abc +
		"> user USER_INPUT #1 on=BROADCAST\n< USER_INPUT @a t1 #1\nfence\n", broken: "028"},
	{reason: "an input that two subscriptions deliver is routed twice", in: abc +
		"> user USER_INPUT #1 id=i\n> user USER_INPUT #1 id=i on=BROADCAST\n< USER_INPUT @a t1 #1\n" +
		"< TURN_ACCEPTED t1 of=a\n< USER_INPUT @a t2 #1\nfence\n", broken: "042 075"},
	{reason: "output that two subscriptions deliver is forwarded twice", in: runs +
		"> a AGENT_OUTPUT t1 #2 chunk id=i\n> a AGENT_OUTPUT t1 #2 chunk id=i on=BROADCAST\n< AGENT_OUTPUT t1 #2 chunk\n" +
		"< AGENT_OUTPUT t1 #2 chunk\nfence\n", broken: "042"},
	{reason: "a message that comes back is handled again", in: abc +
		"> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n> self SWITCH_AGENT a>b back\n< SWITCH_AGENT b>b\nfence\n",
		broken: "175"},
	{reason: "a message that comes back leads to a loop", in: abc +
		"> user REMOVE_AGENT agent=b\n< REQUEST_REMOVE_AGENT agent=b\n> self REQUEST_REMOVE_AGENT agent=b back\n" +
		"< REQUEST_REMOVE_AGENT agent=b\nfence\n", broken: "175"},
	{reason: "a cancel on BROADCAST stops an agent", in: speaks + "> user CANCEL on=BROADCAST\n< CANCEL @a t1\nfence\n",
		broken: "028"},
	{reason: "a switch on BROADCAST is made", in: abc +
		"> user SWITCH_AGENT a>b on=BROADCAST\n< SWITCH_AGENT a>b\nfence\n", broken: "028"},
}
