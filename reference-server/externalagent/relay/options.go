package relay

import (
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/defaults"
)

// Options configures a Server. The zero value is a relay without a host of its own.
type Options struct {
	Path string // of the WebSocket; "": /agent/ws

	// OnAgent is called when an agent joins a relay session without a host, before the agent gets its reply, so that a
	// host that it attaches is present when the agent first speaks. It is called once per period without a host, one
	// call per session at a time; agents that join the session meanwhile wait for it. session is the name that the agent
	// sent. It may attach hosts but no agents, and must not close the Server. The agent does not receive what a host
	// broadcasts during the call. May be nil.
	OnAgent func(session string)

	// OnEmpty is called when the last agent of a relay session has left, with the name that OnAgent got. No agent joins
	// the session during the call, so a host that it closes is gone before the next agent joins. May be nil.
	OnEmpty func(session string)

	Policy   Policy   // makes a faulty relay
	Inbound  Inbound  // sees frames before the relay; may be nil
	Outbound Outbound // sees frames before their connection; may be nil

	Origins []string // accepted Origin values besides loopback ones; "null" and "*" stand for themselves
	Limits  Limits   // zero fields are those of DefaultLimits
}

// Inbound sees a frame from a party and returns the frames to handle instead; an empty result drops it. It may hold a
// frame back and return it after a later one. It also sees what an attached party writes, but not its join.
//
// It is called with the server's lock held, so it must not call methods of the Server.
type Inbound func(r Relay, from Party, f Frame) []Frame

// Outbound sees a frame on its way to a party and sends its replacements. from is the party that sent it; its Conn is
// 0 for the relay's own messages. send may be called any number of times, for any connection, during the call or
// later, by any goroutine; a frame must not change after it was sent. The same locking rules as for Inbound apply.
type Outbound func(r Relay, from, to Party, frame []byte, send func(conn int, frame []byte))

// Frame is one message of the WebSocket.
type Frame struct {
	Data   []byte
	Binary bool
}

// Limits bounds what a Server keeps and waits for.
type Limits struct {
	Connections int // open or attached; more get 503, or an error
	Sessions    int // relay sessions; a join that would make another is refused
	Agents      int // per relay session; a further join is refused

	Frame        int64 // bytes per frame; a larger one closes the connection with 1009
	Requests     int   // unanswered requests per agent; beyond it the oldest is forgotten
	RequestBytes int   // total bytes of their ids, likewise
	Queue        int   // frames that may wait for a slow reader; one more drops the connection
	QueueBytes   int   // total bytes of them, likewise; a single frame may always wait

	Write time.Duration // one write to a connection; a slower one drops it
	Close time.Duration // the wait for the peer's half of a closing handshake
}

// DefaultLimits are the default limits of a relay.
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
	defaults.Fill(&o, Options{Path: proto.Path, Policy: right, Limits: DefaultLimits})
	return o
}
