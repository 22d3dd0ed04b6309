// Package relay is the bundled relay of the external-agent protocol: an http.Handler that connects a host with its
// agents, following external-agent.zh.md as the project's rulings interpret it.
//
// Use New, the routes of the Server that it returns, and Attach for a party within this process:
//
//	GET /agent/ws  the WebSocket: text frames, one JSON envelope each, both ways
//	GET /health    200 {"status":"ok"}
//
// Every party first joins a relay session with relay.join and gets relay.joined (EA-025 to EA-030). From then on the
// relay passes an agent's messages to the host of its session and the host's messages to its agents, byte for byte.
// The relay adds only relay.joined and error.
//
// # Where the document is silent
//
// Joining. The host's role is "host" or "frontend". A sessionId is an opaque key of 1 to 200 bytes. A session has one
// host: a second one replaces the first, whose connection is closed with 4001. It has any number of agents. A party
// that repeats its join gets another relay.joined; one that joins with another role or session gets INVALID_MESSAGE
// and keeps its role and session. A party that has not joined gets SESSION_NOT_ACTIVE for a well-formed envelope of
// any type.
//
// Checking. An envelope is a text frame of valid UTF-8: one JSON object that nests at most 128 deep and repeats no
// name within an object. It has v, type and payload; id and replyTo are strings if present (section 3), and null is
// not a string. Its type is one that its sender's side may send (sections 4.0 to 4.2); no party may send
// relay.joined. Other members, including those of the payload, may have any value: they concern host and agent. An
// envelope that fails a check gets INVALID_MESSAGE, with replyTo if an id could be read before the fault, and is not
// passed on; the connection stays open. Envelopes of hosts are checked too.
//
// Answers. A host's envelope with replyTo goes to the agent that asked with that id. Two agents may use the same id:
// then the envelope goes to the oldest request that its type can answer (session.started answers session.start, and
// so on; error answers each), or else to the oldest with that id. It goes to all agents if no request is known, or if
// it has no replyTo. Each request is answered once.
//
// No host. Without one, an agent's envelope gets SESSION_NOT_ACTIVE. When the host leaves or is replaced, its
// unanswered requests get the same error, except agent.message, which is for display only. The number of unanswered
// requests per agent is bounded; the oldest are forgotten first.
//
// Limits. A frame of more than 1 MiB closes its connection with 1009. A party that reads too slowly is dropped; no
// other party waits for it. A join that exceeds a limit gets SESSION_NOT_ACTIVE. Close ends all connections with
// 1001.
//
// # Faulty relays
//
// Options.Policy changes decisions, Options.Inbound and Options.Outbound change frames. Mutants are built from these
// hooks, so this code contains no faults.
package relay
