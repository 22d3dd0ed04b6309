// Package relays is the catalogue of faulty relays of external-agent: each is the bundled one with a single named fault that a
// real implementation might have, and each breaks few clauses. They prove that the suite bites.
//
// The rows stand in catalogue.yaml, the faults in the other files, by subject. A fault replaces a decision of relay.Policy,
// changes frames on their way in or out, or sets a limit; none stands inside the correct relay. What a mutant leaks it leaks
// before it answers, so that whoever waits for the answer has the leak on record.
package relays
