// Package relay is the bundled relay of the external-agent protocol: an http.Handler by which a host and its agents talk, as
// external-agent.zh.md says, read as the project's rulings read it.
//
// The doors are New, the routes of the Server that it returns, and Attach, for a party of this process:
//
//	GET /agent/ws  the WebSocket: text frames, one JSON envelope each, both ways
//	GET /health    200 {"status":"ok"}
//
// Every party first joins a relay session by relay.join, which relay.joined answers (EA-025 to EA-030). From then on what an
// agent sends goes to the host of its session, and what the host sends goes to its agents, byte for byte. The relay adds
// nothing but relay.joined and error.
//
// # Where the document is silent
//
// Joining. The host's role is "host" or "frontend". A sessionId is an opaque key of 1 to 200 bytes. A session has one host: a
// second one takes the place of the first, whose connection is closed with 4001. It has any number of agents. A party that
// joins the same again is answered again; one that joins otherwise gets INVALID_MESSAGE, and stays what it was. Before it has
// joined, a party gets SESSION_NOT_ACTIVE for a well-formed envelope of any type.
//
// Checking. An envelope is a text frame of valid UTF-8, one JSON object that nests no deeper than 128, and has no name twice
// in one object. It has v, type and payload, and id and replyTo are strings where they are present (section 3); null is no
// string. Its type is one that its sender's side may send (sections 4.0 to 4.2); relay.joined is nobody's. Members beyond
// these may be anything, and so may the payload's: what stands there is between host and agent. Whatever fails gets
// INVALID_MESSAGE, with replyTo if an id could be read before the fault, and is not passed on; the connection lives. That
// holds for hosts too.
//
// Answers. What a host sends with replyTo goes to the agent that asked with that id. Two agents may use the same id: then it
// is the oldest of the requests that an envelope of this type answers (session.started answers session.start, and so on;
// error answers each), or else the oldest of that id. It goes to all agents if nobody is known to have asked; and so does what has
// no replyTo. A request counts as answered by one envelope.
//
// No host. Without one, an agent's envelope gets SESSION_NOT_ACTIVE. When the host leaves or is replaced, so do the requests
// that it has not answered; an agent.message does not, as it is for display only. Their number is bounded per agent, and
// the oldest are forgotten first.
//
// Limits. A frame of more than 1 MiB closes its connection with 1009. A party that does not read what it is sent is dropped;
// nobody waits for it. A join for which there is no room gets SESSION_NOT_ACTIVE. Close ends all connections with 1001.
//
// # Faulty relays
//
// Each decision is a method of Policy, whose right answers are the type Correct. What crosses the wire passes through
// Options.Inbound and Options.Outbound. Faulty relays are made by replacing these, so that no fault stands inside this code.
package relay
