// Package agents is the catalogue of faulty agents of external-agent: each is the bundled one with a single named fault that
// a real implementation might have, and each breaks few clauses. They prove that the suite bites.
//
// The rows stand in catalogue.yaml, the faults in the other files, by subject. A fault replaces a decision of agent.Policy,
// changes envelopes on their way in or out, or stands before the connection; none stands inside the correct agent. An agent
// that dies of something ends its run with an error.
package agents
