// Package mutants is the catalogue of faulty session-chat servers: each is the bundled one with a single named fault
// that a
// real implementation might have, and each breaks few clauses. They prove that the suite bites.
//
// The rows stand in catalogue.yaml, the faults in the other files, by subject. A fault replaces a decision of
// sessionchat.Policy, rewrites messages on their way in or out, or stands before the store or the model; none stands
// inside the correct server. What a mutant leaks it leaks before it answers, so that whoever waits for the answer has
// the leak on record.
//
// A mutant keeps what it needs to know in memory, so it forgets that when its process ends, but for what it puts into
// the store.
package mutants
