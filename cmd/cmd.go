// Package cmd is the command line for programs with protocols of their own: the same commands as those of parley,
// which is one of them.
package cmd

import (
	"parley/internal/cli"
	"parley/reference-server/launch"
	"parley/steps"
)

// Parts are what a program with protocols of its own is made of.
type Parts struct {
	Name      string           // of the program in help and hints; "": parley
	Protocols *steps.Protocols // that it can judge
	Targets   launch.Targets   // bundled targets to judge and to serve; may be nil

	// Kills are the kill matrices of the suite, which parley mutants --output wrote, for certificates; may be nil.
	Kills []byte
	// Released are the digests of the suites of released versions, by version, which certificates may name; may be nil.
	Released map[string]string
}

// Main runs the command line of a program with these parts, and ends the process with the exit code. It is the whole
// main function of such a program: examples/own-protocol has one.
func Main(p Parts) { cli.Main(cli.Parts(p)) }
