// Package mutants is the catalogue of faulty session-chat servers: each is the bundled one with one named fault that
// a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, the faults in the other files, by subject. A fault replaces a decision of
// sessionchat.Policy, rewrites messages on their way in or out, or wraps the store or the model; the correct server
// contains none. A leak is sent before the answer, so that it is on record when the answer arrives.
//
// A mutant keeps its state in memory and loses it with its process, except for what it puts into the store.
package mutants
