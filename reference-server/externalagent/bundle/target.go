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

// unhurried are the limits of a bundled relay.
var unhurried = relay.Limits{Write: launch.Unhurried}
