package externalagent

// Renamed implements steps.Renamer.
func (Protocol) Renamed() [][2]string {
	return [][2]string{
		{`^the course of a session is known$`, `the states of a session are known`},
		{`^the agent continues with what follows$`, `the agent continues with the messages that follow`},
		{`^the agent uses nothing that is no longer shown$`, `the agent uses only what is still shown`},
		{`^call ([^ ]+) is refused, and what it asks for is no longer announced$`,
			`call $1 is refused, and is no longer announced`},
	}
}
