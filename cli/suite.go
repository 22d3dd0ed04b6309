package cli

import (
	"parley/reference-server/launch"
	"parley/steps"
)

// Parts is what a program's command line is about.
type Parts struct {
	Name      string           // of the program, as help and hints have it; "": parley
	Protocols *steps.Protocols // what it can judge
	Targets   launch.Targets   // what it brings along to be judged, and to be served; may be nil
}

// program, suite and bundle are what this program was given. Main sets them, and nobody else.
var (
	program = parleyName
	suite   *steps.Protocols
	bundle  launch.Targets
)
