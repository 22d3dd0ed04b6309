package gate

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"parley/internal/rawhttp"
	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
	wire "parley/transport/wire/sse"
)

// stream is an event stream.
type stream struct {
	*conn
	x    *exchange
	e    *end          // the upstream
	body *rawhttp.Body // its answer
	out  *outlet       // the client

	cut   blocks
	dec   *wire.Decoder
	items []wire.Item // of the current unit
	unit  []byte      // its waiting bytes
	held  int         // its size
	free  bool        // the unit passes as it comes, and the turn of out is held
	lost  bool        // the previous unit was not passed on
}

// encodeEvent makes a block of a message.
func encodeEvent(m Message) []byte {
	var b strings.Builder
	if m.Event != "" && m.Event != "message" {
		fmt.Fprintf(&b, "event: %s\n", firstLine(m.Event))
	}
	if m.ID != "" {
		fmt.Fprintf(&b, "id: %s\n", firstLine(m.ID))
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(m.Body))
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteString("\n")
	return []byte(b.String())
}

func firstLine(s string) string {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return s[:i]
	}
	return s
}

// newStreamOutlet returns the outlet to the client of a stream.
func newStreamOutlet(e *end, chunked bool) *outlet {
	o := newOutlet(e, encodeEvent)
	if chunked {
		o.wrap, o.last = rawhttp.Chunk, []byte(rawhttp.LastChunk)
	}
	return o
}

// acceptStream accepts an event stream for which there is no upstream.
func (x *exchange) acceptStream(m Message) bool {
	h := rawhttp.ResponseHead(http.StatusOK)
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.SetAll(m.Header)
	chunked := x.req.ProtoAtLeast(1, 1)
	if chunked {
		h.Set("Transfer-Encoding", "chunked")
	} else {
		h.Set("Connection", "close")
	}
	if x.openStream(nil, h, chunked) != nil {
		return false
	}
	select {
	case <-x.conn.quit:
	case <-x.l.ctx.Done():
	}
	x.conn.reportEnd(Client, 0, "")
	x.conn.finishConn(x.conn.streamEnd(nil))
	return chunked && x.l.ctx.Err() == nil
}

// openStream sends the head of a stream.
func (x *exchange) openStream(e *end, h rawhttp.Head, chunked bool) error {
	c, l := x.conn, x.l
	r, err := h.Response(x.req.Method)
	if err != nil {
		return err
	}
	switch {
	case x.posts:
		x.g.sinkRecord(x.answerRecord(r, nil))
	case e != nil || x.g.o.Program == Client:
		x.g.sinkRecord(x.acceptedRecord(r.StatusCode, r.Header.Get("Content-Type")))
	}
	out := newStreamOutlet(l.client, chunked)
	if err := out.lock(l.ctx); err != nil { // nothing is sent before the head
		return err
	}
	defer out.unlock()
	c.markOpened(out, nil, e != nil)
	if _, err = l.client.Write(h.Bytes()); err == nil {
		l.hasLeft()
	}
	return err
}

// passStream passes on an event stream.
func (x *exchange) passStream(e *end, h rawhttp.Head, r *http.Response) bool {
	if x.conn == nil {
		if x.conn = x.l.newConn(x.req, "sse"); !x.posts {
			x.party = x.conn.name
		}
	}
	if !x.askAboutOpen(&h, r.StatusCode) {
		return false
	}
	body := rawhttp.ResponseBody(r, x.req.Method, e.in)
	chunked := body.Framing == rawhttp.Chunked
	goes := chunked && !r.Close
	if body.Framing == rawhttp.Length { // nothing could be added
		h.Del("Content-Length")
		if chunked = x.req.ProtoAtLeast(1, 1); chunked {
			h.Set("Transfer-Encoding", "chunked")
		} else {
			h.Set("Connection", "close")
		}
		goes = chunked && !r.Close
	}
	err := x.openStream(e, h, chunked)
	if err == nil {
		max := x.g.o.MaxMessage
		s := &stream{conn: x.conn, x: x, e: e, body: body, out: x.conn.out[Client],
			dec: wire.NewDecoder(wire.Limits{MaxEvent: max, MaxLine: max})}
		err = s.passUnits()
	}
	ending := x.conn.isEnding()
	x.conn.reportEnd(x.conn.streamEndedBy(err), 0, "")
	if x.posts {
		x.conn.tap.Sink(x.answerEnd(err))
		x.conn.finishConn(transcript.Record{})
	} else {
		x.conn.finishConn(x.conn.streamEnd(err))
	}
	if err != nil || ending {
		x.l.closeUpstream()
		if wasReset(err) && !ending {
			x.l.client.resetConn()
		}
		return ending && chunked && x.l.ctx.Err() == nil
	}
	if goes {
		e.awaitNextRequest()
	}
	return goes
}

// streamEndedBy returns the side that has ended a stream.
func (c *conn) streamEndedBy(err error) Side {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left || errors.Is(err, errGone) {
		return Client
	}
	return Server
}

// answerEnd is the record of the end of an event stream that answers a request; err is nil for a regular end.
func (x *exchange) answerEnd(err error) transcript.Record {
	r := transcript.Record{Conn: x.party, Dir: transcript.Received, Kind: transcript.Comment, Label: driver.AnswerEnded,
		Reply: x.sent}
	switch {
	case x.conn.streamEndedBy(err) == Client:
		r.Dir, r.Label = transcript.Sent, driver.AnswerLeft
	case err != nil:
		r.Label = driver.AnswerBrokeOff + err.Error()
	}
	return r
}

// itemRecord is the record of an item of the stream.
func (s *stream) itemRecord(it wire.Item) transcript.Record {
	r := sse.ItemRecord(s.name, it)
	if s.x.posts {
		r.Conn, r.Reply = s.x.party, s.x.sent
	}
	return r
}

// streamEnd is the record of the end of a stream; err is nil for a regular end by the upstream.
func (c *conn) streamEnd(err error) transcript.Record {
	r := transcript.Record{Dir: transcript.Received, Kind: transcript.Closed}
	c.mu.Lock()
	ending, left, opened := c.ending, c.left, c.open
	c.mu.Unlock()
	program := c.g.o.Program
	switch {
	case !opened, program == Server && !c.upstream:
		return transcript.Record{}
	case program == Client && ending:
		r.Dir, r.Label = transcript.Sent, c.endLabel("ended by the harness")
	case program == Client && (left || errors.Is(err, errGone)):
		r.Label = "the client has closed the stream"
	case program == Client && err == nil:
		r.Dir, r.Label = transcript.Sent, "the peer ended the stream"
	case program == Client:
		r.Dir, r.Label = transcript.Sent, "the peer broke the stream off: "+err.Error()
	case ending:
		r.Label = c.endLabel("closed by the harness")
	case left || errors.Is(err, errGone):
		r.Label = "closed by the harness" + ClientLeft
	case err == nil:
		r.Label = "the target ended the stream"
	default:
		r.Label = "the stream broke off: " + err.Error()
	}
	return r
}

// passUnits passes units until the stream ends. It returns nil at a regular end.
func (s *stream) passUnits() error {
	defer s.resetUnit()
	for {
		raw, content, err := s.body.Next()
		for len(content) > 0 {
			n, ends, late := s.cut.nextUnit(content)
			if err := s.handleBytes(content[:n], ends, late); err != nil {
				return err
			}
			content = content[n:]
		}
		switch {
		case errors.Is(err, io.EOF):
			return s.endStream(nil)
		case err != nil:
			s.passRest()
			return err
		case s.body.Trailing():
			if err := s.endStream(raw); err != nil {
				return err
			}
		}
	}
}

// endStream ends the stream towards the client. trailer is the end as framed by the upstream; nil: it was already
// passed on, or there is none.
func (s *stream) endStream(trailer []byte) error {
	s.passRest()
	if err := s.out.lock(s.l.ctx); err != nil {
		return err
	}
	defer s.out.unlock()
	if s.body.Framing != rawhttp.Chunked && !s.out.shut {
		trailer = s.out.last
	}
	if s.isEnding() {
		return nil
	}
	s.out.shut = true
	_, err := s.out.e.Write(trailer)
	return goneError(err)
}

// passRest passes on a block that was cut off by the end of the stream.
func (s *stream) passRest() {
	s.items = append(s.items, s.dec.Close()...)
	s.recordReceived()
	if len(s.unit) > 0 && s.setFree() == nil {
		_ = s.writeBytes(s.unit)
	}
	s.resetUnit()
}

// handleBytes takes the next bytes of a unit.
func (s *stream) handleBytes(p []byte, ends, late bool) error {
	s.items = append(s.items, s.dec.Feed(p)...)
	if late {
		if s.lost {
			return nil
		}
		defer s.resetUnit()
		if err := s.setFree(); err != nil {
			return err
		}
		return s.writeBytes(p)
	}
	if s.g.o.Handle == nil {
		if err := s.setFree(); err != nil {
			return err
		}
	}
	if s.free {
		if ends {
			defer s.resetUnit()
			s.recordPassed()
		}
		return s.writeBytes(p)
	}
	s.unit = append(s.unit, p...)
	s.held += len(p)
	switch {
	case !s.g.holdBytes(len(p)):
		return s.tooMuch()
	case ends:
		return s.decideUnit()
	case len(s.unit) > s.g.o.MaxMessage:
		return s.flushUnit()
	}
	return nil
}

// flushUnit passes on the unit unexamined.
func (s *stream) flushUnit() error {
	if err := s.setFree(); err != nil {
		return err
	}
	err := s.writeBytes(s.unit)
	s.g.releaseBytes(s.held)
	s.unit, s.held = nil, 0
	return err
}

// unitEvent returns the event of the unit; nil if it dispatches none.
func (s *stream) unitEvent() *wire.Item {
	for i, it := range s.items {
		if it.Kind == wire.Event {
			return &s.items[i]
		}
	}
	return nil
}

// eventMessage returns an event for the Handler.
func (s *stream) eventMessage(it *wire.Item) Message {
	m := Message{Conn: s.name, From: Server, Kind: transcript.Stream, Method: s.x.req.Method, Path: s.path, Event: it.Type,
		Body: []byte(it.Data)}
	if it.HasID {
		m.ID = it.ID
	}
	return m
}

// recordReceived records an event sent by the program, a server.
func (s *stream) recordReceived() {
	if s.g.o.Program == Server {
		for _, it := range s.items {
			s.tap.Sink(s.itemRecord(it))
		}
	}
}

// recordPassed records a unit that passes unexamined.
func (s *stream) recordPassed() {
	s.recordReceived()
	if s.g.o.Program == Server || s.out.shut {
		return
	}
	for _, it := range s.items {
		switch it.Kind {
		case wire.Event:
			s.recordSent(Client, s.eventMessage(&it))
		case wire.Oversize:
			r := sse.ItemRecord(s.name, it)
			r.Dir = transcript.Sent
			s.tap.Sink(r)
		}
	}
}

// decideUnit asks the Handler about a whole unit.
func (s *stream) decideUnit() error {
	defer s.resetUnit()
	it := s.unitEvent()
	if it == nil {
		s.recordReceived()
		if err := s.setFree(); err != nil {
			return err
		}
		s.lost = false
		return s.writeBytes(s.unit)
	}
	s.recordReceived()
	m := s.eventMessage(it)
	var d Decision
	if !s.isEnding() {
		d = s.g.o.Handle(s.l.ctx, m)
	}
	s.lost = d.Drop || d.With != nil || d.Wire != nil
	unit := s.unit
	if !s.applyDecision(Client, m, d, func(o *outlet, whole bool) error {
		if !whole {
			return nil
		}
		if d.Wire != nil {
			return s.writePieces(o, d.Wire(unit))
		}
		return o.writeLocked(unit)
	}) {
		return errGone
	}
	return nil
}

func (s *stream) setFree() error {
	if s.free {
		return nil
	}
	if err := s.out.lock(s.l.ctx); err != nil {
		return err
	}
	s.free = true
	return nil
}

// writeBytes writes bytes; the turn is held.
func (s *stream) writeBytes(p []byte) error {
	if s.out.shut {
		return nil
	}
	return goneError(s.out.writeLocked(p))
}

// goneError returns the error of a side that accepts nothing any more.
func goneError(err error) error {
	if err != nil {
		return errGone
	}
	return nil
}

// resetUnit ends the unit.
func (s *stream) resetUnit() {
	if s.free {
		s.out.unlock()
	}
	s.g.releaseBytes(s.held)
	s.unit, s.held, s.items, s.free = nil, 0, nil, false
}
