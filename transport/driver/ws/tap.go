package ws

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"

	"parley/internal/unixurl"
	"parley/transport/driver"
	"parley/transport/transcript"
	wire "parley/transport/wire/ws"
)

// The library answers pings, swallows pongs and ends the connection at its first fault. To see what the target really
// sent, the tap parses the connection's bytes: control frames and faults become records among those of the messages.
// This works the same for a target that dialled us, except that its frames are a client's.

// maxFaults bounds the recorded faults of one connection: a target that masks does so in every frame.
const maxFaults = 100

// maxWaiting bounds the records that wait for a message to be recorded first. No single read contains so many frames,
// but the library discards messages while it waits for a close.
const maxWaiting = 8192

// tap turns the bytes that a target sends on one connection into records, in order with the messages that the library
// delivers. It is safe for concurrent use: bytes come from whichever goroutine reads the connection, messages from
// the driver's pump.
type tap struct {
	party string
	told  *driver.Tap
	sink  driver.Sink // the sink of told

	mu      sync.Mutex
	head    head
	parser  *wire.Parser
	waiting []transcript.Record // a record of Kind Frame stands for a message not yet delivered by the library
	faults  int
	conn    net.Conn
	open    bool // recorded as open, and not yet as closed
	stopped bool // nothing more can come, and not because of the harness
	over    bool
	lost    bool // too many were waiting: frames and messages can no longer be matched
}

// newTap makes a tap for a connection to a server target, whose handshake response comes first.
func newTap(party string, max int, sink driver.Sink) *tap {
	told := driver.NewTap(sink)
	return &tap{party: party, told: told, sink: told.Sink,
		parser: wire.NewParser(true, wire.Limits{MaxPayload: 1, MaxMessage: int64(max)})}
}

// newClientTap makes a tap for a connection of a client target, starting after its request.
func newClientTap(party string, max int, sink driver.Sink) *tap {
	told := driver.NewTap(sink)
	return &tap{party: party, told: told, sink: told.Sink,
		parser: wire.NewParser(false, wire.Limits{MaxPayload: 1, MaxMessage: int64(max)}), head: head{frames: true}}
}

// newTransport makes connections with this tap.
func (t *tap) newTransport(conf *tls.Config) *http.Transport {
	return &http.Transport{
		DisableKeepAlives:      true, // nothing is pooled after the upgrade, and a refusal leaves nothing behind
		MaxResponseHeaderBytes: 1 << 20,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := unixurl.Dial(nil)(ctx, network, addr)
			return t.tapListener(c), err
		},
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := unixurl.DialTLS(ctx, network, addr, conf)
			return t.tapListener(c), err
		},
	}
}

func (t *tap) tapListener(c net.Conn) net.Conn {
	if c == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conn = c
	return &tapped{c, t}
}

// closeWrite ends the sending side of the connection, if the transport can.
func (t *tap) closeWrite() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if half, ok := t.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// resetOnClose has the connection reset when it is closed, if it is a TCP connection, also below TLS.
func (t *tap) resetOnClose() {
	t.mu.Lock()
	defer t.mu.Unlock()
	driver.Linger(t.conn)
}

// closeTCP closes the connection directly: the library's closing handshake cannot be shortened.
func (t *tap) closeTCP() {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.conn.Close()
}

type tapped struct {
	net.Conn
	t *tap
}

func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.t.readBytes(p[:n], err)
	return n, err
}

// readBytes takes the next bytes of the connection, or the error that ended it.
func (t *tap) readBytes(p []byte, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.stopped = err != nil && !errors.Is(err, net.ErrClosed)
	for _, it := range t.parser.Feed(t.head.skipResponses(p)) {
		t.handleItem(it)
	}
	t.recordEarly()
}

func (t *tap) handleItem(it wire.Item) {
	r, ok := ItemRecord(t.party, it)
	switch {
	case it.Fault != "":
		if t.faults++; t.faults > maxFaults {
			return
		}
		if t.faults == maxFaults {
			r.Label += " (and no more of this connection's faults are recorded)"
		}
	case ok:
	case it.Opcode.Data() && it.Fin:
		r.Kind = transcript.Frame
	default:
		return
	}
	t.waiting = append(t.waiting, r)
}

// ItemRecord returns the record of a control frame or of a fault; false for any other frame.
func ItemRecord(party string, it wire.Item) (r transcript.Record, ok bool) {
	r = transcript.Record{Conn: party, Dir: transcript.Received, Kind: transcript.Comment, Label: it.Opcode.String(),
		Bytes: it.Payload}
	switch {
	case it.Fault != "":
		r.Label = "frame fault: " + it.Fault
	case it.Opcode == wire.Close:
		var reason string
		r.Status, reason, _ = wire.CloseStatus(it.Payload)
		r.Bytes = []byte(reason)
	case it.Opcode != wire.Ping && it.Opcode != wire.Pong:
		return r, false
	}
	return r, true
}

// recordEarly records what need not wait for a message.
func (t *tap) recordEarly() {
	for t.open && len(t.waiting) > 0 && t.waiting[0].Kind != transcript.Frame {
		t.sink(t.waiting[0])
		t.waiting = t.waiting[1:]
	}
	if t.open && len(t.waiting) > maxWaiting {
		t.lost = true
		t.tellAll()
	}
}

// tellAll records everything that waits except messages, which the library delivers.
func (t *tap) tellAll() {
	for _, r := range t.waiting {
		if r.Kind != transcript.Frame {
			t.sink(r)
		}
	}
	t.waiting = nil
}

// recordOpened records that the connection is open, and what the target sent along with its handshake response.
func (t *tap) recordOpened(r transcript.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sink(r)
	t.open = true
	t.recordEarly()
}

// recordMessage records a message delivered by the library, in order. The library also delivers the part of a message
// that was cut off by the end of the connection; that is not recorded.
func (t *tap) recordMessage(r transcript.Record) (whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recordEarly()
	if len(t.waiting) == 0 && !t.lost {
		return false
	}
	if !t.lost {
		t.waiting = t.waiting[1:]
	}
	t.sink(r)
	t.recordEarly()
	return true
}

// recordClosed records the connection's end; nothing is recorded after it. If the target's bytes stopped within a frame
// or message, that is recorded first.
func (t *tap) recordClosed(r transcript.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		for _, it := range t.parser.End() {
			t.handleItem(it)
		}
	}
	t.tellAll()
	t.sink(r)
	t.over, t.open = true, false
}

// head skips the HTTP responses before the frames: informational ones, and the one that upgrades. After any other
// response there are no frames.
type head struct {
	line   []byte // the start of the current line, long enough for a status line
	length int    // of the current line
	status int    // of the current response; 0 before its status line
	frames bool
	never  bool
}

// skipResponses returns the part of p after the responses.
func (h *head) skipResponses(p []byte) []byte {
	for !h.frames && !h.never {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		const most = 64
		h.line = append(h.line, part[:min(len(part), most-len(h.line))]...)
		h.length += len(part)
		if end < 0 {
			return nil
		}
		p = p[end+1:]
		h.lineEnds()
	}
	if h.never {
		return nil
	}
	return p
}

func (h *head) lineEnds() {
	blank := h.length == 0 || h.length == 1 && h.line[0] == '\r'
	switch {
	case h.status == 0:
		h.status = statusOf(h.line)
		h.never = h.status < 100
	case !blank:
	case h.status == http.StatusSwitchingProtocols:
		h.frames = true
	case h.status < 200:
		h.status = 0
	default:
		h.never = true
	}
	h.line, h.length = h.line[:0], 0
}

// statusOf returns the status in a status line such as HTTP/1.1 101 Switching Protocols; 0 if it is invalid.
func statusOf(line []byte) int {
	_, rest, _ := bytes.Cut(line, []byte(" "))
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) < 3 {
		return 0
	}
	n, err := strconv.Atoi(string(rest[:3]))
	if err != nil {
		return 0
	}
	return n
}
