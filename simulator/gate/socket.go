package gate

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"parley/internal/rawhttp"
	"parley/transport/transcript"
)

// partedTime is how long a side may stay after the other has left.
const partedTime = 30 * time.Second

// acceptSocket accepts a WebSocket for which there is no upstream.
func (x *exchange) acceptSocket(m Message) bool {
	key := x.req.Header.Get("Sec-WebSocket-Key")
	if key == "" {
		return x.respond(Message{Status: http.StatusBadRequest, Body: []byte(
			`{"error":"the handshake has no Sec-WebSocket-Key"}` + "\n")})
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	h := rawhttp.ResponseHead(http.StatusSwitchingProtocols)
	h.Set("Upgrade", "websocket")
	h.Set("Connection", "Upgrade")
	h.Set("Sec-WebSocket-Accept", base64.StdEncoding.EncodeToString(sum[:]))
	h.SetAll(m.Header)
	return x.socket(nil, h)
}

// socket passes messages in both directions until the connection ends. e is nil if there is no upstream.
func (x *exchange) socket(e *end, h rawhttp.Head) bool {
	if e != nil && !x.askAboutOpen(&h, http.StatusSwitchingProtocols) {
		return false
	}
	c, l := x.conn, x.l
	if e != nil || x.g.o.Program == Client {
		x.g.record(x.accepted(http.StatusSwitchingProtocols, ""))
	}
	client := newOutlet(l.client, encodeMessage(false))
	var server *outlet
	if e != nil {
		server = newOutlet(e, encodeMessage(true))
	}
	_ = client.lock(l.ctx) // nothing is sent before the answer
	c.opened(client, server, e != nil)
	_, err := l.client.Write(h.Bytes())
	client.unlock()
	s := &socket{conn: c, ends: [2]*end{l.client, e}, gone: [2]chan struct{}{make(chan struct{}), make(chan struct{})}}
	l.mu.Lock()
	s.state.any = l.gone != nil // the client ended before it was open
	l.mu.Unlock()
	if err == nil {
		s.run()
	}
	s.tell()
	c.finish(s.last())
	return false
}

// socket is a WebSocket connection.
type socket struct {
	*conn
	ends [2]*end
	gone [2]chan struct{} // closed when a side has sent a close frame, or has ended

	state struct {
		sync.Mutex
		closed [2]*closing // the close frame that a side has sent first
		first  Side        // the first that sent a close frame or ended
		any    bool
		err    [2]error // how the bytes of a side ended
		gone   [2]bool  // the channel is closed
	}
}

// goes closes the channel of a side that has sent a close frame, or has ended. The caller holds s.state.
func (s *socket) goes(side Side) {
	if !s.state.gone[side] {
		s.state.gone[side] = true
		close(s.gone[side])
	}
}

// closing is the content of a close frame.
type closing struct {
	status int
	reason string
}

// run passes messages until both sides have ended.
func (s *socket) run() {
	var work sync.WaitGroup
	for side, e := range s.ends {
		if e == nil {
			continue
		}
		work.Go(func() {
			d := newDirection(s, Side(side))
			err := d.run()
			s.left(Side(side), err)
		})
	}
	work.Wait()
}

// left passes on that a side has ended.
func (s *socket) left(side Side, err error) {
	s.state.Lock()
	s.state.err[side] = err
	s.goes(side)
	if !s.state.any {
		s.state.any, s.state.first = true, side
	}
	s.state.Unlock()
	if side == s.g.o.Program.Other() {
		s.tap.Close()
	}
	other := s.ends[side.Other()]
	switch {
	case other == nil:
		_ = s.ends[side].Close()
	case s.isEnding():
		_ = s.ends[side].Close()
	case errors.Is(err, net.ErrClosed):
		_ = other.Close()
	case wasReset(err):
		s.l.cancel()
		_ = s.ends[side].Close()
		other.reset()
	default:
		other.closeWrite()
		s.dropAfter(partedTime)
	}
}

// saysGoodbye notes a close frame of a side.
func (s *socket) saysGoodbye(side Side, status int, reason string) {
	s.state.Lock()
	defer s.state.Unlock()
	s.goes(side)
	if s.state.closed[side] == nil {
		s.state.closed[side] = &closing{status, reason}
	}
	if s.state.closed[side.Other()] == nil {
		s.state.any, s.state.first = true, side
	}
}

// tell tells the Handler which side has ended the connection.
func (s *socket) tell() {
	s.state.Lock()
	by, bye := s.state.first, s.state.closed[s.state.first]
	s.state.Unlock()
	if bye == nil {
		bye = &closing{}
	}
	s.ended(by, bye.status, bye.reason)
}

// last returns the record of the end, as the program's peer sees it.
func (s *socket) last() transcript.Record {
	r := transcript.Record{Dir: transcript.Received, Kind: transcript.Closed}
	program := s.g.o.Program
	if s.ends[program] == nil {
		return transcript.Record{}
	}
	s.state.Lock()
	defer s.state.Unlock()
	mine, peer := s.state.closed[program], s.state.closed[program.Other()]
	switch {
	case s.isEnding():
		r.Label = s.ours("closed by the harness")
	case peer != nil && s.state.first != program:
		r.Status, r.Label = peer.status, fmt.Sprintf("the peer closed the connection: %q", peer.reason)
	case mine != nil:
		who := "target"
		if program == Client {
			who = "client"
		}
		r.Status, r.Label = mine.status, fmt.Sprintf("the %s closed the connection: %q", who, mine.reason)
	default:
		err := s.state.err[program]
		if err == nil || errors.Is(err, net.ErrClosed) || s.state.any && s.state.first != program {
			r.Label = "the peer broke the connection off"
			break
		}
		r.Label = "the connection broke off: " + err.Error()
	}
	return r
}

// askAboutOpen shows the acceptance by the upstream to the Handler, and reports whether to pass it on.
func (x *exchange) askAboutOpen(h *rawhttp.Head, status int) bool {
	if x.g.o.Handle == nil {
		return true
	}
	r, err := h.Response(x.req.Method)
	if err != nil {
		return false
	}
	d := x.g.o.Handle(x.l.ctx, Message{Conn: x.conn.name, From: Server, Kind: transcript.Open, Method: x.req.Method,
		Path: x.req.RequestURI, Header: r.Header, Status: status})
	switch {
	case x.l.ctx.Err() != nil, d.End != nil:
		x.l.reset()
		return false
	case d.Drop:
		x.wait()
		return false
	case len(d.With) > 0:
		if d.With[0].Status != 0 {
			h.First = rawhttp.ResponseHead(d.With[0].Status).First
		}
		h.SetAll(d.With[0].Header)
	}
	return true
}
