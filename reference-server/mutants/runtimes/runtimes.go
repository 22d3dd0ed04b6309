// Package runtimes is the catalogue of faulty orchestrators of session-runtime: each is the bundled one with a single named fault
// that a real implementation might have, and each breaks few clauses. They prove that the suite bites.
package runtimes

import (
	"fmt"

	"parley/reference-server/mutants/catalogue"
	"parley/reference-server/sessionruntime"
)

// All lists the mutants.
func All() []catalogue.Mutant { return nil }

// Options puts the fault of that id into the options.
func Options(fault string, o sessionruntime.Options) (sessionruntime.Options, error) {
	return o, fmt.Errorf("there is no mutant %q", fault)
}
