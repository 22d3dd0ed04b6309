// Package hosts is the catalogue of faulty hosts of external-agent: each is the bundled relay and host with a single named
// fault that a real implementation might have, and each breaks few clauses. They prove that the suite bites.
//
// The rows stand in catalogue.yaml, the faults in the other files, by subject. A fault replaces a decision of host.Policy or
// relay.Policy, rewrites messages on their way in or out, or stands before the store of the logs; none stands inside the
// correct code. What a mutant leaks it leaks before it answers, so that whoever waits for the answer has the leak on record.
//
// What a mutant remembers is that of one host, or of one relay: it forgets that when its process ends.
package hosts
