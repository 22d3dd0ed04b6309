package cli

import (
	"strings"

	"parley/reference-server/launch"
	"parley/steps"
)

// Parts configures the command line of a program.
type Parts struct {
	Name      string           // of the program in help and hints; "": parley
	Protocols *steps.Protocols // that it can judge
	Targets   launch.Targets   // bundled targets to judge and to serve; may be nil

	// Kills are the kill matrices of the suite, which parley mutants --matrix wrote, for certificates; may be nil.
	Kills []byte
	// Released are the digests of the suites of released versions, by version, which certificates may name; may be nil.
	Released map[string]string
}

// hasSuite rejects the version or digest of a suite that this program does not have; "" is any.
func hasSuite(name string) error {
	switch {
	case name == "" || name == suite.Version || name == suite.Digest():
		return nil
	case strings.HasPrefix(name, digestScheme) && len(name) >= minDigest && strings.HasPrefix(suite.Digest(), name):
		return nil
	}
	return usagef("--suite: this program has suite %s (%s), not %s (run the version of %s that has it)", suite.Version,
		suite.Digest(), name, program)
}

const (
	digestScheme = "sha256:"
	minDigest    = len(digestScheme) + 12 // of an abbreviated digest
)

// program, suite and bundle are the parts of this program. Only Main sets them.
var (
	program = parleyName
	suite   *steps.Protocols
	bundle  launch.Targets

	kills    []byte
	released map[string]string
)
