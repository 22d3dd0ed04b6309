// Package bundle has the bundled targets of external-agent (a relay and host, a relay, and an agent), their mutants,
// and how to launch and serve them.
package bundle

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/launch"
)

// Target has all bundled targets of the protocol.
var Target = launch.Target{
	Protocol: proto.Protocol,
	Short:    "the WebSocket /agent/ws of a relay, with a host that books cinema tickets or alone; or an agent",
	Roles:    []launch.Role{host, relaying, agents},
}

// roomFor returns the limits of a bundled relay for that many agents, each with a host in a relay session of its own;
// 0: the default ones.
func roomFor(agents int) relay.Limits {
	return relay.Limits{Write: launch.Unhurried, Connections: 2 * agents, Sessions: 2 * agents}
}
