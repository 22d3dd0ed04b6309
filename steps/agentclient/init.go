package agentclient

import (
	"parley/steps/agentclient/probe"
	engine "parley/steps/probe"
)

// Init implements probe.Probing.
func (Protocol) Init() engine.Guide { return probe.Guide() }
