package agentclient

import (
	"parley/doctor"
	"parley/steps/agentclient/checkup"
)

// Doctor implements doctor.Examinable.
func (Protocol) Doctor() doctor.Guide { return checkup.Guide() }
