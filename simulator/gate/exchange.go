package gate

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"parley/internal/rawhttp"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// exchange is a request and its answer.
type exchange struct {
	l    *link
	g    *Gate
	head rawhttp.Head
	req  *http.Request
	body *rawhttp.Body

	raw     []byte // of the body, as far as it is held
	content []byte // the same without its framing
	long    bool   // the body is longer

	conn  *conn // of an Open; nil: a plain request
	party string
	sent  int // number of the request's record
	base  base
}

// serve handles the request, and reports whether another one may follow on the connection.
func (x *exchange) serve() bool {
	switch {
	case isUpgrade(x.req):
		x.conn = x.l.newConn(x.req, "ws")
	case isStream(x.req), x.g.o.Streams != nil && x.req.Method == http.MethodGet && x.g.o.Streams(x.req):
		x.conn = x.l.newConn(x.req, "sse")
	default:
		x.party = x.g.o.Party(x.req, 0)
	}
	if x.conn != nil {
		x.party = x.conn.name
	}
	goes := x.handle()
	if x.conn != nil { // it was not opened, or was not ended
		select {
		case <-x.conn.done:
		default:
			x.conn.finish(transcript.Record{})
		}
	}
	return goes && !x.req.Close
}

// isUpgrade reports whether a request asks for a WebSocket.
func isUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && has(r.Header, "Connection", "upgrade") && has(r.Header, "Upgrade", "websocket")
}

// isStream reports whether a request asks for an event stream.
func isStream(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	for _, v := range r.Header.Values("Accept") {
		if strings.Contains(strings.ToLower(v), "text/event-stream") {
			return true
		}
	}
	return false
}

// has reports whether a list field contains a token.
func has(h http.Header, name, token string) bool {
	for _, v := range h.Values(name) {
		for one := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(one), token) {
				return true
			}
		}
	}
	return false
}

func (x *exchange) kind() transcript.Kind {
	if x.conn != nil {
		return transcript.Open
	}
	return transcript.Request
}

func (x *exchange) handle() bool {
	if !x.readBody() {
		return false
	}
	defer x.release()
	m := Message{Conn: x.party, From: Client, Kind: x.kind(), Method: x.req.Method, Path: x.req.RequestURI,
		Header: header(x.req), Body: x.content}
	if x.g.o.Program == Client {
		x.sent = x.g.record(x.asked())
	}
	if !x.long { // otherwise the rest of the request is still unread
		x.l.client.watch(x.l.clientGone)
	}
	var d Decision
	if x.g.o.Handle != nil && !x.long {
		d = x.g.o.Handle(x.l.ctx, m)
	}
	if x.l.ctx.Err() != nil {
		return false
	}
	switch {
	case d.End != nil && d.Reply == nil:
		if *d.End == driver.Reset {
			x.l.reset()
		}
		return false
	case d.Reply != nil:
		return x.reply(*d.Reply) && d.End == nil
	case d.Drop:
		x.wait()
		return false
	case len(d.With) > 0:
		x.replace(d.With[0])
	}
	return x.forward()
}

// header returns the fields of a request, including those that net/http stores separately.
func header(r *http.Request) http.Header {
	h := r.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if r.Host != "" {
		h.Set("Host", r.Host)
	}
	return h
}

// wait waits until the client leaves, because its request gets no answer.
func (x *exchange) wait() {
	if !x.long {
		select {
		case <-x.l.client.watch(x.l.clientGone).done:
		case <-x.l.ctx.Done():
		}
	}
}

// readBody reads the body, up to the amount that may be held.
func (x *exchange) readBody() bool {
	x.body = rawhttp.RequestBody(x.req, x.l.client.in)
	if x.body.Framing != rawhttp.None && has(x.req.Header, "Expect", "100-continue") {
		if _, err := io.WriteString(x.l.client, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return false
		}
	}
	var err error
	if x.raw, x.content, err = x.l.collect(x.body); err == nil {
		x.long = len(x.content) > x.g.o.MaxMessage
		return true
	}
	x.g.release(len(x.raw))
	x.l.fail("the body of a request broke off: " + err.Error())
	return false
}

// collect reads a body up to its end, or until it exceeds the maximum length of a message. The returned bytes count as
// held.
func (l *link) collect(b *rawhttp.Body) (raw, content []byte, err error) {
	for len(content) <= l.g.o.MaxMessage {
		r, c, err := b.Next()
		raw, content = append(raw, r...), append(content, c...)
		if !l.g.hold(len(r)) {
			return raw, content, errTooMuch
		}
		if errors.Is(err, io.EOF) {
			return raw, content, nil
		}
		if err != nil {
			return raw, content, err
		}
	}
	return raw, content, nil
}

// release releases what readBody holds.
func (x *exchange) release() {
	x.g.release(len(x.raw))
	x.raw, x.content = nil, nil
}

// replace replaces the client's request.
func (x *exchange) replace(m Message) {
	if m.Method != "" || m.Path != "" {
		method, path := x.req.Method, x.req.RequestURI
		if m.Method != "" {
			method = m.Method
		}
		if m.Path != "" {
			path = m.Path
		}
		x.head.First = []byte(method + " " + path + " " + x.req.Proto + "\r\n")
	}
	x.head.SetAll(m.Header)
	if x.body.Framing != rawhttp.None || len(m.Body) > 0 {
		setBody(&x.head, m.Body)
	}
	x.g.release(len(x.raw))
	x.raw, x.content = m.Body, m.Body
	x.g.hold(len(x.raw))
	if r, err := x.head.Request(); err == nil {
		x.req = r
	}
}

// forward sends the request to the upstream and passes on its answer.
func (x *exchange) forward() bool {
	b, err := parseBase(x.g.o.Upstream())
	var e *end
	if err == nil {
		x.base = b
		x.aim()
		if x.g.o.Program == Server {
			x.sent = x.g.record(x.asked())
		}
		e, err = x.l.upstream(b)
	}
	if err != nil {
		return x.unreachable(err)
	}
	// an upstream that does not read the whole request may have answered nevertheless
	_, _ = e.Write(append(x.head.Bytes(), x.raw...))
	if !x.long {
		return x.answer(e)
	}
	return x.forwardLong(e)
}

// forwardLong passes on the rest of a body while the answer comes.
func (x *exchange) forwardLong(e *end) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if relay(e, x.body) != nil {
			_ = relay(io.Discard, x.body)
		}
	}()
	ok := x.answer(e)
	select {
	case <-done:
		return ok
	default:
	}
	x.l.client.closeWrite() // it was answered before it was complete
	_ = x.l.client.SetDeadline(time.Now().Add(lingers))
	_ = e.SetDeadline(time.Now().Add(lingers))
	<-done
	return false
}

// relay writes the rest of a body.
func relay(to io.Writer, b *rawhttp.Body) error {
	for {
		raw, _, err := b.Next()
		if len(raw) > 0 {
			if _, err := to.Write(raw); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// aim adapts the head of the request to the upstream.
func (x *exchange) aim() {
	target := x.req.RequestURI
	if x.req.URL.IsAbs() {
		target = x.req.URL.RequestURI()
	}
	if target = x.base.path + target; target != x.req.RequestURI {
		x.head.First = bytes.Replace(x.head.First, []byte(" "+x.req.RequestURI+" "), []byte(" "+target+" "), 1)
	}
	x.head.Set("Host", x.base.host)
	x.head.Del("Accept-Encoding")
	x.head.Del("Sec-WebSocket-Extensions")
	x.head.Del("Expect")
	x.head.SetAll(x.g.o.Header)
}

// failed records that the upstream failed to answer.
func (x *exchange) failed(what string) {
	if x.l.ctx.Err() != nil {
		return
	}
	r := transcript.Record{Conn: x.party, Dir: transcript.Noted, Kind: transcript.Failure, Label: what, Reply: x.sent}
	if x.g.o.Program == Server {
		r.Dir = transcript.Received
	}
	x.g.record(r)
}

// unreachable answers that there is no upstream.
func (x *exchange) unreachable(err error) bool {
	if x.l.ctx.Err() != nil {
		return false
	}
	x.failed(err.Error())
	return x.respond(Message{Status: http.StatusBadGateway, Header: http.Header{"Content-Type": {
		"text/plain; charset=utf-8"}}, Body: []byte(err.Error() + "\n")})
}

// blocks finds the units of an event stream: a block with the blank line that ends it; each comment line before the
// first field of a block. It keeps no bytes.
type blocks struct {
	length  int     // of the current line so far
	start   [4]byte // its first bytes
	begun   bool    // past the stream's first line, which may begin with a byte order mark
	field   bool    // the block has a field
	afterCR bool    // the last line ended with a CR: a following line feed belongs to it
	ended   bool    // that line ended its unit
}

// next returns how many bytes of p, which is not empty, belong to the current unit, and whether the unit ends with
// them. late: they are a line feed that belongs to the previous unit.
func (b *blocks) next(p []byte) (n int, ends, late bool) {
	if b.afterCR && p[0] == '\n' {
		b.afterCR = false
		if b.ended {
			return 1, true, true
		}
		n = 1
	}
	for {
		b.afterCR, b.ended = false, false
		end := bytes.IndexAny(p[n:], "\r\n")
		if end < 0 {
			b.text(p[n:])
			return len(p), false, false
		}
		b.text(p[n : n+end])
		n += end + 1
		b.ended = b.line()
		if p[n-1] == '\r' {
			if n < len(p) && p[n] == '\n' {
				n++
			} else {
				b.afterCR = n == len(p)
			}
		}
		if b.ended || n == len(p) {
			return n, b.ended, false
		}
	}
}

// text takes a part of a line.
func (b *blocks) text(p []byte) {
	if b.length < len(b.start) {
		copy(b.start[b.length:], p)
	}
	b.length += len(p)
}

// line ends a line, and reports whether that ends the unit.
func (b *blocks) line() bool {
	start := b.start[:min(b.length, len(b.start))]
	if !b.begun {
		start = bytes.TrimPrefix(start, []byte("\xEF\xBB\xBF"))
	}
	b.begun, b.length = true, 0
	switch {
	case len(start) == 0:
		b.field = false
		return true
	case start[0] == ':':
		return !b.field
	}
	b.field = true
	return false
}

// Piece is one write towards a side, instead of the bytes of a message: see Decision.Wire.
type Piece struct {
	After time.Duration // pause before it, in which nothing else is sent to that side
	Bytes []byte        // not kept
	Half  bool          // after it, the gate ends this direction with a FIN
}

// pieces writes the pieces that Decision.Wire makes of the bytes of a message; the caller has the turn.
func (c *conn) pieces(o *outlet, all iter.Seq[Piece]) error {
	for p := range all {
		if p.After > 0 {
			timer := time.NewTimer(p.After)
			select {
			case <-timer.C:
			case <-c.l.ctx.Done():
				timer.Stop()
				return errGone
			}
		}
		if len(p.Bytes) > 0 {
			if err := o.write(p.Bytes); err != nil {
				return err
			}
		}
		if p.Half {
			o.shut = true
			o.e.closeWrite()
			return nil
		}
	}
	return nil
}
