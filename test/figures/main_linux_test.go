// Package figures_test measures parley as a program: what it holds under steady traffic (make soak), how its costs grow
// (make growth), and what its proxy costs beside another one. docs/performance.md has the figures.
package figures_test

import (
	"os"
	"testing"

	"parley/cmd"
	"parley/reference-server/bundled"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// childOf is in the environment of this binary where it runs as the program parley.
const childOf = "PARLEY_FIGURES_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childOf) != "" {
		go answerSamples(os.NewFile(3, "asked"), os.NewFile(4, "answered"))
		cmd.Main(cmd.Parts{Protocols: protocols.All, Targets: bundled.All})
	}
	suitetest.Main(m)
}
