// Package host is the bundled movie-booking host of the external-agent protocol: it implements external-agent.zh.md
// as the project's rulings interpret it, over a connection that has joined a relay session.
//
// New makes the host of one relay session, Serve runs it over a connection, Say delivers the participant's input, and
// Close ends it. A host keeps its study session across connections.
//
//	agent sends      host answers                                            then
//	session.start    session.started {sessionId}                             state.updated
//	snapshot.get     snapshot.state {sessionId, uiSpec, messageHistory, …}
//	tool.call        tool.result {ok: true, toolName, uiSpec?}               state.updated
//	agent.message    nothing; the history shows it                           state.updated
//	session.end      session.ended {sessionId, logFile, stateReset: true}
//
// A refused request gets error {code, message} and changes nothing. Say sends user.message {text, stage}, then
// state.updated. The host sends no other unsolicited state: an agent that reconnects asks for a snapshot (EA-076).
//
// # Where the document is silent
//
// A request is first checked by itself: a malformed envelope or payload gets INVALID_MESSAGE, with or without a
// session. Then, without a session, every request but session.start gets SESSION_NOT_ACTIVE, including agent.message.
// A session.start while one is active gets INVALID_MESSAGE, and the session continues. A tool.call after the booking,
// when uiSpec is null and toolSchema empty, gets NO_ACTIVE_SPEC; a tool missing from the current toolSchema gets
// UNKNOWN_TOOL; params that violate its schema get INVALID_PARAMS; and a valid call that can't be executed gets
// TOOL_EXECUTION_FAILED: an item that is sold out, next without a choice or with unequal numbers of tickets and seats,
// more tickets of a type than are sold, a ninth seat, a full history. A session whose log can't be written also gets
// TOOL_EXECUTION_FAILED: it does not begin, or it ends.
//
// Requests without an id are handled; their replies have no replyTo. Relay messages (relay.joined, error) get no
// reply.
//
// # The booking
//
// The stages are those of protocol/externalagent. The first items always lead to a booking: select /items/0/id and
// next up to the seats, setQuantity of /items/0/id to 1 and next, next. At the seat stage, select toggles a seat.
// Later choices survive prev, and survive a changed earlier choice where they are still possible. Filters, orders and
// highlights end with the form. next at the last stage books: the receipt with the booking code becomes the
// assistant's last message in the history. A booking lasts only as long as its session: the next session finds the
// same seats free.
//
// # The log
//
// Each study session has a file study/<sessionId>.jsonl in the folder Options.Logs. Its name consists of the date and
// a number, never of anything that a party sent. The logFile of session.ended begins with Options.LogName, "logs/" by
// default, which stands for that folder: the file is Options.Logs + strings.TrimPrefix(logFile, Options.LogName). It
// is complete and closed before session.ended is sent, and has a line for it.
//
// It holds the messages as they went over the wire (incoming ones before Inbound, outgoing ones after Outbound) and
// internal events. Incoming messages are logged while a session is active, and so is the session.start that begins
// one.
//
// # Faulty hosts
//
// Options.Policy changes decisions, Options.Inbound and Options.Outbound change messages, Policy.Record and
// Options.Store change the log. Mutants are built from these hooks, so this code contains no faults.
package host
