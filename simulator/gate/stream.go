package gate

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"parley/internal/rawhttp"
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
	x.conn.ended(Client, 0, "")
	x.conn.finish(x.conn.streamEnd(nil))
	return chunked && x.l.ctx.Err() == nil
}

// openStream sends the head of a stream.
func (x *exchange) openStream(e *end, h rawhttp.Head, chunked bool) error {
	c, l := x.conn, x.l
	r, err := h.Response(x.req.Method)
	if err != nil {
		return err
	}
	if e != nil || x.g.o.Program == Client {
		x.g.record(x.accepted(r.StatusCode, r.Header.Get("Content-Type")))
	}
	out := newStreamOutlet(l.client, chunked)
	if err := out.lock(l.ctx); err != nil { // nothing is sent before the head
		return err
	}
	defer out.unlock()
	c.opened(out, nil, e != nil)
	if _, err = l.client.Write(h.Bytes()); err == nil {
		l.hasLeft()
	}
	return err
}

// stream passes on an event stream.
func (x *exchange) stream(e *end, h rawhttp.Head, r *http.Response) bool {
	if x.conn == nil {
		x.conn = x.l.newConn(x.req, "sse")
		x.party = x.conn.name
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
		err = s.run()
	}
	ending := x.conn.isEnding()
	x.conn.ended(x.conn.streamEndedBy(err), 0, "")
	x.conn.finish(x.conn.streamEnd(err))
	if err != nil || ending {
		x.l.leave()
		if wasReset(err) && !ending {
			x.l.client.reset()
		}
		return ending && chunked && x.l.ctx.Err() == nil
	}
	if goes {
		e.idle()
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
		r.Dir, r.Label = transcript.Sent, c.ours("ended by the harness")
	case program == Client && (left || errors.Is(err, errGone)):
		r.Label = "the client has closed the stream"
	case program == Client && err == nil:
		r.Dir, r.Label = transcript.Sent, "the peer ended the stream"
	case program == Client:
		r.Dir, r.Label = transcript.Sent, "the peer broke the stream off: "+err.Error()
	case ending:
		r.Label = c.ours("closed by the harness")
	case left || errors.Is(err, errGone):
		r.Label = "closed by the harness" + ClientLeft
	case err == nil:
		r.Label = "the target ended the stream"
	default:
		r.Label = "the stream broke off: " + err.Error()
	}
	return r
}

// run passes units until the stream ends. It returns nil at a regular end.
func (s *stream) run() error {
	defer s.reset()
	for {
		raw, content, err := s.body.Next()
		for len(content) > 0 {
			n, ends, late := s.cut.next(content)
			if err := s.take(content[:n], ends, late); err != nil {
				return err
			}
			content = content[n:]
		}
		switch {
		case errors.Is(err, io.EOF):
			return s.complete(nil)
		case err != nil:
			s.rest()
			return err
		case s.body.Trailing():
			if err := s.complete(raw); err != nil {
				return err
			}
		}
	}
}

// complete ends the stream towards the client. trailer is the end as framed by the upstream; nil: it was already passed
// on, or there is none.
func (s *stream) complete(trailer []byte) error {
	s.rest()
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
	return gone(err)
}

// rest passes on a block that was cut off by the end of the stream.
func (s *stream) rest() {
	s.items = append(s.items, s.dec.Close()...)
	s.received()
	if len(s.unit) > 0 && s.setFree() == nil {
		_ = s.put(s.unit)
	}
	s.reset()
}

// take takes the next bytes of a unit.
func (s *stream) take(p []byte, ends, late bool) error {
	s.items = append(s.items, s.dec.Feed(p)...)
	if late {
		if s.lost {
			return nil
		}
		defer s.reset()
		if err := s.setFree(); err != nil {
			return err
		}
		return s.put(p)
	}
	if s.g.o.Handle == nil {
		if err := s.setFree(); err != nil {
			return err
		}
	}
	if s.free {
		if ends {
			defer s.reset()
			s.passed()
		}
		return s.put(p)
	}
	s.unit = append(s.unit, p...)
	s.held += len(p)
	switch {
	case !s.g.hold(len(p)):
		return s.tooMuch()
	case ends:
		return s.decide()
	case len(s.unit) > s.g.o.MaxMessage:
		return s.flush()
	}
	return nil
}

// flush passes on the unit unexamined.
func (s *stream) flush() error {
	if err := s.setFree(); err != nil {
		return err
	}
	err := s.put(s.unit)
	s.g.release(s.held)
	s.unit, s.held = nil, 0
	return err
}

// event returns the event of the unit; nil if it dispatches none.
func (s *stream) event() *wire.Item {
	for i, it := range s.items {
		if it.Kind == wire.Event {
			return &s.items[i]
		}
	}
	return nil
}

// message returns an event for the Handler.
func (s *stream) message(it *wire.Item) Message {
	m := Message{Conn: s.name, From: Server, Kind: transcript.Stream, Method: s.x.req.Method, Path: s.path, Event: it.Type,
		Body: []byte(it.Data)}
	if it.HasID {
		m.ID = it.ID
	}
	return m
}

// received records an event sent by the program, a server.
func (s *stream) received() {
	if s.g.o.Program == Server {
		for _, it := range s.items {
			s.tap.Sink(sse.ItemRecord(s.name, it))
		}
	}
}

// passed records a unit that passes unexamined.
func (s *stream) passed() {
	s.received()
	if s.g.o.Program == Server || s.out.shut {
		return
	}
	for _, it := range s.items {
		switch it.Kind {
		case wire.Event:
			s.told(Client, s.message(&it))
		case wire.Oversize:
			r := sse.ItemRecord(s.name, it)
			r.Dir = transcript.Sent
			s.tap.Sink(r)
		}
	}
}

// decide asks the Handler about a whole unit.
func (s *stream) decide() error {
	defer s.reset()
	it := s.event()
	if it == nil {
		s.received()
		if err := s.setFree(); err != nil {
			return err
		}
		s.lost = false
		return s.put(s.unit)
	}
	s.received()
	m := s.message(it)
	var d Decision
	if !s.isEnding() {
		d = s.g.o.Handle(s.l.ctx, m)
	}
	s.lost = d.Drop || d.With != nil || d.Wire != nil
	unit := s.unit
	if !s.apply(Client, m, d, func(o *outlet, whole bool) error {
		if !whole {
			return nil
		}
		if d.Wire != nil {
			return s.pieces(o, d.Wire(unit))
		}
		return o.write(unit)
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

// put writes bytes; the turn is held.
func (s *stream) put(p []byte) error {
	if s.out.shut {
		return nil
	}
	return gone(s.out.write(p))
}

// gone returns the error of a side that accepts nothing any more.
func gone(err error) error {
	if err != nil {
		return errGone
	}
	return nil
}

// reset ends the unit.
func (s *stream) reset() {
	if s.free {
		s.out.unlock()
	}
	s.g.release(s.held)
	s.unit, s.held, s.items, s.free = nil, 0, nil, false
}
