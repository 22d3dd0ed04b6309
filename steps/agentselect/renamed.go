package agentselect

// Renamed implements steps.Renamer.
func (Protocol) Renamed() [][2]string {
	return [][2]string{
		{`^client (\w+) is given an event stream$`, `client $1 receives an event stream`},
		{`^the list of client (\w+) names no current agent but the default one$`,
			`the list of client $1 names the default agent as current, or none`},
		{`^(client \w+ connects and switches to "[^"]*") as early as it can$`, `$1 as early as possible`},
		{`^each switch of client (\w+) starts from the agent that the one before it led to$`,
			`each switch of client $1 starts where the previous one ended`},
	}
}
