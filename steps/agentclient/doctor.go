package agentclient

import (
	"parley/steps/agentclient/checkup"
	"parley/steps/doctor"
)

// Doctor implements doctor.Examinable.
func (Protocol) Doctor() doctor.Guide { return checkup.Guide() }
