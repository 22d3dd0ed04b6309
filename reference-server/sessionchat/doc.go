// Package sessionchat is the bundled target of the session-chat protocol: an http.Handler that does what
// session-chat.zh.md says, read as the project's rulings read it, over the default binding.
//
// The doors are New, and the routes of the Server that it returns:
//
//	GET /chat/ws   the WebSocket: text frames, one JSON object each, both ways
//	GET /health    200 {"status":"ok"}
//
// A session belongs to an agent_id, which is an opaque key (SC-060), and to no connection: it is made by the first chat
// that names it (SC-001, SC-002), leaves memory when nobody uses it for a while, and comes back from the store at its
// next chat (SC-003, SC-007 to SC-009). A chat is answered by one turn, on the connection that asked:
//
//	system     message: subtype "init", model, resumed
//	stream     message: text                      one per piece of the answer
//	assistant  message: role, content             the whole answer; only if the turn succeeds
//	result     message: subtype, duration_ms, num_turns; code and text too when the subtype is "error"
//
// Outside of turns there are pong, which answers ping, and error {code, text} for what starts no turn. Every message
// has agent_id, session_id, message_type, message and timestamp (SC-038 to SC-044); the ids are null where there are
// none: on a pong (but for an agent_id that the ping had), and on an error about no session, or about one that is not
// in memory.
//
// The server is split along the words of the source:
//
//   - manager is its session_manager: the sessions in memory, and the queues of turns before them
//   - Store is its database: session id and history by agent_id
//   - turn is its query operation, from obtaining the session to the result
//   - conn is a connection: a bounded queue of messages, and the turns that it asked for
//
// A session is saved before any message about it is sent, and a turn before its result is, so that a crash loses
// nothing that a client has received (SC-018, SC-023). No I/O is done under the server's lock.
//
// Each decision that the source prescribes is a function of Policy, whose right answers are Correct. What crosses the
// wire passes through Options.Inbound and Options.Outbound, what is kept through Options.Store. Faulty servers are made
// by replacing these, so that no fault stands inside this code.
package sessionchat
