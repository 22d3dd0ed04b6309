package relay

import "time"

// Options configures a Server. The zero value is a relay without a host of its own.
type Options struct {
	// OnAgent is told of an agent that joins a relay session without a host, before the agent is answered, so that a host
	// attached by it is there when the agent first speaks. It is called once for as long as the session has no host, one
	// call per session at a time, and agents that join the session meanwhile wait for it. session is what the agent sent.
	// It may attach hosts and no agents, and may not close the Server. What a host sends to all during the call does not reach the
	// agent, which joins behind it. May be nil.
	OnAgent func(session string)

	// OnEmpty is told that the last agent of a relay session has left, by the name that OnAgent got. No agent joins the session
	// during the call, so a host that it closes is gone for the next one. May be nil.
	OnEmpty func(session string)

	Policy   Policy   // Correct{} without it
	Inbound  Inbound  // sees frames before the relay does; may be nil
	Outbound Outbound // sees frames before their connection does; may be nil

	Origins []string // Origin values accepted besides loopback ones; "null" and "*" stand for themselves
	Limits  Limits   // DefaultLimits for fields that are zero
}

// Inbound sees a frame of a party, and returns the frames to handle in its place: none drops it, and one that is kept
// may be returned behind a later one. What an attached party writes comes here too, but not that it joins.
//
// It is called with the server's lock held, so it may call no method of the Server.
type Inbound func(r Relay, from Party, f Frame) []Frame

// Outbound sees a frame on its way to a party, and sends what is to be sent in its place. from is the party that sent it;
// its Conn is 0 if the relay itself speaks. send may be called any number of times, for any connection, during the call or
// later, by any goroutine; what has been sent must not change any more. Called like Inbound.
type Outbound func(r Relay, from, to Party, frame []byte, send func(conn int, frame []byte))

// Frame is one message of the WebSocket.
type Frame struct {
	Data   []byte
	Binary bool // not a text
}

// Limits bounds what a Server keeps and waits for.
type Limits struct {
	Connections int // open or attached; further ones get 503, or an error
	Sessions    int // relay sessions; a join that would make one more is refused
	Agents      int // of one relay session; a further join is refused

	Frame        int64 // bytes of one frame; more closes the connection with 1009
	Requests     int   // of one agent that are without an answer; the oldest is forgotten for one more
	RequestBytes int   // of their ids, likewise
	Queue        int   // frames that may wait for a slow reader; one more drops the connection
	QueueBytes   int   // of them, likewise; a single frame may always wait

	Write time.Duration // one write to a connection; longer drops it
	Close time.Duration // the wait for the peer's half of a closing handshake
}

// DefaultLimits are the limits that hold where Options names none.
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

func (l Limits) withDefaults() Limits {
	l.Connections = or(l.Connections, DefaultLimits.Connections)
	l.Sessions = or(l.Sessions, DefaultLimits.Sessions)
	l.Agents = or(l.Agents, DefaultLimits.Agents)
	l.Frame = or(l.Frame, DefaultLimits.Frame)
	l.Requests = or(l.Requests, DefaultLimits.Requests)
	l.RequestBytes = or(l.RequestBytes, DefaultLimits.RequestBytes)
	l.Queue = or(l.Queue, DefaultLimits.Queue)
	l.QueueBytes = or(l.QueueBytes, DefaultLimits.QueueBytes)
	l.Write = or(l.Write, DefaultLimits.Write)
	l.Close = or(l.Close, DefaultLimits.Close)
	return l
}

func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.withDefaults()
	if o.Policy == nil {
		o.Policy = Correct{}
	}
	return o
}
