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
	v, there := event["payload"]
	payload, ok := v.(wjson.Object)
	switch {
	case !ok:
		c.breaks("EA-093", "payload, an object", field("payload", v, there))
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
	v, there := event["sessionId"]
	id, ok := v.(string)
	if !ok {
		c.breaks(clause, "sessionId, a string", field("sessionId", v, there))
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
	id, _ := event["sessionId"].(string)
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
	v, there := event["type"]
	t, _ := v.(string)
	if t == "" {
		c.breaks("EA-092", "type, a string that is not empty", field("type", v, there))
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
