// Package host is the bundled movie-booking host of the external-agent protocol: it does what external-agent.zh.md
// says, read as the project's rulings read it, over a connection that has joined a relay session.
//
// New makes the host of one relay session; Serve plays it over a connection, Say is the participant's input, Close ends
// it. A host keeps its study session through any number of connections.
//
//	agent sends      host answers                                            then
//	session.start    session.started {sessionId}                             state.updated
//	snapshot.get     snapshot.state {sessionId, uiSpec, messageHistory, …}
//	tool.call        tool.result {ok: true, toolName, uiSpec?}               state.updated
//	agent.message    nothing; the history shows it                           state.updated
//	session.end      session.ended {sessionId, logFile, stateReset: true}
//
// A refused request gets error {code, message} and changes nothing. Say sends user.message {text, stage}, then
// state.updated. The host sends no other state without a request: an agent that reconnects asks for a snapshot
// (EA-076).
//
// # Where the document is silent
//
// A request is judged by itself first: a malformed envelope or payload gets INVALID_MESSAGE, with and without a
// session. Then, without a session, every request but session.start gets SESSION_NOT_ACTIVE, agent.message too. A
// session.start while one is active gets INVALID_MESSAGE, and the session goes on. A tool.call after the booking, when
// uiSpec is null and toolSchema empty, gets NO_ACTIVE_SPEC; a tool that toolSchema does not have now, UNKNOWN_TOOL;
// params that break its schema, INVALID_PARAMS; and a valid call that can't be done, TOOL_EXECUTION_FAILED: an item
// that is sold out, next without a choice or with another number of tickets than seats, more tickets of a type than are
// sold, a ninth seat, a full history. So does a session whose log can't be written: it does not begin, or it ends.
//
// Requests without id are handled, and their answers have no replyTo. Messages of a relay (relay.joined, error) get no
// answer.
//
// # The booking
//
// The stages are those of protocol/externalagent. The first items always lead to a booking: select /items/0/id and next
// up to the seats, setQuantity of /items/0/id to 1 and next, next. Of seats, select adds one or removes it. prev, and
// another choice at an earlier stage, keep later choices as far as they are still possible. Filters, orders and
// highlights end with the form. next at the last stage books: the receipt, with its booking code, is the assistant's
// last message in the history. A booking lasts as long as its session: the next one finds the same seats.
//
// # The log
//
// Each study session has a file study/<sessionId>.jsonl in the folder Options.Logs. Its name is made of the date and a
// number, never of anything that a party sent. The logFile of session.ended begins with Options.LogName, "logs/" by
// default, which stands for that folder: the file is Options.Logs + strings.TrimPrefix(logFile, Options.LogName). It is
// complete and closed before session.ended is sent, of which it has a line.
//
// It has the messages as they went over the wire: incoming ones before Inbound, outgoing ones after Outbound; and
// internal events. Incoming messages are logged while a session is active, and so is the session.start that begins one.
//
// # Faulty hosts
//
// Options.Policy changes decisions, Options.Inbound and Options.Outbound change messages, Policy.Record and
// Options.Store change the log. Mutants are made of these, so that no fault stands in this code.
package host
