package gate

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"parley/internal/unixurl"
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

// dialTime bounds the time for an upstream to accept a connection, including TLS.
const dialTime = 5 * time.Second

// end is a network connection to one side. in is read by one goroutine at a time.
type end struct {
	net.Conn
	in   *bufio.Reader
	seen *watch      // the latest; nil: none
	over atomic.Bool // the watch has seen the end
	wait []byte      // bytes to write together with the next ones; guarded by the turn of the outlet
}

func newEnd(c net.Conn) *end { return &end{Conn: c, in: bufio.NewReaderSize(c, 32<<10)} }

// maxWait bounds the bytes that wait to be written.
const maxWait = 16 << 10

// Write writes the waiting bytes, and then b.
func (e *end) Write(b []byte) (int, error) {
	if len(e.wait) == 0 {
		return e.Conn.Write(b)
	}
	if len(b) > maxWait {
		if err := e.flushWaiting(); err != nil {
			return 0, err
		}
		return e.Conn.Write(b)
	}
	e.wait = append(e.wait, b...)
	return len(b), e.flushWaiting()
}

// writeLater writes bytes together with the next ones. The caller must flush before it waits for anything.
func (e *end) writeLater(b []byte) error {
	if len(b) > maxWait {
		_, err := e.Write(b)
		return err
	}
	e.wait = append(e.wait, b...)
	if len(e.wait) < maxWait {
		return nil
	}
	return e.flushWaiting()
}

// flushWaiting writes the bytes that wait.
func (e *end) flushWaiting() error {
	if len(e.wait) == 0 {
		return nil
	}
	_, err := e.Conn.Write(e.wait)
	e.wait = e.wait[:0]
	return err
}

// watch waits for the next byte of a side. err is set when done closes, nil if there is a byte.
type watch struct {
	done chan struct{}
	err  error
}

// watchNextByte begins to wait for the next byte, unless it is already waiting. The caller must call settle before it
// reads, and after it has closed the connection. gone, if not nil, is called with the error.
func (e *end) watchNextByte(gone func(error)) *watch {
	if e.seen != nil {
		return e.seen
	}
	w := &watch{done: make(chan struct{})}
	e.seen = w
	go func() {
		defer close(w.done)
		if _, w.err = e.in.Peek(1); w.err != nil {
			e.over.Store(true)
			if gone != nil {
				gone(w.err)
			}
		}
	}()
	return w
}

// awaitNextRequest waits for the next request, or for the end of the connection, which it then closes.
func (e *end) awaitNextRequest() { e.watchNextByte(func(error) { _ = e.Close() }) }

// endWatch waits for the watch, so that the connection can be read. It returns the error of the watch.
func (e *end) endWatch() error {
	if e.seen == nil {
		return nil
	}
	<-e.seen.done
	err := e.seen.err
	e.seen = nil
	return err
}

// isStale reports whether the watch has seen the connection end, or unrequested bytes.
func (e *end) isStale() bool {
	if e.seen == nil {
		return e.in.Buffered() > 0
	}
	if e.over.Load() {
		return true
	}
	select {
	case <-e.seen.done:
		return true
	default:
		return false
	}
}

// closeWrite tells the side that nothing more comes.
func (e *end) closeWrite() {
	if half, ok := e.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = e.Close()
}

// resetConn drops the connection, so that the side sees a reset.
func (e *end) resetConn() {
	c := e.Conn
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// wasReset reports whether a connection ended other than by the regular end of the stream.
func wasReset(err error) bool {
	return err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
}

// base is the address of an upstream.
type base struct {
	url  string
	addr string
	host string // for the field Host
	path string // before the path of a request
	tls  bool

	socket string // of a unix socket, instead of addr; "": TCP
}

// errNoUpstream reports that a request had no Reply, and there is no upstream.
var errNoUpstream = errors.New("there is no peer behind this address, and nothing answers in its place")

func parseBase(text string) (base, error) {
	if text == "" {
		return base{}, errNoUpstream
	}
	if unixurl.Is(text) {
		socket, rest, err := unixurl.Split(text)
		if err != nil {
			return base{}, fmt.Errorf("the URL of the peer is invalid: %w", err)
		}
		return base{url: text, socket: socket, host: unixurl.Host, path: strings.TrimRight(rest, "/")}, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return base{}, fmt.Errorf("the URL of the peer is invalid: %w", err)
	}
	b := base{url: text, host: u.Host, path: strings.TrimRight(u.EscapedPath(), "/")}
	port := "80"
	switch u.Scheme {
	case "http", "ws":
	case "https", "wss":
		b.tls, port = true, "443"
	default:
		return base{}, fmt.Errorf("the URL of the peer, %q, begins with none of http, https, ws, wss and unix", text)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if u.Hostname() == "" {
		return base{}, fmt.Errorf("the URL of the peer, %q, names no host", text)
	}
	b.addr = net.JoinHostPort(u.Hostname(), port)
	return b, nil
}

// dialUpstream connects to an upstream.
func (b base) dialUpstream(ctx context.Context, conf *tls.Config) (*end, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	var c net.Conn
	var err error
	switch {
	case b.socket != "":
		c, err = unixurl.Connect(ctx, b.socket)
	case b.tls:
		if conf == nil {
			conf = &tls.Config{}
		}
		conf = conf.Clone()
		conf.NextProtos = []string{"http/1.1"}
		c, err = unixurl.DialTLS(ctx, "tcp", b.addr, conf)
	default:
		c, err = unixurl.Dial(nil)(ctx, "tcp", b.addr)
	}
	if err != nil {
		return nil, fmt.Errorf("the peer at %s cannot be reached: %w", transcript.MaskURLs(b.url), err)
	}
	return newEnd(c), nil
}
