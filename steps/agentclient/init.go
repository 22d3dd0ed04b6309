package agentclient

import (
	engine "parley/probe"
	"parley/steps/agentclient/probe"
)

// Init implements probe.Probing.
func (Protocol) Init() engine.Guide { return probe.Guide() }
