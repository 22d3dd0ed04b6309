package externalagent

import (
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

// staysOnce is a host whose first next succeeds but leads nowhere.
func staysOnce() bad {
	nexts := 0
	var shown any
	return to(vocab.ToolCall, func(c *peerConn, asked *transcript.Record, out []any) []any {
		pl := c.of.sessions[c.session]
		if payload(asked)[vocab.ToolName] != vocab.Next || !is(vocab.ToolResult, out[0]) {
			shown = copied(pl.ui)
			return out
		}
		if nexts++; nexts != 1 {
			return out
		}
		pl.at--
		pl.ui = shown
		return []any{out[0], announced(c)}
	})
}

// TestACallInVain checks that a call without effect is blamed if the host is not where the booking path leads.
func TestACallInVain(t *testing.T) {
	const why = `setQuantity cannot be called at stage "movie": next (record `
	runHosts(t, []hostRow{
		{"on the way to a call", session + "And agent A books up to the first call of \"setQuantity\"\n" +
			"Then agent A is told that the call succeeded\n", staysOnce(), "EA-054=not-tested", why},
		{"on the way through the booking", session + "Then agent A books a ticket from the first movie to the confirmation\n",
			staysOnce(), "EA-007=passed", why},
	})
}
