// Package driver defines how the harness reaches a target: a Driver opens connections over one transport, and passes
// everything observed on them to a sink, in order. The drivers are in subpackages: sse, ws, stdio, browser, r3labs.
//
// A driver handles bytes and knows no protocol: the binding decides which path a message goes to and what an event
// means.
package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"parley/internal/httpclient"
	"parley/transport/transcript"
)

// Sink takes an observed record and returns its number in the transcript. It never blocks for long and may be called
// from several goroutines at once.
type Sink func(transcript.Record) int

// Tap is the sink of one connection. Once the harness has begun to close the connection, it marks whatever the target
// sends as Late, except the end itself: every Conn closes its Tap first.
type Tap struct {
	to      Sink
	closing atomic.Bool
}

// NewTap makes the Tap of a connection.
func NewTap(to Sink) *Tap { return &Tap{to: to} }

// Sink is the Sink for the connection's records.
func (t *Tap) Sink(r transcript.Record) int {
	r.Late = r.Dir == transcript.Received && r.Kind != transcript.Closed && t.closing.Load()
	return t.to(r)
}

// Close records that the harness is closing the connection.
func (t *Tap) Close() { t.closing.Store(true) }

// Labels for a request that was reset before any byte of its answer came: it is unknown what reset it (the target,
// its system or something in between), and whether the target saw the request.
const (
	Repeated   = "repeated on a new connection: " // prefix of a remark
	ResetTwice = "reset twice: "                  // prefix of a Failure's label: the repetition was reset too
)

// AnswerEnded is the label of a comment: the event stream that answers a request has ended in order.
const AnswerEnded = "the target ended the answer"

// AnswerBrokeOff starts the label of a comment: such an event stream has ended otherwise; the error follows.
const AnswerBrokeOff = "the answer broke off: "

// AnswerLeft is the label of a comment: the client has left such an event stream before its end. Only who stands
// between client and target records it.
const AnswerLeft = "the client left the answer"

// AnswerGoesOn reports whether a record belongs to the answer to a request, and more of that may follow: the beginning
// of an answer that is an event stream, and its items.
func AnswerGoesOn(r transcript.Record) bool {
	switch r.Kind {
	case transcript.Response:
		return strings.HasPrefix(r.Type, "text/event-stream")
	case transcript.Stream:
		return true
	case transcript.Comment:
		return r.Label != AnswerEnded && r.Label != AnswerLeft && !strings.HasPrefix(r.Label, AnswerBrokeOff)
	}
	return false
}

// HeadersRead returns the headers that records show, as lines, in the order in which they are named.
func HeadersRead(names []string, h http.Header) string {
	var b strings.Builder
	for _, name := range names {
		for _, value := range h.Values(name) {
			fmt.Fprintf(&b, "%s: %s\n", strings.ToLower(name), value)
		}
	}
	return b.String()
}

// Unflushed starts a remark about a compressed stream of which nothing can be decompressed; the encoding follows.
const Unflushed = "the stream is compressed with "

// Driver opens connections to a target over one transport. It is safe for concurrent use.
type Driver interface {
	// Name is the driver's name on the command line and in results: "sse", "ws", "stdio", "browser", "r3labs".
	Name() string
	// Open connects. The attempt is recorded before the first byte is written, and everything that the target sends
	// afterwards reaches sink until the connection is closed. ctx bounds the opening only. If the target refused or
	// could not be reached, the error is an *OpenError.
	Open(ctx context.Context, o OpenOptions, sink Sink) (Conn, error)
}

// Conn is one party's connection. It is safe for concurrent use.
type Conn interface {
	// Send writes a message. It never waits for an answer, not even for a held HTTP response. It returns the number of
	// its own "sent" record, the mark for what follows.
	Send(ctx context.Context, m Message) (mark int, err error)
	// Close ends the connection and waits until nothing more can reach the sink. Closing twice is harmless.
	Close(how CloseMode) error
}

// PageConn is the connection of a page in a browser.
type PageConn interface {
	Conn
	// Profile names its cookies and storage, for Page.With of a page that is to share them.
	Profile() string
	// AwaitIdle waits until the page has handled what has reached it, and what it then shows is recorded.
	AwaitIdle(ctx context.Context) error
	Shot(ctx context.Context) (png []byte, err error)
	DOM(ctx context.Context) (html string, err error)
}

// OpenOptions says where to connect.
type OpenOptions struct {
	Party string // name of the party in the transcript
	// of the stream or socket; http(s) for sse, http(s) or ws(s) for ws, unix for both; unused for stdio
	URL    string
	Header http.Header // sent with the opening and with every message; unused for stdio
	// names of the headers of requests and answers that records show (Record.Headers); sse and post only
	Reads    []string
	MaxEvent int // bytes of one event, frame or line; 0: 8 MiB
	// the party's cookies, for all its connections and requests, as in a browser; nil: those of this connection alone
	Jar *httpclient.Jar
	// sse only: the target recognises a client by its being the only one, so Close waits until the target has noticed
	Alone   bool
	Process Starter // stdio only: where the process comes from
	Page    *Page   // browser only: how to read the page; nil: only its text
}

// Page says how to read a page. A hook is a CSS selector, or "text=" and the visible text of a control.
type Page struct {
	// the profile (cookies, storage) to share: the Profile of that party's connection; "": a fresh one
	With     string
	Language string            // e.g. "zh-CN": navigator.language(s) and Accept-Language; "": the browser's own
	Allow    []string          // hosts (name or name:port) that it may request besides loopback and its own
	Select   string            // hook of the <select> to read in full
	Controls map[string]string // name → hook of a control; "" hooks are skipped
	Chat     string            // hook of the chat box
	Log      string            // hook of the event log panel
	LogRow   string            // CSS selector of its rows; "": its direct children (for a <table>: its <tr>s)
	// level → CSS selector that a row, or something in it, matches; without an entry: by class or data-level
	Levels map[string]string
	// CSS selector of what is visible while loading; "": see Busy and Classes of a look's Select
	Loading string
	Dismiss string // hook that closes a dialog covering the page; "": none
}

// Starter starts processes that are reached by their stdin and stdout. Connections whose starters are equal (==)
// share processes: a starter is comparable, and outlives its processes. It is safe for concurrent use.
type Starter interface {
	// Start starts a process; ctx bounds the start only.
	Start(ctx context.Context) (Process, error)
}

// Process is a process that is reached by its stdin and stdout. It is safe for concurrent use.
type Process interface {
	// Stdin is the input of the process. A write may block until the process reads; closing Stdin, or Stop, unblocks it.
	Stdin() io.WriteCloser
	// Stdout is the output of the process, for one reader. io.EOF: nothing more can come. Stop ends a read.
	Stdout() io.Reader
	// Exited closes when the process has exited, by itself or by Stop. ExitErr then says how, and is nil before.
	Exited() <-chan struct{}
	ExitErr() error
	// Stderr returns the end of its stderr; complete once it has been stopped.
	Stderr() string
	// Stop ends the process and waits until nothing is left of it; once ctx has ended, without grace. It may be called
	// again.
	Stop(ctx context.Context) error
}

// Message is what a party sends, as bytes.
type Message struct {
	Label  string      // the protocol's name of the message, for the transcript
	Method string      // HTTP only; default POST
	URL    string      // HTTP only
	Header http.Header // HTTP only, added to the connection's
	Body   []byte
	Binary bool // WebSocket only: a binary frame
}

// CloseMode says how a connection ends.
type CloseMode int

const (
	Graceful CloseMode = iota // with a closing handshake if the transport has one
	Reset                     // drops the transport
	// ends the sending side of the transport without a closing handshake, waits for a moment until the target has ended
	// its own, and drops it; as Reset where nothing can be half closed
	Fin
	Abort // resets the transport, so that a TCP peer gets an RST; as Reset elsewhere
)

// Linger has a connection reset when it is closed, if it is a TCP connection, also below TLS.
func Linger(c net.Conn) {
	if below, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = below.NetConn()
	}
	if tcp, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0)
	}
}

// OpenError reports that a connection could not be opened.
type OpenError struct {
	URL    string
	Status int   // HTTP status of a refusal; 0 if there was no response
	Err    error // cause
}

func (e *OpenError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("open %s: refused with HTTP status %d: %v", e.URL, e.Status, e.Err)
	}
	return "open " + e.URL + ": " + e.Err.Error()
}

func (e *OpenError) Unwrap() error { return e.Err }

// ErrClosed is returned by Send on a connection that the harness has closed.
var ErrClosed = errors.New("connection is closed")
