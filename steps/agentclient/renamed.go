package agentclient

// Renamed implements steps.Renamer.
func (Protocol) Renamed() [][2]string {
	return [][2]string{
		{`^it is recorded (whether the page suggests "[^"]*")$`, `$1 is recorded`},
	}
}
