// Package mutants is the catalogue of faulty agent-select servers: each is the bundled one with a single named fault
// that a real implementation might have, and each breaks few clauses. They prove that the suite bites.
//
// The rows stand in catalogue.yaml, the faults in the other files, by subject. A fault replaces a decision of
// agentselect.Policy, rewrites messages on their way in or events on their way out, or wraps the handler; none stands
// inside the correct server. What a mutant leaks it leaks before it answers, so that whoever waits for the answer has
// the leak on record.
//
// Delayed is no mutant: it answers each message with the answer to the one before, and shows whether a harness takes an
// answer for that to another question.
package mutants
