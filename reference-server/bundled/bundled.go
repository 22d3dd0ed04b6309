// Package bundled lists the bundled targets. It is one of two places that know protocols by name; the other is
// parley/steps/protocols, the list of the protocols that Parley judges.
package bundled

import (
	agentclient "parley/reference-server/agentclient/bundle"
	agentselect "parley/reference-server/agentselect/bundle"
	externalagent "parley/reference-server/externalagent/bundle"
	"parley/reference-server/launch"
	sessionchat "parley/reference-server/sessionchat/bundle"
	sessionruntime "parley/reference-server/sessionruntime/bundle"
)

// All has the bundled targets.
var All = launch.Targets{
	agentselect.Target,
	agentclient.Target,
	sessionchat.Target,
	sessionruntime.Target,
	externalagent.Target,
}
