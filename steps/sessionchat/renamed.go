package sessionchat

// Renamed implements steps.Renamer.
func (Protocol) Renamed() [][2]string {
	return [][2]string{
		{`^(the answer to client \w+ is) noted$`, `$1 recorded`},
		{`^it is noted (whether client \w+ is answered by "[^"]*")$`, `$1 is recorded`},
		{`^it is noted which model was asked for "([^"]*)"$`, `the model that was asked for "$1" is recorded`},
		{`^every message of "([^"]*)" has had its session_id$`, `every message of "$1" has its session_id`},
		{`^client (\w+) receives the words of the model for "([^"]*)" unchanged$`,
			`client $1 receives the text of the model for "$2" unchanged`},
		{`^the model was sent the text of "([^"]*)" as it was written$`,
			`the model was sent the text of "$1" unchanged`},
		{`^the target uses the model that options name$`, `the target uses the model named in options`},
		{`^(client \w+ chats with "\w+" under) the (agent_id of [^"]+)$`, `$1 an $2`},
		{`^it starts no session$`, `that message starts no session`},
		{`^the target has handled what client (\w+) sent$`, `the target has handled every message of client $1`},
	}
}
