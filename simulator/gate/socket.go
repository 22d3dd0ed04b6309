package gate

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"parley/internal/rawhttp"
	"parley/transport/transcript"
	wire "parley/transport/wire/ws"
)

// partedTime is how long a side may stay after the other has left.
const partedTime = 30 * time.Second

// acceptSocket accepts a WebSocket for which there is no upstream.
func (x *exchange) acceptSocket(m Message) bool {
	key := x.req.Header.Get("Sec-WebSocket-Key")
	if key == "" {
		return x.sendResponse(Message{Status: http.StatusBadRequest, Body: []byte(
			`{"error":"the handshake has no Sec-WebSocket-Key"}` + "\n")})
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	h := rawhttp.ResponseHead(http.StatusSwitchingProtocols)
	h.Set("Upgrade", "websocket")
	h.Set("Connection", "Upgrade")
	h.Set("Sec-WebSocket-Accept", base64.StdEncoding.EncodeToString(sum[:]))
	h.SetAll(m.Header)
	return x.passSocket(nil, h)
}

// passSocket passes messages in both directions until the connection ends. e is nil if there is no upstream.
func (x *exchange) passSocket(e *end, h rawhttp.Head) bool {
	if e != nil && !x.askAboutOpen(&h, http.StatusSwitchingProtocols) {
		return false
	}
	c, l := x.conn, x.l
	if e != nil || x.g.o.Program == Client {
		x.g.sinkRecord(x.acceptedRecord(http.StatusSwitchingProtocols, ""))
	}
	client := newOutlet(l.client, encodeMessage(false))
	var server *outlet
	if e != nil {
		server = newOutlet(e, encodeMessage(true))
	}
	_ = client.lock(l.ctx) // nothing is sent before the answer
	c.markOpened(client, server, e != nil)
	_, err := l.client.Write(h.Bytes())
	client.unlock()
	s := &socket{conn: c, ends: [2]*end{l.client, e}, gone: [2]chan struct{}{make(chan struct{}), make(chan struct{})}}
	l.mu.Lock()
	s.state.any = l.gone != nil // the client ended before it was open
	l.mu.Unlock()
	if err == nil {
		s.passMessages()
	}
	s.reportSideEnd()
	c.finishConn(s.endRecord())
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

// closeSide closes the channel of a side that has sent a close frame, or has ended. The caller holds s.state.
func (s *socket) closeSide(side Side) {
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

// passMessages passes messages until both sides have ended.
func (s *socket) passMessages() {
	var work sync.WaitGroup
	for side, e := range s.ends {
		if e == nil {
			continue
		}
		work.Go(func() {
			d := newDirection(s, Side(side))
			err := d.passFrames()
			s.passSideEnd(Side(side), err)
		})
	}
	work.Wait()
}

// passSideEnd passes on that a side has ended.
func (s *socket) passSideEnd(side Side, err error) {
	s.state.Lock()
	s.state.err[side] = err
	s.closeSide(side)
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
		other.resetConn()
	default:
		other.closeWrite()
		s.dropAfter(partedTime)
	}
}

// saysGoodbye notes a close frame of a side.
func (s *socket) saysGoodbye(side Side, status int, reason string) {
	s.state.Lock()
	defer s.state.Unlock()
	s.closeSide(side)
	if s.state.closed[side] == nil {
		s.state.closed[side] = &closing{status, reason}
	}
	if s.state.closed[side.Other()] == nil {
		s.state.any, s.state.first = true, side
	}
}

// reportSideEnd tells the Handler which side has ended the connection.
func (s *socket) reportSideEnd() {
	s.state.Lock()
	by, bye := s.state.first, s.state.closed[s.state.first]
	s.state.Unlock()
	if bye == nil {
		bye = &closing{}
	}
	s.reportEnd(by, bye.status, bye.reason)
}

// endRecord returns the record of the end, as the program's peer sees it.
func (s *socket) endRecord() transcript.Record {
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
		r.Label = s.endLabel("closed by the harness")
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
		x.l.resetBoth()
		return false
	case d.Drop:
		x.waitForClient()
		return false
	case len(d.With) > 0:
		if d.With[0].Status != 0 {
			h.First = rawhttp.ResponseHead(d.With[0].Status).First
		}
		h.SetAll(d.With[0].Header)
	}
	return true
}

// rawFrame is a frame as it is on the wire.
type rawFrame struct {
	op     wire.Opcode
	fin    bool
	length uint64
	raw    []byte // all of it; the header only if the frame is long
	long   bool   // the payload is still to be read
}

// readFrame reads the next frame. A payload longer than max is left unread. An error is returned with the bytes before
// it.
func readFrame(in *bufio.Reader, max int) (rawFrame, error) {
	var f rawFrame
	size := 2
	for have := 0; have < size; {
		b, err := in.Peek(size)
		if err != nil {
			f.raw = bytes.Clone(b)
			_, _ = in.Discard(len(b))
			return f, err
		}
		have, size = size, headerSize(b[1])
	}
	head, _ := in.Peek(size)
	f.op, f.fin = wire.Opcode(head[0]&0xF), head[0]&0x80 != 0
	switch n := head[1] & 0x7F; n {
	case 126:
		f.length = uint64(binary.BigEndian.Uint16(head[2:]))
	case 127:
		f.length = binary.BigEndian.Uint64(head[2:])
	default:
		f.length = uint64(n)
	}
	f.raw = append(f.raw, head...)
	_, _ = in.Discard(size)
	if f.length > uint64(max) {
		f.long = true
		return f, nil
	}
	payload := bytes.NewBuffer(f.raw)
	n, err := io.CopyN(payload, in, int64(f.length))
	f.raw = payload.Bytes()
	if n < int64(f.length) && err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return f, err
}

// isWhole reports whether the next frame can be read without waiting.
func isWhole(in *bufio.Reader) bool {
	n := in.Buffered()
	if n < 2 {
		return false
	}
	b, _ := in.Peek(n)
	size := headerSize(b[1])
	if n < size {
		return false
	}
	length := uint64(b[1] & 0x7F)
	switch length {
	case 126:
		length = uint64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		length = binary.BigEndian.Uint64(b[2:])
	}
	return uint64(n-size) >= length
}

// headerSize returns the size of a header, from its second byte.
func headerSize(b byte) int {
	n := 2
	switch b & 0x7F {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	if b&0x80 != 0 {
		n += 4
	}
	return n
}

// payloadLength returns the length of the payload of a long frame as a number of bytes to copy.
func (f *rawFrame) payloadLength() int64 { return int64(min(f.length, math.MaxInt64)) }

// encodeFrame makes an unfragmented frame. The frames of a client are masked.
func encodeFrame(op wire.Opcode, payload []byte, masked bool) []byte {
	b := make([]byte, 0, len(payload)+14)
	b = append(b, 0x80|byte(op))
	bit := byte(0)
	if masked {
		bit = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, bit|byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, bit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, bit|127), uint64(n))
	}
	if !masked {
		return append(b, payload...)
	}
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], rand.Uint32())
	b = append(b, key[:]...)
	at := len(b)
	b = append(b, payload...)
	for i := range payload {
		b[at+i] ^= key[i&3]
	}
	return b
}

// encodeMessage returns the encoder of messages towards a side.
func encodeMessage(masked bool) func(Message) []byte {
	return func(m Message) []byte {
		op := wire.Text
		if m.Binary {
			op = wire.Binary
		}
		return encodeFrame(op, m.Body, masked)
	}
}

// closeFrame makes a close frame.
func closeFrame(status uint16, reason string, masked bool) []byte {
	return encodeFrame(wire.Close, append(binary.BigEndian.AppendUint16(nil, status), reason...), masked)
}
