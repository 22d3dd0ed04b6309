package binding

import (
	agentclient "parley/steps/agentclient/binding"
	agentselect "parley/steps/agentselect/binding"
	externalagent "parley/steps/externalagent/binding"
	sessionchat "parley/steps/sessionchat/binding"
	"parley/target"
)

// kinds are all kinds that profiles in these tests may name.
var kinds = target.Kinds{agentselect.Kind(), Kind(), agentclient.Kind(), sessionchat.Kind(), externalagent.Kind()}
