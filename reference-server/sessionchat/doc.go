// Package sessionchat is the bundled target of the session-chat protocol: an http.Handler that implements
// session-chat.zh.md, as the project's rulings interpret it, over the default binding.
//
// The entry points are New and the routes of the Server that it returns:
//
//	GET /chat/ws   the WebSocket: text frames, one JSON object each, both ways
//	GET /health    200 {"status":"ok"}
//
// A session belongs to an agent_id, which is an opaque key (SC-060), and not to a connection: the first chat that
// names it creates it (SC-001, SC-002), it leaves memory after being idle for a while, and its next chat reloads it
// from the store (SC-003, SC-007 to SC-009). Each chat gets one turn, on the connection that asked:
//
//	system     message: subtype "init", model, resumed
//	stream     message: text                      one per piece of the answer
//	assistant  message: role, content             the whole answer; only if the turn succeeds
//	result     message: subtype, duration_ms, num_turns; code and text too when the subtype is "error"
//
// Outside of turns the server sends pong in reply to ping, and error {code, text} for a message that starts no turn.
// Every message has agent_id, session_id, message_type, message and timestamp (SC-038 to SC-044); unknown ids are
// null: on a pong (except for the ping's agent_id), and on an error about no session or one that is not in memory.
//
// The server's parts follow the terms of the source:
//
//   - manager is its session_manager: the sessions in memory and their queues of turns
//   - Store is its database: session id and history by agent_id
//   - turn is its query operation, from obtaining the session to the result
//   - conn is a connection: a bounded queue of messages and the turns that it asked for
//
// A session is saved before any message about it is sent, and a turn before its result, so that a crash loses nothing
// that a client has received (SC-018, SC-023). The server does no I/O under its lock.
//
// Each decision that the source prescribes is a function of Policy; Correct has the correct ones. Messages pass
// through Options.Inbound and Options.Outbound, stored data through Options.Store. Faulty servers replace these, so
// this code contains no faults.
package sessionchat
