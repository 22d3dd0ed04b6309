// Package transcript is the single source of truth on a scenario: an append-only, bounded record of everything sent
// and observed, with numbers and timestamps, and with waiting, excerpts, normalisation and redaction.
package transcript

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"parley/internal/cut"
)

// Dir says who acted.
type Dir string

const (
	Sent     Dir = "sent"     // the harness wrote it
	Received Dir = "received" // the target wrote it
	Noted    Dir = "noted"    // a remark of the harness; nothing was on the wire
)

// Kind says what a record holds.
type Kind string

const (
	Open     Kind = "open"     // a connection was requested (sent) or established (received)
	Request  Kind = "request"  // an HTTP request other than the stream
	Response Kind = "response" // an HTTP answer
	Stream   Kind = "event"    // a dispatched event of an event stream
	Comment  Kind = "comment"  // a comment, retry or other line of an event stream that dispatches no event
	Frame    Kind = "frame"    // a WebSocket message
	Closed   Kind = "closed"   // the connection ended
	Failure  Kind = "failure"  // the transport failed: refused, reset, timed out
	Remark   Kind = "remark"   // a note of the harness

	Snapshot Kind = "look"     // what a person sees of a page
	Act      Kind = "act"      // what the user does on a page
	Ask      Kind = "ask"      // a request of a page, as reported by its browser
	Answered Kind = "answered" // such a request has completed
	Dialog   Kind = "dialog"   // a page's alert, confirm or prompt
	Console  Kind = "console"  // a message on a page's console, or an uncaught exception
)

// Exception is the Type of a Console record of an uncaught exception.
const Exception = "exception"

// Record is one thing that happened. Records are values: once returned, they do not change.
type Record struct {
	N       int           // number within the scenario, from 1
	At      time.Duration // since the scenario's start, monotonic
	Conn    string        // the party that owns the connection, e.g. "A"; "" for none
	Dir     Dir
	Kind    Kind
	Label   string // for people: "POST /message", "agent_switched", "101"
	Status  int    // HTTP status or WebSocket close code; 0 for none
	Type    string // media type of a response; opcode "text" or "binary" of a frame; event type of an event stream
	ID      string // of an event of an event stream: the id that it sets; of its opening: Last-Event-ID; "" for none
	Bytes   []byte // the payload as on the wire, bounded
	Cut     int    // number of bytes cut off the payload
	Reply   int    // number of the record that this answers; 0 for none
	Trace   string // of a request or an opening: the W3C trace context in its header (traceparent); "" for none
	Headers string // of a request or its answer: those that the protocol reads, as lines "name: value"; "" for none
	Event   *Event // the payload in the protocol's terms; nil if it has no meaning there
	Flushed bool   // an HTTP response whose body was read to its end
	// it came after its receiver had closed the connection: it is kept, but not judged. Event is nil
	Late bool
}

// Event is a protocol message without its transport's wrapping.
type Event struct {
	Type      string // the event's name in the protocol
	Data      any    // decoded data: nil, bool, json.Number, string, []any or map[string]any
	RequestID any    // id of a request to the user; nil for none
	Timestamp any    // the sender's time; nil for none
	Envelope  any    // the whole message as decoded
	Faults    []string
	Again     bool // it equals an earlier event of its connection, and nothing was sent that it could answer
}

// Line renders a record for people, on one line of at most width characters (0: unlimited).
func (r Record) Line(width int) string {
	b := make([]byte, 0, 64+len(r.Label)+len(r.Type)+len(r.Bytes)+len(r.Bytes)/8)
	b = fmt.Appendf(b, "%4d %9.3f ms  %-3s %s ", r.N, float64(r.At.Microseconds())/1000, r.Conn, arrows[r.Dir])
	b = append(b, r.Kind...)
	if r.Label != "" {
		b = appendPrintable(append(b, ' '), r.MaskedLabel())
	}
	if r.Status != 0 {
		b = strconv.AppendInt(append(b, ' '), int64(r.Status), 10)
	}
	if r.Type != "" && r.Type != r.Label {
		b = append(appendPrintable(append(b, " ("...), r.Type), ')')
	}
	if r.Reply != 0 {
		b = strconv.AppendInt(append(b, " to "...), int64(r.Reply), 10)
	}
	if len(r.Bytes) > 0 {
		b = appendPrintable(append(b, "  "...), r.Bytes)
	}
	if r.Cut > 0 {
		b = fmt.Appendf(b, " … %d bytes cut", r.Cut)
	}
	if r.Late {
		b = append(b, "   (after its receiver had closed the connection: not judged)"...)
	}
	return cut.Text(string(b), width)
}

// MaskedLabel returns the label as it may be written: that of a request without the credentials in its target.
func (r Record) MaskedLabel() string {
	if r.Kind == Open || r.Kind == Request {
		return MaskURLs(r.Label)
	}
	return r.Label
}

var arrows = map[Dir]string{Sent: "->", Received: "<-", Noted: "--"}

// Printable escapes what would break or reorder a line of text.
func Printable(s string) string { return escapeUnprintable(s) }

// escapeUnprintable escapes what would break a line, and invalid UTF-8.
func escapeUnprintable(s string) string { return string(appendPrintable(nil, s)) }

// appendPrintable appends s as escapeUnprintable returns it.
func appendPrintable[T string | []byte](b []byte, s T) []byte {
	from := 0 // of what is not appended yet, and needs no escape
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		escape := ""
		switch {
		case r == utf8.RuneError && n == 1:
			escape = fmt.Sprintf(`\x%02x`, s[i])
		case r == '\n':
			escape = `\n`
		case r == '\r':
			escape = `\r`
		case r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == '\u2028' || r == '\u2029' || Reorders(r):
			escape = fmt.Sprintf(`\u%04x`, r)
		}
		if escape != "" {
			b = append(append(b, s[from:i]...), escape...)
			from = i + n
		}
		i += n
	}
	return append(b, s[from:]...)
}

// Reorders reports whether r is a control that reorders displayed text.
func Reorders(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// What a transcript keeps beyond its bounds: the records that the harness has sent or noted, up to MaxOwn, because the
// answers to a message are those behind its record; and, of the received ones, copies of the last MaxLast, for people.
// These are not judged.
const (
	MaxOwn      = 10_000
	MaxOwnBytes = 16 << 20
	MaxLast     = 20
	maxLastPart = 4 << 10 // of the payload of each
)

// leftOut counts the records that exceeded the bounds.
type leftOut struct {
	count    int
	others   bool // some would have been kept if the other transcripts held nothing
	own      int  // records kept nevertheless
	ownBytes int
	last     []Record // a ring once it is full
	next     int
}

// keepOrLeaveOut reports whether a record that exceeds the bounds is kept all the same, and if not, leaves it out.
func (l *leftOut) keepOrLeaveOut(r *Record) bool {
	if r.Dir != Received && l.own < MaxOwn && l.ownBytes+len(r.Bytes) <= MaxOwnBytes {
		l.own, l.ownBytes = l.own+1, l.ownBytes+min(len(r.Bytes), MaxPayload)
		return true
	}
	l.count++
	if r.Dir != Received {
		return false
	}
	copied := *r
	copied.Event = nil
	copied.Label, copied.Type = cut.Head(r.Label, MaxLabel), cut.Head(r.Type, MaxLabel)
	copied.Bytes = append([]byte(nil), cut.Bytes(r.Bytes, maxLastPart)...)
	copied.Cut += len(r.Bytes) - len(copied.Bytes)
	if len(l.last) < MaxLast {
		l.last = append(l.last, copied)
		return false
	}
	l.last[l.next] = copied
	l.next = (l.next + 1) % MaxLast
	return false
}

// enough is the number of records left out after which nobody waits for one any more.
const enough = 1000

// ErrFull ends a wait for a record that could not be kept if it came.
var ErrFull = errors.New("the transcript is full")

// leaveOut leaves a record out that takes n bytes, or reports that it is kept nevertheless. It wakes those who wait in
// vain from now on.
func (t *Transcript) leaveOut(r *Record, n int) (kept bool) {
	if kept = t.left.keepOrLeaveOut(r); kept {
		return true
	}
	squeezed := !t.left.others && t.account != nil && !exceedsUnkept(len(t.records), t.bytes, r) &&
		t.account.bytes.Load()+int64(n) <= Together
	t.left.others = t.left.others || squeezed
	if t.left.count == enough || squeezed {
		t.wakeWaiters()
	}
	return false
}

// Squeezed reports whether records are left out for what other transcripts hold, so that it is better to begin again
// once they are done than to wait for more.
func (t *Transcript) Squeezed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left.others
}

// unlikelyKept reports whether a record is not likely to be kept. A transcript that keeps older records in a file is
// never full for long.
func (t *Transcript) unlikelyKept() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spill == nil && (t.left.count >= enough || t.left.others)
}

// Last returns copies of the last received records that exceeded the bounds, the oldest first. Their number is 0.
func (t *Transcript) Last() []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.left
	return append(append([]Record(nil), l.last[l.next:]...), l.last[:l.next]...)
}
