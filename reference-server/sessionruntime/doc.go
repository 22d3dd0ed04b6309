// Package sessionruntime is the bundled target of the session-runtime protocol: the orchestrator of package
// orchestrator behind the default binding, in which the other side is the bus. What it sends is delivered to OnMessage,
// what the orchestrator publishes comes back.
//
// There are two doors: NewServer, an http.Handler, and ServeStdio.
//
//	GET /bus/ws   the WebSocket: text frames, one JSON object each, both ways
//	GET /health   200 {"status":"ok"}
//
// On stdio a frame is a line. A frame is a message of protocol/sessionruntime, or has the member "parley":
//
//	{"parley":"setup","session_id","agents":[…],"active_agent_id","limits":{"input_ack_ms","cancel_ack_ms"}}
//	    makes a runtime, or resets that of the session: {"parley":"ready","session_id"}. Without active_agent_id nobody
//	    is active; limits are milliseconds, and 10 000 where they are absent or 0
//	{"parley":"fence","id"}
//	    {"parley":"fenced","id"}, once everything before it has been handled
//
// A message goes to the runtime of its session_id. A frame that can't be taken, as one that is no JSON object or names
// an unknown session, is answered by {"parley":"error","text"}, and nothing else happens.
//
// Each connection is a bus with its own runtimes, which end with it. The code is split along its way:
//
//   - Server and ServeStdio read and write frames, over a WebSocket or a pair of streams
//   - serve is the one goroutine that handles the frames of a bus and serves the time-outs of its runtimes
//   - bus is what it works on: runtimes by session, and which of them has the next time-out
//   - connection.Outbox holds what is to be written; while it is full no frame is handled
//
// Numbers in payloads and metadata keep the form in which they came (RT-148, RT-149).
//
// Faulty orchestrators are made by Options.Seams, which changes the options of runtimes, and where messages go.
package sessionruntime
