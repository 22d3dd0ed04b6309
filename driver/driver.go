// Package driver defines how the harness reaches a target: a Driver opens connections over one transport, and hands
// everything that is observed on them to a sink, in order. The drivers sit in subpackages: sse, ws, stdio, browser,
// r3labs.
//
// A driver knows bytes and no protocol: which path a message goes to and what an event means is the binding's.
package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"parley/transcript"
)

// Sink takes what was observed and returns its number in the transcript. It never blocks for long and may be called
// from several goroutines at once.
type Sink func(transcript.Record) int

// Tap is the sink of one connection. It marks as Late what the target says once the harness has begun to close the
// connection, but for the end itself: every Conn closes its Tap first.
type Tap struct {
	to      Sink
	closing atomic.Bool
}

// NewTap makes the Tap of a connection.
func NewTap(to Sink) *Tap { return &Tap{to: to} }

// Sink is the Sink that the connection appends to.
func (t *Tap) Sink(r transcript.Record) int {
	r.Late = r.Dir == transcript.Received && r.Kind != transcript.Closed && t.closing.Load()
	return t.to(r)
}

// Close tells that the harness closes the connection.
func (t *Tap) Close() { t.closing.Store(true) }

// What a driver says of a request that was reset before any byte of its answer came: nobody can tell whether the
// target, its system or something between has done that, nor whether the target has seen the request.
const (
	Repeated   = "repeated on a new connection: " // begins a remark
	ResetTwice = "reset twice: "                  // begins the label of a Failure: the repetition was reset as well
)

// Driver opens connections to a target over one transport. Safe for concurrent use.
type Driver interface {
	// Name is the driver's name on the command line and in results: "sse", "ws", "stdio", "browser", "r3labs".
	Name() string
	// Open connects. The record of the attempt is appended before the first byte is written; everything that the
	// target says afterwards reaches sink until the connection is closed. ctx bounds the opening only. An error is
	// an *OpenError when the target refused or could not be reached.
	Open(ctx context.Context, o OpenOptions, sink Sink) (Conn, error)
}

// Conn is one party's connection. Safe for concurrent use.
type Conn interface {
	// Send writes a message and never waits for an answer, held HTTP answers included. It returns the number of its
	// own "sent" record, which is the mark for what follows.
	Send(ctx context.Context, m Message) (mark int, err error)
	// Close ends the connection and waits until nothing more can reach the sink. Closing twice is harmless.
	Close(how CloseMode) error
}

// OpenOptions says where to connect.
type OpenOptions struct {
	Party    string      // name of the party in the transcript
	URL      string      // of the stream or socket; http(s) for sse, http(s) or ws(s) for ws; of no use for stdio
	Header   http.Header // sent with the opening and with every message; of no use for stdio
	MaxEvent int         // bytes of one event, frame or line; 0: 8 MiB
	// sse only: the target knows a client by its being the only one, so Close waits until it has noticed
	Alone   bool
	Process Starter // stdio only: where the process comes from
	Page    *Page   // browser only: how the page is read; nil: its text alone
}

// Page says how a page is read. A hook is a CSS selector, or "text=" and the visible text of a control.
type Page struct {
	// whose profile (cookies, storage) the page shares: what Profile of that party's connection returned; "": a fresh one
	With     string
	Language string            // e.g. "zh-CN": navigator.language(s) and Accept-Language; "": the browser's own
	Allow    []string          // hosts (name or name:port) that it may ask besides loopback and its own
	Select   string            // hook of the <select> that is read in full
	Controls map[string]string // name → hook of what can be acted on; "" hooks are skipped
	Chat     string            // hook of the chat's box
	Log      string            // hook of the event log's panel
	LogRow   string            // CSS selector of its rows; "": its direct children (of a <table>: its <tr>s)
	// level → CSS selector that a row, or something in it, matches; missing: by class or data-level
	Levels map[string]string
	// CSS selector of what is visible while loading; "": see Busy and Classes of a look's Select
	Loading string
	Dismiss string // hook of what closes a dialog that covers the page; "": none
}

// Starter starts processes that speak over their stdin and stdout. Connections whose starters are equal (==) share
// processes: a starter is comparable, and outlives its processes. Safe for concurrent use.
type Starter interface {
	// Start starts a process; ctx bounds the start only.
	Start(ctx context.Context) (Process, error)
}

// Process is a process that speaks over its stdin and stdout. Safe for concurrent use.
type Process interface {
	// Stdin is what the process reads. A write may wait for it to read; closing Stdin, or Stop, ends the wait.
	Stdin() io.WriteCloser
	// Stdout is what the process writes, read by one reader. io.EOF: nothing more can come. Stop ends a read.
	Stdout() io.Reader
	// Exited closes when the process has ended, by itself or by Stop. ExitErr then says how, and is nil before.
	Exited() <-chan struct{}
	ExitErr() error
	// Stderr is the last of what it wrote to stderr; nothing is missing once it was stopped.
	Stderr() string
	// Stop ends the process and waits until nothing is left of it; once ctx has ended, without grace. It may be called
	// again.
	Stop(ctx context.Context) error
}

// Message is what a party sends, as bytes.
type Message struct {
	Label  string      // for the transcript: the protocol's name of the message
	Method string      // HTTP only; default POST
	URL    string      // HTTP only
	Header http.Header // HTTP only, added to the connection's
	Body   []byte
	Binary bool // WebSocket only: a binary frame
}

// CloseMode says how a connection ends.
type CloseMode int

const (
	Graceful CloseMode = iota // a closing handshake where the transport has one
	Reset                     // the transport is dropped
)

// OpenError tells that a connection could not be opened.
type OpenError struct {
	URL    string
	Status int   // HTTP status of a refusal; 0 when there was no answer
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
