package mutants

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
)

// cutFaults show only if a connection ends at a certain point of a booking: directly after the agent has sent or
// received a message of a certain kind, or after a certain number of calls.
var cutFaults = map[string]fault{
	"end-behind-a-first-result-trusts":  trusting(1, proto.ToolResult),
	"end-behind-a-second-result-trusts": trusting(2, proto.ToolResult),
	"end-behind-a-third-result-trusts":  trusting(3, proto.ToolResult),
}

// trusting requests no snapshot on a new connection if the previous one ended at that point: it relies on what it knew
// before.
func trusting(made int, behind string) fault {
	return func(o *options) {
		last, trusted := "", 0
		o.Inbound = func(_ view, msg message) []message {
			last = msg.Type()
			return []message{msg}
		}
		o.Outbound = func(_ view, msg message, send sender) {
			last = msg.Type()
			send(msg)
		}
		o.Policy.Resync = func(v view, why agent.Occasion, resync bool) bool {
			if why == agent.Reconnected && v.Made == made && last == behind {
				trusted = v.Connection
			}
			return resync && trusted != v.Connection
		}
	}
}
