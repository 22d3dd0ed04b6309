// Package mutants is the catalogue of faulty orchestrators of session-runtime: each is the bundled one with one named
// fault that a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, the faults in the other files, by subject. A fault replaces a decision of
// orchestrator.Policy or a program of steps, rewrites messages on their way in or out, or mixes up the sessions of a
// bus; the correct code contains none. A leak is sent before the answer, so that it is on record when the answer
// arrives.
//
// A mutant's state belongs to one session, or to one bus, and is dropped when the connection ends.
package mutants
