package binding

import (
	agentclient "parley/steps/agentclient/binding"
	agentselect "parley/steps/agentselect/binding"
	sessionchat "parley/steps/sessionchat/binding"
	sessionruntime "parley/steps/sessionruntime/binding"
	"parley/target"
)

// kinds are all the protocols that a profile of these tests may name.
var kinds = target.Kinds{agentselect.Kind(), Kind(), agentclient.Kind(), sessionchat.Kind(), sessionruntime.Kind()}
