// Package agent is the bundled agent of the external-agent protocol: it books a ticket by doing what external-agent.zh.md
// says, read as the project's rulings read it.
//
// The door is Run. It joins the relay session, starts a study session, reads the state, and calls one tool after the other
// until the host shows that nothing is left to do; then it ends the session and closes the connection:
//
//	relay.join → relay.joined → session.start → session.started → snapshot.get → snapshot.state
//	tool.call → tool.result → state.updated                          again and again
//	session.end → session.ended → close 1000
//
// It acts on the last authoritative state alone, which is what the last state.updated or snapshot.state said (EA-072); what
// a tool.result shows is never acted on. A call that a changed state does not follow, and every new connection, makes it ask
// for a snapshot (EA-076, EA-077).
//
// Inside of it, Machine decides and does no I/O: OnEvent takes what has happened and returns what to do. The loop around it
// owns the socket and the clock. The machine is split by what it decides on:
//
//   - machine, connection, session, call: the conversation, in the words of the source
//   - plan, screen, wish: what to do next, from what the host shows and what the user said
//   - params, values, schema: parameters that the announced schema allows
//
// Each decision that the source prescribes is a method of Policy, whose right answers are the type Correct. Envelopes pass
// through Options.Outbound and Options.Inbound, frames and connections through Options.Dial. Faulty agents are made by
// replacing these, so that no fault stands inside this code.
package agent
