// Package transcript is the one truth of a scenario: an append-only record of everything that was sent and observed,
// numbered through the scenario, time-stamped, bounded, with waiting, excerpts, normalising and redaction.
package transcript

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"parley/internal/cut"
)

// Dir tells who acted.
type Dir string

const (
	Sent     Dir = "sent"     // the harness wrote it
	Received Dir = "received" // the target wrote it
	Noted    Dir = "noted"    // the harness remarks on it; nothing was on the wire
)

// Kind tells what a record holds.
type Kind string

const (
	Open     Kind = "open"     // a connection was asked for (sent), or stands (received)
	Request  Kind = "request"  // an HTTP request beside the stream
	Response Kind = "response" // an HTTP answer
	Stream   Kind = "event"    // a dispatched event of an event stream
	Comment  Kind = "comment"  // a comment, retry or other line of an event stream that dispatches nothing
	Frame    Kind = "frame"    // a WebSocket message
	Closed   Kind = "closed"   // the connection ended
	Failure  Kind = "failure"  // the transport failed: refused, reset, timed out
	Remark   Kind = "remark"   // a note of the harness

	Snapshot Kind = "look"     // what a person sees of a page
	Act      Kind = "act"      // what the user does on a page
	Ask      Kind = "ask"      // a request that a page makes, as its browser tells
	Answered Kind = "answered" // such a request has ended
	Dialog   Kind = "dialog"   // a page's alert, confirm or prompt
	Console  Kind = "console"  // a message on a page's console, or an exception that it did not catch
)

// Record is one thing that happened. Records are values: what is handed out is never changed afterwards.
type Record struct {
	N       int           // number within the scenario, from 1
	At      time.Duration // since the scenario's start, monotonic
	Conn    string        // the party whose connection it is, e.g. "A"; "" for none
	Dir     Dir
	Kind    Kind
	Label   string // for people: "POST /message", "agent_switched", "101"
	Status  int    // HTTP status or WebSocket close code; 0 for none
	Type    string // media type of a response; opcode "text" or "binary" of a frame; event type of an event stream
	Bytes   []byte // the payload as on the wire, bounded
	Cut     int    // how many bytes were cut off the payload
	Reply   int    // number of the record that this answers; 0 for none
	Event   *Event // what the payload says in the protocol's terms; nil when it says nothing
	Flushed bool   // an HTTP answer whose body has been read to its end
	// the target said it after the harness had closed the connection: it is kept, and not judged. Event is nil
	Late bool
}

// Event is a protocol message, free of its transport's wrapping.
type Event struct {
	Type      string // protocol name of the event
	Data      any    // decoded data: nil, bool, json.Number, string, []any or map[string]any
	RequestID any    // id of a request to the user; nil for none
	Timestamp any    // the sender's time; nil for none
	Envelope  any    // the whole message as decoded
	Faults    []string
	Again     bool // it equals an earlier event of its connection, and nothing was sent that it could answer
}

// Line renders a record for people, on one line of at most width characters (0: no bound).
func (r Record) Line(width int) string {
	arrow := map[Dir]string{Sent: "->", Received: "<-", Noted: "--"}[r.Dir]
	var b strings.Builder
	fmt.Fprintf(&b, "%4d %9.3f ms  %-3s %s %s", r.N, float64(r.At.Microseconds())/1000, r.Conn, arrow, r.Kind)
	if r.Label != "" {
		b.WriteString(" " + printable(r.Label))
	}
	if r.Status != 0 {
		fmt.Fprintf(&b, " %d", r.Status)
	}
	if r.Type != "" && r.Type != r.Label {
		fmt.Fprintf(&b, " (%s)", printable(r.Type))
	}
	if r.Reply != 0 {
		fmt.Fprintf(&b, " to %d", r.Reply)
	}
	if len(r.Bytes) > 0 {
		b.WriteString("  " + printable(string(r.Bytes)))
	}
	if r.Cut > 0 {
		fmt.Fprintf(&b, " … %d bytes cut", r.Cut)
	}
	if r.Late {
		b.WriteString("   (after the harness had closed the connection: not judged)")
	}
	return cut.Text(b.String(), width)
}

// Printable is text as it stands on a line: what would break the line, or reorder it, is written as escapes.
func Printable(s string) string { return printable(s) }

// printable keeps text as it is and writes what would break a line or is no UTF-8 as escapes.
func printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == '\u2028' || r == '\u2029' || isBidi(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

// isBidi names the controls that reorder what a reader sees.
func isBidi(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}
