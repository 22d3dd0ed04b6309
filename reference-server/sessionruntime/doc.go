// Package sessionruntime is the bundled target of the session-runtime protocol: the orchestrator of package
// orchestrator behind the default binding, in which the client is the bus. What the client sends goes to OnMessage;
// what the orchestrator publishes is sent back.
//
// There are two entry points: NewServer, an http.Handler, and ServeStdio.
//
//	GET /bus/ws   the WebSocket: text frames, one JSON object each, both ways
//	GET /health   200 {"status":"ok"}
//
// On stdio a frame is a line. A frame is a message of protocol/sessionruntime, or has the member "parley":
//
//	{"parley":"setup","session_id","agents":[…],"active_agent_id","limits":{"input_ack_ms","cancel_ack_ms"}}
//	    makes a runtime, or resets that of the session: {"parley":"ready","session_id"}. Without active_agent_id no agent
//	    is active; limits are milliseconds, and 10 000 where they are absent or 0. Other members are refused: a
//	    misspelt limit would silently be the default one
//	{"parley":"fence","id"}
//	    {"parley":"fenced","id"}, once everything before it has been handled
//
// A message goes to the runtime of its session_id. A frame that can't be handled, for example because it is not a
// JSON object or names an unknown session, only gets {"parley":"error","text"}.
//
// A message that has no effect, such as one with an unknown event or target, gets no answer either (RT-157), only a
// line in the log.
//
// Each connection is a bus with its own runtimes, which end with it. The code follows the path of a frame:
//
//   - Server and ServeStdio read and write frames, over a WebSocket or a pair of streams
//   - serve is the single goroutine that handles the frames of a bus and the timeouts of its runtimes
//   - bus is its state: the runtimes by session, and a heap of their timeouts
//   - connection.Outbox queues outgoing frames; while it is full no frame is handled
//
// Numbers in payloads and metadata keep their original form (RT-148, RT-149).
//
// Options.Seams makes faulty orchestrators: it changes the options of runtimes and the routing of messages.
package sessionruntime
