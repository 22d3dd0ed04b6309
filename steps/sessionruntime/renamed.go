package sessionruntime

// Renamed implements steps.Renamer.
func (Protocol) Renamed() [][2]string {
	return [][2]string{
		{`^(in session "\w+")$`, `the next steps are $1`},
		{`^the agents go on with (the turns from before the cut)$`, `the agents continue $1`},
		{`^none of that is forwarded$`, `none of that output is forwarded`},
		{`^the bus hands back what is published on SYSTEM and BROADCAST$`,
			`the orchestrator receives what it publishes on SYSTEM and BROADCAST`},
		{`^(an input "[^"]*") that nobody has said$`, `$1 that was never sent`},
		{`^(the user says "[^"]*" with @ and the name of agent "[^"]*") in the text alone$`, `$1 only in the text`},
		{`^what was sent of ("[^"]*" is delivered by a second subscription)$`, `the output of $1`},
		{`^("[^"]*" reaches) nobody$`, `$1 no agent`},
		{`^each of the ([^ ]+) turns has a turn_id of its own$`, `the $1 turns have different turn_ids`},
		{`^(agent "[^"]*" sends a final) alone (of .*)$`, `$1 without chunks $2`},
		{`^(agent "[^"]*") says the same in (another chunk of "[^"]*")$`, `$1 repeats its text in $2`},
		{`^the frontend gets what was sent of ("[^"]*")$`, `the frontend receives the output of $1`},
		{`^the frontend does not get what was sent of ("[^"]*")$`, `the frontend does not receive the output of $1`},
		{`^(agent "[^"]*" sends a chunk of) the other session's ("[^"]*") of ("[^"]*")$`, `$1 $2 of session $3`},
		{`^(the user is asked whether agent "[^"]*" may take) ("[^"]*") over$`, `$1 over $2`},
		{`^(the user confirms a handover to agent "[^"]*") that nobody has asked for$`,
			`$1 that no agent has requested`},
	}
}
