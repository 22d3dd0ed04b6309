package relay

import (
	"time"

	"parley/reference-server/defaults"
)

// Options configures a Server. The zero value is a relay without a host of its own.
type Options struct {
	// OnAgent is called when an agent joins a relay session without a host, before the agent is answered, so that a host
	// that it attaches is there when the agent first speaks. It is called once as long as the session has no host, one
	// call per session at a time, and agents that join the session meanwhile wait for it. session is what the agent sent.
	// It may attach hosts but no agents, and may not close the Server. The agent does not get what a host sends to all
	// during the call. May be nil.
	OnAgent func(session string)

	// OnEmpty is called when the last agent of a relay session has left, with the name that OnAgent got. No agent joins
	// the session during the call, so a host that it closes is gone for the next one. May be nil.
	OnEmpty func(session string)

	Policy   Policy   // makes a faulty relay
	Inbound  Inbound  // sees frames before the relay does; may be nil
	Outbound Outbound // sees frames before their connection does; may be nil

	Origins []string // Origin values accepted besides loopback ones; "null" and "*" stand for themselves
	Limits  Limits   // zero fields are those of DefaultLimits
}

// Inbound sees a frame of a party, and returns the frames to handle in its place: none drops it, and one that is kept
// may be returned after a later one. It also sees what an attached party writes, but not its join.
//
// It is called with the server's lock held, so it may call no method of the Server.
type Inbound func(r Relay, from Party, f Frame) []Frame

// Outbound sees a frame on its way to a party, and sends what is to be sent in its place. from is the party that sent
// it; its Conn is 0 for the relay's own messages. send may be called any number of times, for any connection, during
// the call or later, by any goroutine; a frame must not change after it was sent. Called like Inbound.
type Outbound func(r Relay, from, to Party, frame []byte, send func(conn int, frame []byte))

// Frame is one message of the WebSocket.
type Frame struct {
	Data   []byte
	Binary bool
}

// Limits bounds what a Server keeps and waits for.
type Limits struct {
	Connections int // open or attached; further ones get 503, or an error
	Sessions    int // relay sessions; a join that would make one more is refused
	Agents      int // of one relay session; a further join is refused

	Frame        int64 // bytes of one frame; more closes the connection with 1009
	Requests     int   // unanswered requests of one agent; the oldest is forgotten for one more
	RequestBytes int   // of their ids, likewise
	Queue        int   // frames that may wait for a slow reader; one more drops the connection
	QueueBytes   int   // of them, likewise; a single frame may always wait

	Write time.Duration // one write to a connection; a longer one drops it
	Close time.Duration // the wait for the peer's half of a closing handshake
}

// DefaultLimits are the limits of a relay whose Options set none.
var DefaultLimits = Limits{
	Connections:  1024,
	Sessions:     1024,
	Agents:       64,
	Frame:        1 << 20,
	Requests:     1024,
	RequestBytes: 4 << 20,
	Queue:        4096,
	QueueBytes:   32 << 20,
	Write:        time.Minute,
	Close:        time.Second,
}

func (o Options) withDefaults() Options {
	defaults.Fill(&o, Options{Policy: right, Limits: DefaultLimits})
	return o
}
