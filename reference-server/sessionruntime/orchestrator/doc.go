// Package orchestrator is the bundled SessionRuntime of the session-runtime protocol: the in-session orchestrator of
// session-runtime.zh.md as the project's rulings interpret it. It is a state machine for one session: messages go in,
// messages come out. It does no I/O and starts no goroutine (RT-021 to RT-025).
//
// New makes a Machine. OnMessage handles a message and returns the messages to publish. The caller drives the
// timeouts: Due returns the time of the next one, Tick executes it.
//
// # What is published
//
// Each event triggers a program: a list of Steps that the machine executes in order. These are the programs of the
// policy Correct, by scenario of section 4.
//
//	A  USER_INPUT               Route, Accept
//	   INPUT_ACK                Start, TellStarted
//	   no INPUT_ACK in time     Fail, TellRouteTimeout
//	B  USER_INPUT with mention  Activate, TellSwitch, Route, Accept
//	   SWITCH_AGENT             Activate, TellSwitch
//	C  CANCEL, INTERRUPT        Interrupt
//	   CANCEL_ACK or            Cancel, TellCanceled, Resume
//	   STREAM_STOPPED
//	   no CANCEL_ACK in time    TellCancelTimeout, Abandon
//	D  REMOVE_AGENT             Interrupt, Await, TellBegun, Request, Unbind, FallBack
//	   REMOVE_AGENT_DONE        TellDone
//	   REMOVE_AGENT_FAILED      TellFailed
//	E  INVITE_AGENT             Request, TellBegun
//	   ADD_AGENT_DONE           Register, TellDone
//	   ADD_AGENT_FAILED         TellFailed
//	F  HANDOVER_REQUEST         Prompt
//	   HANDOVER_CONFIRM         Activate, TellSwitch, GiveContext
//	   HANDOVER_REJECT          nothing
//	G  AGENT_OUTPUT, chunk      Speak, Forward                     before them Start, TellStarted if no ack came
//	   AGENT_OUTPUT, final      Forward, Complete                  the same
//	   AGENT_OUTPUT, other      Report
//	   ERROR                    Fail, Forward
//	H  SESSION_OPEN             Request
//	   SESSION_CLOSE            Interrupt, Await, Request
//	   SESSION_OPENED, CLOSED   TellDone
//	   SESSION_FAILED           TellFailed
//
// A refused message gets one ERROR to the frontend and changes nothing.
//
// The machine handles messages from the frontend and from SessionManager whose target is SYSTEM or SESSION; for
// agents also BROADCAST (RT-028, RT-042). Any sender but "frontend", "session_manager", "session" and "logger" is an
// agent, in the session or not. A message with the same id as an earlier one of the same sender is not handled again.
//
// # Where the document is silent
//
// Several turns may be in flight, even of one agent, and several may speak (RT-G05). A CANCEL with a turn_id is for
// that turn, one without is for the turn that spoke last. A turn that does not speak gets no CANCEL (RT-097, RT-G02);
// a repeated CANCEL has no effect while one is in flight.
//
// A final before the CANCEL_ACK is forwarded and completes the turn. The machine still awaits the ack: it triggers
// the one CANCELED, with status COMPLETED in its payload, and lets a removal or a close continue. An ack after
// CANCEL_TIMEOUT still cancels a turn that is in flight, but the transactions that waited for it have ended.
//
// A turn belongs to its agent until it ends, even if the agent leaves the session: its output is still forwarded,
// because 4G considers only turn and target. An ERROR without a turn_id is forwarded and fails no turn (RT-G06).
//
// Without an active agent, input goes to Options.Default, else to the agent longest in the session; this does not
// change the active agent (RT-070, RT-071). A removed active agent also falls back to the agent longest in the
// session (RT-G08). With no agent left, none is active: SWITCH_AGENT has "to": null. A mention of an absent agent is
// an ERROR (RT-087). A failed removal is not rolled back (RT-118). A new agent is not made active (RT-123).
//
// An ack or an answer without ids counts if it has only one possible meaning. Neither SessionManager's receipts nor
// prompts time out; Limits bounds the number of open ones.
//
// # Faulty orchestrators
//
// Each decision is a function of a Policy; Correct has the correct ones. Messages pass through Options.Inbound and
// Options.Outbound. Faulty orchestrators replace these, so this code contains no faults.
package orchestrator
