// Package orchestrator is the bundled SessionRuntime of the session-runtime protocol: the in-session orchestrator of
// session-runtime.zh.md, read as the project's rulings read it. It is a state machine of one session: messages go in,
// messages come out. It does no I/O and starts no goroutine (RT-021 to RT-025).
//
// The door is New, which makes a Machine. OnMessage takes a message and returns what is published about it. Time-outs
// are the caller's to serve: Due tells when the next one is, Tick has it take place.
//
// # What is published
//
// Each occasion has a program: a list of Steps, which the machine executes one after the other. These are the programs
// of the policy Correct, by scenario of section 4.
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
// What is refused gets one ERROR to the frontend, and changes nothing.
//
// Messages from the frontend and from SessionManager count if their target is SYSTEM or SESSION, those from agents also
// on BROADCAST (RT-028, RT-042). Any sender but "frontend", "session_manager", "session" and "logger" is an agent, of
// the session or not. A message that bears the id of an earlier one of the same sender is not handled again.
//
// # Where the document is silent
//
// Several turns may be in flight, of one agent too, and several may speak (RT-G05). A CANCEL with a turn_id is for that
// turn, one without for the turn that spoke last. A turn that does not speak gets no CANCEL (RT-097, RT-G02); a
// repeated CANCEL adds nothing to the one in flight.
//
// A final that comes before the CANCEL_ACK is forwarded, and completes the turn. The ack is still waited for: it gives
// the one CANCELED, whose payload has the status COMPLETED, and lets a removal or a close go on. An ack that comes
// after CANCEL_TIMEOUT still cancels a turn that is in flight, but what waited for it is over.
//
// A turn is its agent's until it ends, also if that agent leaves the session: then its output is forwarded, as 4G looks
// at turn and target alone. An ERROR without a turn_id is forwarded and fails no turn (RT-G06).
//
// Without an active agent, input goes to Options.Default, else to the agent that is longest in the session; that makes
// nobody active (RT-070, RT-071). The fallback of a removed agent is the latter, too (RT-G08). With no agent left,
// active is nobody: SWITCH_AGENT says "to": null. A mention of an absent agent is an ERROR (RT-087). A failed removal
// is not rolled back (RT-118). A new agent is not made active (RT-123).
//
// An ack or an answer without ids counts if there is only one that it can mean. SessionManager's receipts have no
// time-out, nor have prompts: Limits bounds how many are open.
//
// # Faulty orchestrators
//
// Each decision is a function of a Policy, and Correct has the right ones. Messages pass through Options.Inbound and
// Options.Outbound. Faulty orchestrators are made by replacing these, so that no fault stands inside this code.
package orchestrator
