// Package mutants is the catalogue of faulty orchestrators of session-runtime: each is the bundled one with a single
// named
// fault that a real implementation might have, and each breaks few clauses. They prove that the suite bites.
//
// The rows stand in catalogue.yaml, the faults in the other files, by subject. A fault replaces a decision of
// orchestrator.Policy, or a program of steps, rewrites messages on their way in or out, or mixes up the sessions of a
// bus; none stands inside the correct code. What a mutant leaks it leaks before it answers, so that whoever waits for
// the answer has the leak on record.
//
// What a mutant remembers is that of one session, or of one bus: it forgets that when the connection ends.
package mutants
