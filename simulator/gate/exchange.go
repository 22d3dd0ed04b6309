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
	posts bool  // see Options.Posts
	party string
	sent  int // number of the request's record
	base  base
}

// serveRequest handles the request, and reports whether another one may follow on the connection.
func (x *exchange) serveRequest() bool {
	switch {
	case isUpgrade(x.req):
		x.conn = x.l.newConn(x.req, "ws")
	case x.g.o.Posts != nil && x.g.o.Posts(x.req):
		x.posts, x.party = true, x.g.o.Party(x.req, 0)
	case isStream(x.req), x.g.o.Streams != nil && x.req.Method == http.MethodGet && x.g.o.Streams(x.req):
		x.conn = x.l.newConn(x.req, "sse")
	default:
		x.party = x.g.o.Party(x.req, 0)
	}
	if x.conn != nil {
		x.party = x.conn.name
	}
	goes := x.handleRequest()
	if x.conn != nil { // it was not opened, or was not ended
		select {
		case <-x.conn.done:
		default:
			x.conn.finishConn(transcript.Record{})
		}
	}
	return goes && !x.req.Close
}

// isUpgrade reports whether a request asks for a WebSocket.
func isUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && hasToken(r.Header, "Connection", "upgrade") &&
		hasToken(r.Header, "Upgrade", "websocket")
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

// hasToken reports whether a list field contains a token.
func hasToken(h http.Header, name, token string) bool {
	for _, v := range h.Values(name) {
		for one := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(one), token) {
				return true
			}
		}
	}
	return false
}

func (x *exchange) requestKind() transcript.Kind {
	if x.conn != nil {
		return transcript.Open
	}
	return transcript.Request
}

func (x *exchange) handleRequest() bool {
	if !x.readBody() {
		return false
	}
	defer x.releaseBody()
	m := Message{Conn: x.party, From: Client, Kind: x.requestKind(), Method: x.req.Method, Path: x.req.RequestURI,
		Header: requestHeader(x.req), Body: x.content}
	if x.g.o.Program == Client {
		x.sent = x.g.sinkRecord(x.requestRecord())
	}
	if !x.long { // otherwise the rest of the request is still unread
		x.l.client.watchNextByte(x.l.clientGone)
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
			x.l.resetBoth()
		}
		return false
	case d.Reply != nil:
		return x.replyInstead(*d.Reply) && d.End == nil
	case d.Drop:
		x.waitForClient()
		return false
	case len(d.With) > 0:
		x.replaceRequest(d.With[0])
	}
	return x.forwardRequest()
}

// requestHeader returns the fields of a request, including those that net/http stores separately.
func requestHeader(r *http.Request) http.Header {
	h := r.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if r.Host != "" {
		h.Set("Host", r.Host)
	}
	return h
}

// waitForClient waits until the client leaves, because its request gets no answer.
func (x *exchange) waitForClient() {
	if !x.long {
		select {
		case <-x.l.client.watchNextByte(x.l.clientGone).done:
		case <-x.l.ctx.Done():
		}
	}
}

// readBody reads the body, up to the amount that may be held.
func (x *exchange) readBody() bool {
	x.body = rawhttp.RequestBody(x.req, x.l.client.in)
	if x.body.Framing != rawhttp.None && hasToken(x.req.Header, "Expect", "100-continue") {
		if _, err := io.WriteString(x.l.client, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return false
		}
	}
	var err error
	if x.raw, x.content, err = x.l.collectBody(x.body); err == nil {
		x.long = len(x.content) > x.g.o.MaxMessage
		return true
	}
	x.g.releaseBytes(len(x.raw))
	x.l.recordFailure("the body of a request broke off: " + err.Error())
	return false
}

// collectBody reads a body up to its end, or until it exceeds the maximum length of a message. The returned bytes count
// as held.
func (l *link) collectBody(b *rawhttp.Body) (raw, content []byte, err error) {
	for len(content) <= l.g.o.MaxMessage {
		r, c, err := b.Next()
		raw, content = append(raw, r...), append(content, c...)
		if !l.g.holdBytes(len(r)) {
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

// releaseBody releases what readBody holds.
func (x *exchange) releaseBody() {
	x.g.releaseBytes(len(x.raw))
	x.raw, x.content = nil, nil
}

// replaceRequest replaces the client's request.
func (x *exchange) replaceRequest(m Message) {
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
	x.g.releaseBytes(len(x.raw))
	x.raw, x.content = m.Body, m.Body
	x.g.holdBytes(len(x.raw))
	if r, err := x.head.Request(); err == nil {
		x.req = r
	}
}

// forwardRequest sends the request to the upstream and passes on its answer.
func (x *exchange) forwardRequest() bool {
	b, err := parseBase(x.g.o.Upstream())
	var e *end
	if err == nil {
		x.base = b
		x.adaptHead()
		if x.g.o.Program == Server {
			x.sent = x.g.sinkRecord(x.requestRecord())
		}
		e, err = x.l.dialUpstream(b)
	}
	if err != nil {
		return x.answerUnreachable(err)
	}
	// an upstream that does not read the whole request may have answered nevertheless
	_, _ = e.Write(append(x.head.Bytes(), x.raw...))
	if !x.long {
		return x.passAnswer(e)
	}
	return x.forwardLong(e)
}

// forwardLong passes on the rest of a body while the answer comes.
func (x *exchange) forwardLong(e *end) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if relayBody(e, x.body) != nil {
			_ = relayBody(io.Discard, x.body)
		}
	}()
	ok := x.passAnswer(e)
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

// relayBody writes the rest of a body.
func relayBody(to io.Writer, b *rawhttp.Body) error {
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

// adaptHead adapts the head of the request to the upstream.
func (x *exchange) adaptHead() {
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

// recordFailure records that the upstream failed to answer.
func (x *exchange) recordFailure(what string) {
	if x.l.ctx.Err() != nil {
		return
	}
	r := transcript.Record{Conn: x.party, Dir: transcript.Noted, Kind: transcript.Failure, Label: what, Reply: x.sent}
	if x.g.o.Program == Server {
		r.Dir = transcript.Received
	}
	x.g.sinkRecord(r)
}

// answerUnreachable answers that there is no upstream.
func (x *exchange) answerUnreachable(err error) bool {
	if x.l.ctx.Err() != nil {
		return false
	}
	x.recordFailure(err.Error())
	return x.sendResponse(Message{Status: http.StatusBadGateway, Header: http.Header{"Content-Type": {
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

// nextUnit returns how many bytes of p, which is not empty, belong to the current unit, and whether the unit ends with
// them. late: they are a line feed that belongs to the previous unit.
func (b *blocks) nextUnit(p []byte) (n int, ends, late bool) {
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
			b.addText(p[n:])
			return len(p), false, false
		}
		b.addText(p[n : n+end])
		n += end + 1
		b.ended = b.endLine()
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

// addText takes a part of a line.
func (b *blocks) addText(p []byte) {
	if b.length < len(b.start) {
		copy(b.start[b.length:], p)
	}
	b.length += len(p)
}

// endLine ends a line, and reports whether that ends the unit.
func (b *blocks) endLine() bool {
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

// writePieces writes the pieces that Decision.Wire makes of the bytes of a message; the caller has the turn.
func (c *conn) writePieces(o *outlet, all iter.Seq[Piece]) error {
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
			if err := o.writeLocked(p.Bytes); err != nil {
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
