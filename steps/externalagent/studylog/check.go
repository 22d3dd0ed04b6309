// Package studylog judges study logs: the JSONL files that a host writes (external-agent.zh.md, section 6). It is
// pure and reads a file of any length with bounded memory.
//
// # The algorithm
//
// Lines end in LF and follow the JSON Lines convention: UTF-8 without a byte order mark, and one JSON value per line,
// so an empty line is a fault. CRLF is tolerated and noted, because a CR is white space in JSON. The last line may
// lack its end. If it does and is only the start of an object, it is torn, as after a crash. A torn line is noted,
// and is a fault only if the session is known to have ended.
//
//  1. EA-085: each line is one JSON object in UTF-8 without duplicate keys. A line of more than 8 MiB, or nested deeper
//     than 1000, is noted and not judged, because no clause forbids it. A line that is not an object is not judged any
//     further.
//  2. EA-086: sessionId is a string. One file may hold several sessions. If one session is expected, the lines of
//     others are not judged, and lines without a session belong to it unless the file has other sessions. It must have
//     at least one line.
//  3. EA-087: eventIndex is a number. One that is not a 64-bit integer is noted. EA-088: it is greater than that of the
//     previous line of the same session, compared to the last digit. Gaps and any first value are allowed.
//  4. EA-089: timestamp is a non-empty text or a number. A form other than the source's example, an ISO 8601 date and
//     time in UTC with milliseconds and Z, is noted (EA-089a).
//  5. EA-090: direction is in, out or internal.
//  6. EA-091: direction is the host's view: in for what an agent sends, out for what a host sends. A message may be
//     logged more than once, as received and as passed on, so a line with the other direction is a fault only if no
//     line with the same type and payload has the right one. Without Messages, a host's message logged as in is
//     allowed too, because an agent may have sent it by mistake. Types of the relay and types unknown to the source
//     may have any direction, and any line may be internal. But without Messages, it is a fault if every line of a
//     type of section 4 is internal, because such a log shows no directions.
//  7. EA-092: type is a non-empty string.
//  8. EA-093: payload is an object and not a wrapper around the payload. A wrapper is the whole envelope, or an object
//     that lacks all members by which a payload of that type is known, while one of its members has all of them.
//
// Further fields are allowed. If the messages of the session are given:
//
//  9. EA-093: each message has a line of its type and direction with an equal payload: compared deeply, and numbers by
//     value. Equal messages need as many lines. A message without such a line is matched, in order, with the lines of
//     its type and direction that equal no message: its payload differs. An optional message is matched only if there
//     are as many lines as messages of that type and direction, and as many left over; otherwise it counts as not
//     logged. A line with a message's payload in one of its members is a wrapper, whatever the numbers.
//  10. EA-091: a message whose payload is logged, but only with other directions, has the wrong one. The same holds for
//     missing messages if every line of their type is internal, whatever the payloads.
//  11. EA-107: once the session has ended, the log has every message that is not optional. An exception is
//     session.ended, which may be in transit when the file is complete. If a part of the log was not judged, nothing
//     counts as missing.
//  12. EA-010: once the session has ended, the log has at least one of the messages that are not optional or, if there
//     are none of these, at least one event.
//
// A clause that was not reached has no finding: an empty file passes nothing.
package studylog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	vocab "parley/protocol/externalagent"
	wjson "parley/transport/wire/json"
)

// Check judges a log. It never panics, whatever the input.
func Check(r io.Reader, o Options) Report {
	c := &checker{o: o, book: newBook(), loose: newBook(), in: newLines(r), wire: newWire(o.Messages),
		window: newWindow(maxWindow), last: map[string]place{}}
	c.window.compared = o.Messages != nil
	for {
		l, err := c.in.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.report.Err = fmt.Errorf("read line %d: %w", c.number()+1, err)
			}
			break
		}
		c.report.Lines++
		c.line(l)
	}
	c.settleOwners()
	c.window.end(c.book)
	c.end()
	c.book.report(&c.report)
	return c.report
}

type checker struct {
	o      Options
	book   *book
	loose  *book // of lines without a session
	into   *book // of the current line
	in     *lines
	wire   *wire
	window *window
	report Report

	session     *string          // of the first line that names one; nil: not yet known
	last        map[string]place // the latest index of each session
	latest      place            // the latest of all judged lines
	latestLoose bool             // that line names no session
	owned       int              // lines of the expected session, or of any
	strange     int              // number of lines of other sessions
	other       string           // the first of these sessions
	otherAt     int              // the first of these lines
	skipped     bool             // a line was not judged
}

var bom = []byte("\xEF\xBB\xBF")

// number returns the number of the current line in its file.
func (c *checker) number() int { return c.o.Before + c.report.Lines }

// breaks records that the current line breaks a clause.
func (c *checker) breaks(clause, expected, observed string) {
	c.into.breaks(Finding{Clause: clause, Line: c.number(), Expected: expected, Observed: observed})
}

func (c *checker) kept(clause string) { c.into.kept(clause, c.number()) }

// line judges a line as a whole (EA-085), and then its fields.
func (c *checker) line(l line) {
	const clause = "EA-085"
	c.into = c.book
	if c.o.Session != "" {
		c.into = c.loose // until its session is known
	}
	if l.long {
		c.unjudged(fmt.Sprintf("of more than %d bytes", MaxLine))
		return
	}
	text, marked := l.text, false
	if c.number() == 1 {
		text, marked = bytes.CutPrefix(text, bom)
	}
	if bytes.HasSuffix(text, []byte("\r")) && l.ended {
		c.book.note(c.number(), "the line ends in CRLF")
	}
	if len(bytes.TrimLeft(text, " \t\r")) == 0 && !marked {
		c.breaks(clause, "a JSON object", "an empty line")
		return
	}
	v, faults, err := wjson.Decode(text)
	object, ok := v.(wjson.Object)
	switch {
	case err != nil && !l.ended && errors.Is(err, io.ErrUnexpectedEOF) &&
		bytes.HasPrefix(bytes.TrimLeft(text, " \t\r"), []byte("{")):
		c.torn(l)
		return
	case errors.Is(err, wjson.ErrDepth): // which JSON allows
		c.unjudged(fmt.Sprintf("nested deeper than %d", wjson.MaxDepth))
		return
	case err != nil:
		c.breaks(clause, "a JSON object", fmt.Sprintf("%s, in %s", plain(err.Error()), begins(text)))
		return
	case !ok:
		c.breaks(clause, "a JSON object", fmt.Sprintf("the %s %s", wjson.Kind(v), show(v)))
		return
	}
	c.report.Events++
	who := c.ownerOf(object)
	if who == others {
		c.stranger(object)
		return
	}
	if who == mine {
		c.into = c.book
		c.owned++
	}
	switch bad := c.faults(faults); {
	case marked:
		c.breaks(clause, "UTF-8 without a byte order mark", "a byte order mark before "+begins(text))
	case bad != "":
		c.breaks(clause, "UTF-8, and each key once", bad)
	default:
		c.kept(clause)
	}
	c.fields(object, who)
}

// faults returns the first fault of a line. An escaped lone surrogate is allowed by JSON's grammar and only noted.
func (c *checker) faults(faults []wjson.Fault) string {
	for _, f := range faults {
		if f.Kind != wjson.LoneSurrogate {
			return plain(f.String())
		}
		c.book.note(c.number(), "an escape is half of a surrogate pair")
	}
	return ""
}

// unjudged notes a line beyond the limits of the check, which no clause forbids.
func (c *checker) unjudged(why string) {
	c.skipped = true
	c.book.note(c.number(), "a line "+why+" is not judged")
}

func (c *checker) torn(l line) {
	c.report.Torn = &Torn{Line: c.number(), Bytes: l.size, Start: begins(l.text)}
	if c.o.Complete {
		c.breaks("EA-085", "a JSON object, and the end of its line", "a truncated line: "+begins(l.text))
	}
}

// fields judges the six fields.
func (c *checker) fields(event wjson.Object, who owner) {
	c.sessionID(event)
	c.eventIndex(event, who)
	c.timestamp(event)
	direction := c.direction(event)
	typ := c.typ(event)
	v, there := event[vocab.Payload]
	payload, ok := v.(wjson.Object)
	switch {
	case !ok:
		c.breaks("EA-093", "payload, an object", field(vocab.Payload, v, there))
	case c.wire == nil && !c.wraps(typ, direction, payload): // otherwise it is judged by the messages
		c.kept("EA-093")
	}
	if !ok || direction == "" || typ == "" {
		return
	}
	// Skip types that are neither an agent's nor a host's and have no message in the session.
	if right(typ) == "" && !c.wire.knows(typ) {
		return
	}
	if c.wire != nil && !c.wire.knows(typ) {
		c.wraps(typ, direction, payload)
	}
	sum := sumOf(typ, payload)
	if who == nobodys && c.o.Session != "" && c.wire.find(sum, typ, payload) == nil {
		c.wire.unclaimed(typ, direction, payload, c.number())
		return
	}
	sent := c.wire.line(c.into, sum, typ, direction, payload, c.number())
	if at := wrapped(typ, payload); at != "" { // a line with the message itself may have the right direction
		inner, _ := wjson.Lookup(payload, at)
		sum = sumOf(typ, inner)
	}
	c.window.line(c.book, sum, typ, direction, sent, c.number())
}

// wraps judges a line without a known message: its payload must not be a wrapper around one.
func (c *checker) wraps(typ, direction string, payload wjson.Object) bool {
	if direction != vocab.In && direction != vocab.Out {
		return false
	}
	at := wrapped(typ, payload)
	if at != "" {
		c.breaks("EA-093", "the payload of the "+typ, "a wrapper around it: the payload is at "+plain("/payload"+at))
	}
	return at != ""
}

func (c *checker) sessionID(event wjson.Object) {
	const clause = "EA-086"
	v, there := event[vocab.SessionID]
	id, ok := v.(string)
	if !ok {
		c.breaks(clause, "sessionId, a string", field(vocab.SessionID, v, there))
		return
	}
	c.known(id)
	if c.session == nil {
		c.session = &id
	}
	c.kept(clause)
}

func (c *checker) eventIndex(event wjson.Object, who owner) {
	v, there := event["eventIndex"]
	n, ok := v.(wjson.Number)
	if !ok {
		c.breaks("EA-087", "eventIndex, a number", field("eventIndex", v, there))
		return
	}
	c.kept("EA-087")
	if !counts(n) {
		c.book.note(c.number(), "eventIndex is not an integer of 64 bits")
	}
	id, _ := event[vocab.SessionID].(string)
	c.ordered(n, id, who)
}

// timestamp judges that a timestamp is present. A form other than the example's is only noted (EA-089a).
func (c *checker) timestamp(event wjson.Object) {
	const clause, other = "EA-089", "timestamp has another form than the source's example, which has milliseconds and Z"
	v, there := event["timestamp"]
	switch v := v.(type) {
	case wjson.Number:
		c.book.note(c.number(), other+": it is a number")
	case string:
		if v == "" {
			c.breaks(clause, "timestamp, a text or a number", "an empty timestamp")
			return
		}
		switch odd, asExample := instant(v); {
		case odd != "":
			c.book.note(c.number(), other+": "+odd)
		case !asExample:
			c.book.note(c.number(), other)
		}
	default:
		c.breaks(clause, "timestamp, a text or a number", field("timestamp", v, there))
		return
	}
	c.kept(clause)
}

// direction judges the direction, and returns "" for an invalid one.
func (c *checker) direction(event wjson.Object) string {
	v, there := event["direction"]
	d, _ := v.(string)
	if d != vocab.In && d != vocab.Out && d != vocab.Internal {
		c.breaks("EA-090", `direction, which is "in", "out" or "internal"`, field("direction", v, there))
		return ""
	}
	c.kept("EA-090")
	return d
}

func (c *checker) typ(event wjson.Object) string {
	v, there := event[vocab.Type]
	t, _ := v.(string)
	if t == "" {
		c.breaks("EA-092", "type, a string that is not empty", field(vocab.Type, v, there))
		return ""
	}
	c.kept("EA-092")
	return t
}

// end judges the log as a whole.
func (c *checker) end() {
	switch {
	case c.o.Session != "":
		c.report.Session = c.o.Session
	case c.session != nil:
		c.report.Session = *c.session
	}
	if c.wire != nil {
		c.wire.end(c.book, c.o.Complete, c.skipped || c.report.Err != nil)
	}
	if c.wire == nil {
		c.window.alone(c.book)
	}
	if c.o.Complete && c.report.Events == 0 && !c.wire.expects() && c.report.Err == nil && !c.skipped {
		c.book.breaks(Finding{Clause: "EA-010", Expected: "the log of a session that has ended",
			Observed: "a log without events"})
	}
}

// lines splits a log into lines, one at a time.
type lines struct {
	r   *bufio.Reader
	buf []byte
}

// line is one line without its end. Its text is valid until the next one is read.
type line struct {
	text  []byte // empty if the line is long
	size  int    // in bytes, without its end
	ended bool   // by an LF
	long  bool   // more than MaxLine
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns io.EOF after the last line. On any other error the partial line is lost.
func (l *lines) next() (line, error) {
	l.buf = l.buf[:0]
	var at line
	for {
		part, err := l.r.ReadSlice('\n')
		at.ended = err == nil
		if at.ended {
			part = part[:len(part)-1]
		}
		at.size += len(part)
		if at.long = at.size > MaxLine; at.long {
			l.buf = l.buf[:0]
		} else {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return line{}, err
		case err != nil && at.size == 0:
			return line{}, io.EOF
		}
		at.text = l.buf
		return at, nil
	}
}
