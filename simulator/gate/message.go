package gate

import (
	"context"
	"iter"
	"net/http"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// Side is an end of a connection.
type Side int

// The sides.
const (
	Client Side = iota
	Server
)

// String returns "client" or "server".
func (s Side) String() string {
	if s == Client {
		return "client"
	}
	return "server"
}

// Other returns the opposite side.
func (s Side) Other() Side { return 1 - s }

// Message is what one side sends to the other: a request, an answer, an event, a WebSocket message.
type Message struct {
	// Conn is the name of the stream or socket, or of the party of a plain HTTP request: see Options.Party.
	Conn string
	From Side

	// Kind is one of
	//   - transcript.Open: a stream or socket is requested (from the client), or has been accepted by the upstream (from
	//     the server, with its Status)
	//   - transcript.Request and transcript.Response: any other HTTP request, and the answer to one; the answer to
	//     an Open that was refused is a Response too
	//   - transcript.Stream: an event of an event stream. Comments, and blocks that dispatch no event, pass unexamined
	//   - transcript.Frame: a WebSocket message with all its fragments. Pings, pongs and close frames pass unexamined
	//   - transcript.Closed: From has ended the stream or socket, with Status and Body as code and reason of its close
	//     frame. What the Handler decides then has no effect. The gate's own ends are not shown
	Kind transcript.Kind

	Method string      // of a Request or Open, and of the request that a Response answers
	Path   string      // with the query; of the same messages
	Header http.Header // of an Open, Request or Response; not to be changed
	Status int         // of a Response, of an Open from the server, of a close frame

	Event  string // type of an event; "message" if it has none
	ID     string // of an event: the last event id; "" if there is none
	Binary bool   // of a WebSocket message

	Body []byte // content of a request or answer, data of an event, payload of a WebSocket message; not to be changed

	// Gone closes when the side that the message goes to has sent a close frame, or has ended: what the Handler still
	// waits for can no longer matter to that side, and its own end waits for the Handler. nil if only ctx tells this.
	Gone <-chan struct{}
}

// Decision says what happens to a message. The zero value passes it on, byte for byte.
type Decision struct {
	// Drop keeps the message from the other side. The client of a dropped Request or Response gets no answer, and its
	// connection stays open until either end closes it.
	Drop bool

	// With is passed on instead of the message; nil: the message itself. Conn and From are ignored.
	//   - For an event or WebSocket message: any number, even none. Of each, Event, ID and Body, or Binary and Body are
	//     used. One of Kind transcript.Closed ends the connection: see Gate.Send.
	//   - For the others: the first one. Its Status, Method, Path and Header replace those of the message if they are set
	//     (a header field without values is removed), and its Body always does.
	With []Message

	// Reply answers a Request or Open without asking the upstream, with Status (0: 200), Header and Body. An Open is
	// accepted with 101 (a socket) or 200 (a stream): messages to the client are then sent with Gate.Send, and the
	// client's messages are given to the Handler and not passed on. Any other status refuses it.
	Reply *Message

	// Wire, if not nil, makes the writes of an event or WebSocket message, and of each one in With, from the bytes that
	// would be sent: an SSE block without chunks, or frames with their headers and masks. Each Piece is written
	// separately, in its own chunk if the stream is chunked. Wire must not keep or change its argument. Records do not
	// show its effect.
	Wire func(raw []byte) iter.Seq[Piece]

	// Cut says that Wire does not write the whole message, which is then not recorded as sent.
	Cut bool

	// Fin then ends the stream or socket towards both sides with a FIN, without a close frame or last chunk.
	Fin bool

	// End then ends the connection towards both sides.
	End *driver.CloseMode
}

// Handler decides what happens to a message. It is called in order for each direction of a connection, concurrently for
// directions and connections, and may block: only later messages in that direction wait, and its end (Message.Gone).
// ctx ends when the network connection of the client ends, and is the same for everything on it, which is one request,
// stream or socket at a time. A Handler must not call Gate.Close, Reset or End, which wait for it. It must not call
// Gate.Send for the connection whose Open it decides on: Send waits until the connection is open.
type Handler func(ctx context.Context, m Message) Decision
