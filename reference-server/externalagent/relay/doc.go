// Package relay is the bundled relay of the external-agent protocol: an http.Handler by which a host and its agents
// talk, as external-agent.zh.md says, read as the project's rulings read it.
//
// Use New, the routes of the Server that it returns, and Attach for a party of this process:
//
//	GET /agent/ws  the WebSocket: text frames, one JSON envelope each, both ways
//	GET /health    200 {"status":"ok"}
//
// Every party first joins a relay session by relay.join, which relay.joined answers (EA-025 to EA-030). From then on
// the messages of an agent go to the host of its session, and those of the host to its agents, byte for byte. The relay
// adds only relay.joined and error.
//
// # Where the document is silent
//
// Joining. The host's role is "host" or "frontend". A sessionId is an opaque key of 1 to 200 bytes. A session has one
// host: a second one replaces the first, whose connection is closed with 4001. It has any number of agents. A party
// that repeats its join is answered again; one that joins with another role or session gets INVALID_MESSAGE, and stays
// what it was. Before it has joined, a party gets SESSION_NOT_ACTIVE for a well-formed envelope of any type.
//
// Checking. An envelope is a text frame of valid UTF-8: one JSON object that nests at most 128 deep, and has no name
// twice in one object. It has v, type and payload; id and replyTo are strings where they are present (section 3), and
// null is not a string. Its type is one that its sender's side may send (sections 4.0 to 4.2); no party may send
// relay.joined. Other members may have any value, and so may the payload's: they concern host and agent. An envelope
// that fails a check gets INVALID_MESSAGE, with replyTo if an id could be read before the fault, and is not passed on;
// the connection lives. Hosts are checked too.
//
// Answers. A host's envelope with replyTo goes to the agent that asked with that id. Two agents may use the same id:
// then it answers the oldest of the requests that an envelope of this type answers (session.started answers
// session.start, and so on; error answers each), or else the oldest with that id. It goes to all agents if no request
// is known, or if it has no replyTo. A request is answered by one envelope.
//
// No host. Without one, an agent's envelope gets SESSION_NOT_ACTIVE. When the host leaves or is replaced, so do the
// requests that it has not answered, except agent.message, which is for display only. Their number is bounded per
// agent; the oldest are forgotten first.
//
// Limits. A frame of more than 1 MiB closes its connection with 1009. A party that reads too slowly is dropped; no
// other party waits for it. A join for which there is no room gets SESSION_NOT_ACTIVE. Close ends all connections with
// 1001.
//
// # Faulty relays
//
// Options.Policy changes decisions, Options.Inbound and Options.Outbound change frames. Mutants are made of these, so
// that no fault stands in this code.
package relay
