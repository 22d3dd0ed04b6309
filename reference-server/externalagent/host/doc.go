// Package host is the bundled movie-booking host of the external-agent protocol: it does what external-agent.zh.md says, read
// as the project's rulings read it, behind a relay session that somebody else has joined for it.
//
// The doors are New, which makes the host of one relay session, and its methods: Serve plays it over a connection, Say is the
// participant's input, Close ends it. A host keeps its study session through any number of connections.
//
//	agent sends      host answers                                            then
//	session.start    session.started {sessionId}                             state.updated
//	snapshot.get     snapshot.state {sessionId, uiSpec, messageHistory, …}
//	tool.call        tool.result {ok: true, toolName, uiSpec?}               state.updated
//	agent.message    nothing; it is shown in the history                     state.updated
//	session.end      session.ended {sessionId, logFile, stateReset: true}
//
// What is refused gets error {code, message} and changes nothing. Say sends user.message {text, stage}, then state.updated. The
// host never sends a state unasked otherwise: who reconnects asks for a snapshot (EA-076).
//
// # Where the document is silent
//
// A request is judged by itself first: an envelope or payload of another form gets INVALID_MESSAGE whether a session is active
// or not. Then, without a session, all but session.start gets SESSION_NOT_ACTIVE, agent.message too. A session.start while one
// is active gets INVALID_MESSAGE, and the session goes on. A tool.call once the booking is done, when uiSpec is null and
// toolSchema empty, gets NO_ACTIVE_SPEC; a tool that toolSchema does not have now, UNKNOWN_TOOL; params that break its
// schema, INVALID_PARAMS; and a call that is legal but can't be done, TOOL_EXECUTION_FAILED: an item that is sold out, next with
// nothing chosen or with another number of tickets than seats, more tickets of a type than the house sells, a ninth seat, a
// history without room. So does a session whose log can't be written: it does not begin, or it ends.
//
// Requests without id are handled, and their answers have no replyTo. What a relay says (relay.joined, error) gets no answer.
//
// # The booking
//
// The stages are those of protocol/externalagent. By taking the first item of each, one can always book: select /items/0/id and
// next up to the seats, setQuantity of /items/0/id to 1 and next, next. Of seats, select adds one or gives it back. prev, and
// another choice at an earlier stage, keep what was chosen later as far as it is still possible. Filters, orders and
// highlights end with the form. next at the last stage books: the receipt, with its booking code, is the assistant's last word
// in the history. Nothing is booked beyond the session: the next one finds the same seats.
//
// # The log
//
// Each study session has a file study/<sessionId>.jsonl in the folder Options.Logs. Its name is made of the date and a
// number, never of anything that a party sent. The logFile of session.ended begins with Options.LogName, "logs/" by default,
// which stands for that folder: the file is Options.Logs + strings.TrimPrefix(logFile, Options.LogName). It is complete and
// closed before session.ended is sent, of which it has a line.
//
// It has the messages as they went over the wire: those that came in before Inbound sees them, those that go out after
// Outbound has; and internal events besides. What comes in is logged if a session is active, and so is the session.start
// that begins one.
//
// # Faulty hosts
//
// Each decision is a method of Policy, whose right answers are the type Correct. What crosses the wire passes through
// Options.Inbound and Options.Outbound, what is logged through Policy.Record and Options.Store. Faulty hosts are made by
// replacing these, so that no fault stands inside this code.
package host
