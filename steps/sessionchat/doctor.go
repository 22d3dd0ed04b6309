package sessionchat

import (
	"parley/steps/doctor"
	"parley/steps/sessionchat/checkup"
)

// Doctor implements doctor.Examinable.
func (Protocol) Doctor() doctor.Guide { return checkup.Guide() }
