package sessionruntime

import (
	"parley/steps/doctor"
	"parley/steps/sessionruntime/checkup"
)

// Doctor implements doctor.Examinable.
func (Protocol) Doctor() doctor.Guide { return checkup.Guide() }
