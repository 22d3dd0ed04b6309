package relay

import (
	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
)

// Policy is what the relay decides, one decision per method. Correct decides as the source and this package's doc say; a
// faulty relay embeds it and decides one thing otherwise.
//
// All methods are called with the server's lock held, one at a time, so they may call no method of the Server.
type Policy interface {
	// Checks are what is checked of an envelope, in order: the first refusal counts (EA-018 to EA-024).
	Checks(from Party) []Check

	// Join reads a relay.join, and judges it (EA-027). An attached party joins by one too. Who joins by a role that is no
	// host's name is an agent.
	Join(r Relay, from Party, e *Envelope) (proto.Join, *Refusal)

	// Key names the relay session of a join. Parties with equal keys hear each other.
	Key(j proto.Join) string

	// Rejoin judges a relay.join of a party that has joined already; key is that of j. Accepted, it is answered, and changes
	// nothing.
	Rejoin(r Relay, from Party, j proto.Join, key string) *Refusal

	// Joined is the relay.joined that answers the join e (EA-028 to EA-030); nil says nothing.
	Joined(r Relay, to Party, e *Envelope, j proto.Join) Message

	// Unjoined judges what comes before a join and is none (EA-025, EA-026); nil drops it.
	Unjoined(r Relay, from Party, e *Envelope) *Refusal

	// Recipients are who gets an envelope.
	Recipients(r Relay, from Party, e *Envelope) []Party

	// Pass is the text frame that a recipient gets for an envelope.
	Pass(from, to Party, e *Envelope) []byte

	// HostAbsent judges an agent's envelope that nobody gets, as its session has no host; nil drops it.
	HostAbsent(r Relay, from Party, e *Envelope) *Refusal

	// HostReplaced is how the connection of a host ends in whose session another one has joined; nil lets it stay and
	// speak, although it hears nothing any more.
	HostReplaced(r Relay, old, by Party) *websocket.CloseError

	// HostGone tells which requests without an answer are refused when their host is gone, and why. The others are forgotten.
	HostGone(r Relay, session string, outstanding []Request) ([]Request, Refusal)

	// Error is the error that tells a party of a refusal (EA-068 to EA-070); nil says nothing.
	Error(r Relay, to Party, about Request, why Refusal) Message

	// Ends is how a connection ends behind the error about an envelope; nil lets it live.
	Ends(r Relay, from Party, e *Envelope, why Refusal) *websocket.CloseError
}

// Party is a connection, and who is at its other end.
type Party struct {
	Conn     int    // number of the connection, from 1, in the order in which they were opened or attached
	Role     string // proto.AgentRole or proto.HostRole; "" before it has joined
	Session  string // key of the relay session; "" before it has joined
	Attached bool   // by Attach: it is of this process
}

// Request is an agent's envelope that had an id and was passed on, until it is answered; or, for Error, what is refused.
type Request struct {
	Conn       int    // of the party that asked
	ID         string // the id that an answer names
	Identified bool   // whether there is such an id
	Type       string // "" if it can't be read
}

// Refusal is why an envelope is not passed on: an error code of section 5, and a text that names the mend.
type Refusal struct{ Code, Text string }

// Relay is the server's state. It is valid only during the call that it is handed to.
type Relay interface {
	Parties() []Party                       // all connections, joined or not, oldest first
	Host(session string) (Party, bool)      // of a relay session
	Agents(session string) []Party          // of a relay session, in the order in which they joined
	Outstanding(session string) []Request   // the agents' requests that are without an answer, oldest first; not to be changed
	Send(conn int, frame []byte)            // puts a text frame on a connection, past Outbound. Correct never does.
	End(conn int, bye websocket.CloseError) // closes a connection behind what is queued for it. Correct never does.
}
