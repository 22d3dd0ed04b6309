package sessionchat

import (
	engine "parley/steps/probe"
	"parley/steps/sessionchat/probe"
)

// Init implements probe.Probing.
func (Protocol) Init() engine.Guide { return probe.Guide() }
