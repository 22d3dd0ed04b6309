package cli

import (
	"parley/reference-server/launch"
	"parley/steps"
)

// Parts configures the command line of a program.
type Parts struct {
	Name      string           // of the program in help and hints; "": parley
	Protocols *steps.Protocols // that it can judge
	Targets   launch.Targets   // bundled targets to judge and to serve; may be nil
}

// program, suite and bundle are the parts of this program. Only Main sets them.
var (
	program = parleyName
	suite   *steps.Protocols
	bundle  launch.Targets
)
