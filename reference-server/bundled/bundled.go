// Package bundled is the list of the bundled targets. It is one of two places that know protocols by name; the other is
// the list of the protocols that Parley judges, parley/steps/protocols.
package bundled

import (
	agentclient "parley/reference-server/agentclient/bundle"
	agentselect "parley/reference-server/agentselect/bundle"
	externalagent "parley/reference-server/externalagent/bundle"
	"parley/reference-server/launch"
	sessionchat "parley/reference-server/sessionchat/bundle"
	sessionruntime "parley/reference-server/sessionruntime/bundle"
)

// All are the bundled targets.
var All = launch.Targets{
	agentselect.Target,
	agentclient.Target,
	sessionchat.Target,
	sessionruntime.Target,
	externalagent.Target,
}
