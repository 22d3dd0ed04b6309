// Package agent is the bundled agent of the external-agent protocol: it books a ticket by following
// external-agent.zh.md as the project's rulings interpret it.
//
// Run joins the relay session, starts a study session, reads the state, and calls one tool after another until the
// host shows that the booking is done. Then it ends the session and closes the connection:
//
//	relay.join → relay.joined → session.start → session.started → snapshot.get → snapshot.state
//	tool.call → tool.result → state.updated                          again and again
//	session.end → session.ended → close 1000
//
// It acts only on the last authoritative state, that of the last state.updated or snapshot.state (EA-072), and never
// on a tool.result. It asks for a snapshot after a call that did not change the state and on every new connection
// (EA-076, EA-077).
//
// A Machine decides and does no I/O: OnEvent takes an event and returns actions. The loop around it owns the socket and
// the clock. The parts of the machine:
//
//   - machine, connection, session, call: the conversation, in the words of the source
//   - plan, screen, wish: the next step, from what the host shows and what the user said
//   - params, values, schema: parameters that the announced schema allows
//
// Options.Policy changes decisions, Options.Inbound and Options.Outbound change envelopes, Options.Dial changes
// frames and connections. Mutants are built from these hooks, so this code contains no faults.
package agent
