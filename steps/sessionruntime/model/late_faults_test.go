package model

// lateFaults are transcripts with faults in what follows from an earlier turn, removal or switch.
var lateFaults = []row{
	{reason: "1: a CANCELED for what is no CANCEL_ACK", in: stops + "> a INPUT_ACK t1\n< CANCELED t1\nfence\n",
		broken: "059 100 102 105"},
	{reason: "D: a mention of who was removed is routed", in: leaves + "> manager REMOVE_AGENT_DONE agent=b x1\n" +
		"< AGENT_REMOVED agent=b x1\n> user USER_INPUT #7 mention=b\n< USER_INPUT @b t7 #7\nfence\n",
		broken: "049 086 087 111"},
	{reason: "G: not forwarded from BROADCAST", in: speaks + "> a AGENT_OUTPUT t1 #3 chunk on=BROADCAST\nfence\n",
		broken: "002 039 042 082 139 140 168"},
	{reason: "F: something else instead of the context", in: asked +
		"> user HANDOVER_CONFIRM t1 x1\n< SWITCH_AGENT a>b\n" + "< INVITE_AGENT @b on=AGENT\nfence\n", broken: "135 173"},
	{reason: "3: no switch while an agent is speaking", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n" +
		"> user USER_INPUT #1\n< USER_INPUT @b t1 #1\n< TURN_ACCEPTED t1 of=b\n> b INPUT_ACK t1\n" +
		"> b AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk\n> user SWITCH_AGENT b>c\nfence\n",
		broken: "006 032 063 065 176"},
}
