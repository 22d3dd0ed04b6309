package sessionruntime

import (
	engine "parley/steps/probe"
	"parley/steps/sessionruntime/probe"
)

// Init implements probe.Probing.
func (Protocol) Init() engine.Guide { return probe.Guide() }
