// Package mutants is the catalogue of faulty agent-select servers: each is the bundled one with one named fault that
// a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, the faults in the other files, by subject. A fault replaces a decision of
// agentselect.Policy, rewrites messages on their way in or events on their way out, or wraps the handler; the correct
// server contains none. A leak is sent before the answer, so that it is on record when the answer arrives.
//
// Delayed is not a mutant: it answers each message with the answer to the previous one, which shows whether a harness
// attributes an answer to the wrong question.
package mutants
