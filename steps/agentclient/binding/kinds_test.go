package binding

import (
	agentselect "parley/steps/agentselect/binding"
	externalagent "parley/steps/externalagent/binding"
	sessionchat "parley/steps/sessionchat/binding"
	sessionruntime "parley/steps/sessionruntime/binding"
	"parley/target"
)

// kinds are all that a profile of these tests may name.
var kinds = target.Kinds{agentselect.Kind(), Kind(), sessionchat.Kind(), externalagent.Kind(), sessionruntime.Kind()}
