package relay

import (
	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
)

// Policy makes a faulty relay. Each function gets the correct decision as its last argument and returns the one to
// use; a nil function keeps the correct one. The functions are called with the server's lock held, one at a time, so
// they must not call methods of the Server.
type Policy struct {
	// Check decides whether an envelope passes a check; nil passes it (EA-018 to EA-024).
	Check func(name string, from Party, e *Envelope, why *Refusal) *Refusal

	// Join reads and checks a relay.join (EA-027), including that of an attached party. A role other than a host's names
	// makes an agent.
	Join func(r Relay, from Party, e *Envelope, j proto.Join, why *Refusal) (proto.Join, *Refusal)

	// Key returns the relay session of a sessionId. Parties with equal keys share a session.
	Key func(sessionID string) string

	// Joined returns the relay.joined for a join (EA-028 to EA-030); nil sends nothing.
	Joined func(r Relay, to Party, j proto.Join, msg Message) Message

	// Unjoined judges an envelope before the join (EA-025, EA-026); nil drops it.
	Unjoined func(r Relay, from Party, e *Envelope, why *Refusal) *Refusal

	// Recipients returns the parties that get an envelope.
	Recipients func(r Relay, from Party, e *Envelope, to []Party) []Party

	// Pass returns the text frame to send to a recipient.
	Pass func(from, to Party, e *Envelope, data []byte) []byte

	// HostAbsent judges an agent's envelope in a session without a host; nil drops it.
	HostAbsent func(r Relay, from Party, e *Envelope, why *Refusal) *Refusal

	// Error returns the error that refuses a request (EA-068 to EA-070); nil sends nothing.
	Error func(to Party, about Request, why Refusal, msg Message) Message

	// Ends decides how to close a connection after the error about an envelope; nil keeps it open.
	Ends func(from Party, e *Envelope, bye *websocket.CloseError) *websocket.CloseError
}

// right changes no decision.
var right = Policy{
	Check:      func(_ string, _ Party, _ *Envelope, why *Refusal) *Refusal { return why },
	Join:       func(_ Relay, _ Party, _ *Envelope, j proto.Join, why *Refusal) (proto.Join, *Refusal) { return j, why },
	Key:        func(sessionID string) string { return sessionID },
	Joined:     func(_ Relay, _ Party, _ proto.Join, msg Message) Message { return msg },
	Unjoined:   func(_ Relay, _ Party, _ *Envelope, why *Refusal) *Refusal { return why },
	Recipients: func(_ Relay, _ Party, _ *Envelope, to []Party) []Party { return to },
	Pass:       func(_, _ Party, _ *Envelope, data []byte) []byte { return data },
	HostAbsent: func(_ Relay, _ Party, _ *Envelope, why *Refusal) *Refusal { return why },
	Error:      func(_ Party, _ Request, _ Refusal, msg Message) Message { return msg },
	Ends:       func(_ Party, _ *Envelope, bye *websocket.CloseError) *websocket.CloseError { return bye },
}

// Party is a connection and the role at its other end.
type Party struct {
	Conn     int    // number of the connection, from 1, in the order of opening or attaching
	Role     string // proto.AgentRole or proto.HostRole; "" before it has joined
	Session  string // key of the relay session; "" before it has joined
	Attached bool   // by Attach: it runs in this process
}

// Request is an agent's envelope with an id that was passed on and not yet answered; for Policy.Error, the refused
// envelope.
type Request struct {
	Conn       int    // the sender's connection
	ID         string // the id that a reply must name
	Identified bool   // whether it has an id
	Type       string // "" if unreadable
}

// Refusal is why an envelope is refused: an error code of section 5 and a text that says how to fix it.
type Refusal struct{ Code, Text string }

// Relay is the server's state, for policies and hooks. It is valid only during the call that receives it.
type Relay struct{ s *Server }

// Parties returns all connections, joined or not, oldest first.
func (r Relay) Parties() []Party { return parties(r.s.allConnections()) }

// Host returns the host of a relay session.
func (r Relay) Host(session string) (Party, bool) {
	if ses := r.s.sessions[session]; ses != nil && ses.host != nil {
		return ses.host.party, true
	}
	return Party{}, false
}

// Agents returns the agents of a relay session in the order in which they joined.
func (r Relay) Agents(session string) []Party {
	if ses := r.s.sessions[session]; ses != nil {
		return parties(ses.agents)
	}
	return nil
}

// Send sends a text frame on a connection, bypassing Outbound.
func (r Relay) Send(conn int, frame []byte) { r.s.queueFrame(conn, frame) }

// End closes a connection after its queued frames.
func (r Relay) End(conn int, bye websocket.CloseError) {
	if c := r.s.findConnection(conn); c != nil {
		c.closeAfterQueue(bye)
	}
}

func parties(conns []*conn) []Party {
	all := make([]Party, len(conns))
	for i, c := range conns {
		all[i] = c.party
	}
	return all
}
