package gate

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"parley/internal/cut"
	"parley/internal/rawhttp"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// errTooMuch reports that the gate holds more than it may.
var errTooMuch = errors.New("more messages are held at once than the gate has room for")

func (g *Gate) releaseBytes(n int) { g.held.Add(int64(-n)) }

// plainHead is the head of an answer in plain text.
func plainHead(status int, body string) rawhttp.Head {
	h := rawhttp.ResponseHead(status)
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	return h
}

// setBody adapts a head to a body.
func setBody(h *rawhttp.Head, body []byte) {
	h.Del("Transfer-Encoding")
	h.Set("Content-Length", strconv.Itoa(len(body)))
}

// replyInstead answers instead of the upstream.
func (x *exchange) replyInstead(m Message) bool {
	if m.Status == 0 {
		m.Status = http.StatusOK
	}
	switch {
	case x.conn == nil:
	case x.conn.kind == "ws" && m.Status == http.StatusSwitchingProtocols:
		return x.acceptSocket(m)
	case x.conn.kind == "sse" && m.Status == http.StatusOK:
		return x.acceptStream(m)
	}
	return x.sendResponse(m)
}

// sendResponse answers with a message of the gate.
func (x *exchange) sendResponse(m Message) bool {
	if x.long && relayBody(io.Discard, x.body) != nil {
		return false
	}
	h := rawhttp.ResponseHead(m.Status)
	h.SetAll(m.Header)
	if m.Header.Get("Content-Type") == "" && len(m.Body) > 0 {
		h.Set("Content-Type", "application/json")
	}
	if m.Status >= 200 && m.Status != http.StatusNoContent && m.Status != http.StatusNotModified {
		setBody(&h, m.Body)
	}
	if x.conn != nil && x.conn.kind == "ws" {
		h.Set("Connection", "close")
	}
	r, err := h.Response(x.req.Method)
	if err != nil {
		x.recordFailure("the reply is no HTTP: " + err.Error())
		return false
	}
	if x.g.o.Program == Client {
		x.recordAnswer(x.answerRecord(r, m.Body))
	}
	b := h.Bytes()
	if x.req.Method != http.MethodHead {
		b = append(b, m.Body...)
	}
	_, err = x.l.client.Write(b)
	return err == nil && !r.Close && (x.conn == nil || x.conn.kind != "ws")
}

// maxTrace bounds a trace context, which has 55 characters in its present version.
const maxTrace = 256

// requestRecord returns the record of the request.
func (x *exchange) requestRecord() transcript.Record {
	r := transcript.Record{Conn: x.party, Dir: transcript.Sent, Kind: x.requestKind(), Bytes: x.content,
		Label: x.req.Method + " " + x.req.RequestURI, Trace: cut.Head(x.req.Header.Get("Traceparent"), maxTrace)}
	client := x.g.o.Program == Client
	if client {
		r.Dir = transcript.Received
	}
	if x.conn == nil {
		r.Headers = driver.HeadersRead(x.g.o.Reads, requestHeader(x.req))
		return r
	}
	r.ID = requestHeader(x.req).Get("Last-Event-ID")
	if x.conn.kind == "ws" {
		r.Label += " (upgrade)"
	}
	if client {
		r.Bytes = x.head.Bytes()
	}
	return r
}

// answerRecord returns the record of an answer that opens nothing.
func (x *exchange) answerRecord(r *http.Response, body []byte) transcript.Record {
	rec := transcript.Record{Conn: x.party, Dir: transcript.Received, Kind: transcript.Response, Label: r.Status,
		Status: r.StatusCode, Type: r.Header.Get("Content-Type"), Bytes: body, Reply: x.sent,
		Headers: driver.HeadersRead(x.g.o.Reads, r.Header)}
	if x.g.o.Program == Client {
		rec.Dir, rec.Label = transcript.Sent, x.req.Method+" "+x.req.RequestURI
		return rec
	}
	if x.conn == nil || x.posts {
		rec.Flushed = !isEventStreamType(r)
	} else if x.conn.kind == "ws" {
		rec.Type = ""
	}
	return rec
}

// recordAnswer records an answer that opens nothing. For a server, the record of a refused stream begins like that of
// an accepted one.
func (x *exchange) recordAnswer(rec transcript.Record) {
	if x.g.o.Program == Server && x.conn != nil && x.conn.kind == "sse" {
		x.g.sinkRecord(x.acceptedRecord(rec.Status, rec.Type))
	}
	x.g.sinkRecord(rec)
}

// acceptedRecord returns the record of an answer that opens a stream or socket.
func (x *exchange) acceptedRecord(status int, typ string) transcript.Record {
	r := transcript.Record{Conn: x.conn.name, Dir: transcript.Received, Kind: transcript.Open, Label: "stream",
		Status: status, Type: typ, Reply: x.sent}
	if x.conn.kind == "ws" {
		r.Label, r.Type = "socket", ""
	}
	if x.g.o.Program == Client {
		r.Dir = transcript.Sent
	}
	return r
}

// passAnswer reads the upstream's answer, and passes it on.
func (x *exchange) passAnswer(e *end) bool {
	for {
		if err := e.endWatch(); err != nil { // the error is seen only once
			return x.noAnswer(e, nil, err)
		}
		head, err := rawhttp.ReadHead(e.in, maxHead)
		if err != nil {
			return x.noAnswer(e, head, err)
		}
		h := rawhttp.ParseHead(head)
		r, err := h.Response(x.req.Method)
		if err != nil {
			x.recordFailure("the peer's answer is not HTTP: " + err.Error())
			return x.passVerbatim(e, head)
		}
		switch {
		case r.StatusCode == http.StatusSwitchingProtocols && x.conn != nil && x.conn.kind == "ws":
			return x.passSocket(e, h)
		case r.StatusCode == http.StatusSwitchingProtocols:
			return x.passVerbatim(e, head)
		case r.StatusCode < 200:
			if _, err := x.l.client.Write(head); err != nil {
				return false
			}
			continue
		case isEventStream(r) && x.mayStream():
			return x.passStream(e, h, r)
		}
		return x.examineAnswer(e, h, r)
	}
}

func isEventStream(r *http.Response) bool {
	return isEventStreamType(r) && r.Header.Get("Content-Encoding") == ""
}

func isEventStreamType(r *http.Response) bool {
	typ, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return r.StatusCode == http.StatusOK && typ == "text/event-stream"
}

// mayStream reports whether a stream can answer the request.
func (x *exchange) mayStream() bool {
	return x.req.Method != http.MethodHead && (x.conn == nil || x.conn.kind == "sse")
}

// noAnswer handles an upstream that ended the connection before its answer was complete. The client gets the bytes that
// came, and the same end.
func (x *exchange) noAnswer(e *end, head []byte, err error) bool {
	if errors.Is(err, rawhttp.ErrTooLong) {
		x.recordFailure("the head of the peer's answer is longer than 64 KiB")
		return x.passVerbatim(e, head)
	}
	if len(head) > 0 {
		_, _ = x.l.client.Write(head)
	}
	x.recordFailure("the peer ended the connection before its answer was whole: " + err.Error())
	if wasReset(err) {
		x.l.client.resetConn()
	}
	return false
}

// passVerbatim passes on all further bytes in both directions, unexamined.
func (x *exchange) passVerbatim(e *end, head []byte) bool {
	if _, err := x.l.client.Write(head); err != nil {
		return false
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		_ = x.l.client.endWatch()
		_, _ = io.Copy(e.Conn, x.l.client.in)
		e.closeWrite()
	}()
	_, _ = io.Copy(x.l.client.Conn, e.in)
	_ = x.l.client.Close()
	<-back
	return false
}

// examineAnswer examines an answer and passes it on.
func (x *exchange) examineAnswer(e *end, h rawhttp.Head, r *http.Response) bool {
	body := rawhttp.ResponseBody(r, x.req.Method, e.in)
	goes := !r.Close && body.Framing != rawhttp.Closing
	ok := x.passBody(&h, r, body)
	if !goes {
		x.l.closeUpstream()
		return false
	}
	if ok {
		e.awaitNextRequest()
	}
	return ok
}

func (x *exchange) passBody(h *rawhttp.Head, r *http.Response, body *rawhttp.Body) bool {
	if x.g.o.Handle == nil || isEventStreamType(r) { // an encoded stream cannot be examined, and may not end
		return x.copyAnswer(h, r, body)
	}
	raw, content, err := x.l.collectBody(body)
	defer func() { x.g.releaseBytes(len(raw)) }()
	long := len(content) > x.g.o.MaxMessage
	if err != nil {
		return x.brokeOff(h, r, raw, content, err)
	}
	if x.g.o.Program == Server {
		x.recordAnswer(x.answerRecord(r, content))
	}
	d := Decision{}
	if !long {
		d = x.g.o.Handle(x.l.ctx, Message{Conn: x.party, From: Server, Kind: transcript.Response, Method: x.req.Method,
			Path: x.req.RequestURI, Header: r.Header, Status: r.StatusCode, Body: content})
	}
	switch {
	case x.l.ctx.Err() != nil, d.End != nil && *d.End == driver.Reset && d.With == nil:
		x.l.resetBoth()
		return false
	case d.Drop:
		x.waitForClient()
		return false
	case len(d.With) > 0:
		x.rewriteAnswer(h, d.With[0])
		x.g.releaseBytes(len(raw))
		raw, content = d.With[0].Body, d.With[0].Body
		x.g.holdBytes(len(raw))
		if x.req.Method == http.MethodHead {
			raw = nil
		}
	}
	if x.g.o.Program == Client {
		if now, err := h.Response(x.req.Method); err == nil {
			r = now
		}
		x.recordAnswer(x.answerRecord(r, content))
	}
	_, err = x.l.client.Write(append(h.Bytes(), raw...))
	if err == nil && long {
		err = relayBody(x.l.client, body)
	}
	return err == nil && d.End == nil
}

// rewriteAnswer replaces the upstream's answer.
func (x *exchange) rewriteAnswer(h *rawhttp.Head, m Message) {
	if m.Status != 0 {
		h.First = rawhttp.ResponseHead(m.Status).First
	}
	h.SetAll(m.Header)
	setBody(h, m.Body)
}

// brokeOff passes on an answer that the upstream has cut off.
func (x *exchange) brokeOff(h *rawhttp.Head, r *http.Response, raw, content []byte, err error) bool {
	_, _ = x.l.client.Write(append(h.Bytes(), raw...))
	x.cutOff(r, content, err)
	return false
}

func (x *exchange) cutOff(r *http.Response, content []byte, err error) {
	rec := x.answerRecord(r, content)
	rec.Flushed = false
	if x.g.o.Program == Server {
		rec.Kind, rec.Label, rec.Type = transcript.Failure, "answer broke off: "+err.Error(), ""
	}
	if x.l.ctx.Err() == nil {
		x.recordAnswer(rec)
	}
	if wasReset(err) {
		x.l.client.resetConn()
	}
}

// copyAnswer passes on an answer as it comes, and keeps a copy to record. If it knows which bytes are the last, it
// records before it passes them on.
func (x *exchange) copyAnswer(h *rawhttp.Head, r *http.Response, body *rawhttp.Body) bool {
	var content []byte
	more, told := 0, false
	tell := func() {
		if !told {
			told = true
			rec := x.answerRecord(r, content)
			if rec.Cut = more; x.posts && isEventStreamType(r) { // it is encoded
				rec.Cut = max(more, 1)
			}
			x.recordAnswer(rec)
		}
	}
	raw, err := h.Bytes(), error(nil)
	for {
		if body.Ended() || errors.Is(err, io.EOF) {
			tell()
		}
		if _, werr := x.l.client.Write(raw); werr != nil {
			tell()
			return false
		}
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			x.cutOff(r, content, err)
			return false
		}
		var c []byte
		raw, c, err = body.Next()
		room := min(len(c), transcript.MaxPayload-len(content))
		content, more = append(content, c[:room]...), more+len(c)-room
	}
}
