package gate_test

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"parley/simulator/gate"
	"parley/transport/driver"
	"parley/transport/transcript"
)

const upgrade = "GET /w HTTP/1.1\r\nHost: x\r\nconnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: b, a\r\n" +
	"Sec-WebSocket-Extensions: permessage-deflate\r\nOrigin: https://elsewhere.example\r\n\r\n"

const upgraded = "HTTP/1.1 101 Yes\r\nupgrade: websocket\r\nCONNECTION: Upgrade\r\nSec-WebSocket-Protocol: a\r\n" +
	"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

// frame makes a frame. first is its first byte; a key masks it.
func frame(first byte, payload, key string) string {
	b := []byte{first, 0}
	switch n := len(payload); {
	case n < 126:
		b[1] = byte(n)
	case n < 1<<16:
		b[1] = 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] = 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	if key == "" {
		return string(b) + payload
	}
	b[1] |= 0x80
	b = append(b, key...)
	for i := range payload {
		b = append(b, payload[i]^key[i&3])
	}
	return string(b)
}

// socketBetween opens a raw WebSocket connection through a gate.
func socketBetween(t *testing.T, change func(*gate.Options)) (g *stand, c, up *peer) {
	t.Helper()
	g, accept := between(t, change)
	c = connectPeer(t, g)
	c.send(upgrade)
	up = accept()
	host := up.LocalAddr().String()
	up.readExactly("GET /base/w HTTP/1.1\r\nHost: " + host + strings.TrimPrefix(strings.Replace(upgrade,
		"Sec-WebSocket-Extensions: permessage-deflate\r\n", "", 1), "GET /w HTTP/1.1\r\nHost: x"))
	up.send(upgraded)
	c.readExactly(upgraded)
	return g, c, up
}

const key = "\x01\x80\x7f\xfe"

// framesOf returns the frames that pass unchanged from a side, including faulty ones.
func framesOf(key string) []string {
	large := strings.Repeat("large", 30_000)
	return []string{
		frame(0x81, "text", key),
		frame(0x82, "\x00\xff", key),
		frame(0x81, "", key),
		frame(0x01, "frag", key) + frame(0x89, "ping between", key) + frame(0x00, "men", key) + frame(0x80, "ted", key),
		frame(0x89, "ping", key) + frame(0x8a, "pong", key),
		frame(0x81, "broken \xff text", key),
		frame(0x82, large, key),
		frame(0x01, "given up", key) + frame(0x81, "for another", key),
		frame(0x80, "continues nothing", key),
		frame(0xc1, "reserved bit", key),
		frame(0x83, "unknown opcode", key),
		frame(0x88, "\x0f\xa1enough", key),
	}
}

func TestFrameBytes(t *testing.T) {
	both(t, func(t *testing.T, change func(*gate.Options)) {
		g, c, up := socketBetween(t, change)
		for _, f := range framesOf(key) {
			c.send(f)
			up.readExactly(f)
		}
		for _, f := range framesOf("") {
			up.send(f)
			c.readExactly(f)
		}
		_ = up.Close()
		if rest := c.readRest(); rest != "" {
			t.Errorf("after the end %q", rest)
		}
		_ = c.Close()
		r := g.awaitRecord("the end", func(r transcript.Record) bool { return r.Kind == transcript.Closed })
		if r.Status != 4001 || r.Label != `the client closed the connection: "enough"` {
			t.Errorf("recorded %+v", r)
		}
		seen := map[string]bool{}
		for _, r := range g.log.All() {
			seen[string(r.Dir)+" "+string(r.Kind)+" "+string(r.Bytes)] = true
		}
		for _, want := range []string{"received frame text", "sent frame text", "received frame fragmented",
			"sent frame fragmented", "received comment ping between", "received frame for another"} {
			if !seen[want] {
				t.Errorf("there is no record %q", want)
			}
		}
	})
}

// TestLongMessages pass in pieces, and are recorded cut.
func TestLongMessages(t *testing.T) {
	both(t, func(t *testing.T, change func(*gate.Options)) {
		g, c, up := socketBetween(t, func(o *gate.Options) {
			change(o)
			o.MaxMessage = 1000
		})
		text := strings.Repeat("0123456789", 6000)
		for _, f := range []string{
			frame(0x81, text, key),
			frame(0x01, text[:900], key) + frame(0x89, "ping", key) + frame(0x80, text[:900], key),
			frame(0x01, text[:900], key) + frame(0x80, text, key),
			frame(0x8f, text, key),
			frame(0x81, "short again", key),
		} {
			c.send(f)
			up.readExactly(f)
		}
		g.awaitRecord("the last message", func(r transcript.Record) bool { return string(r.Bytes) == "short again" })
		var sizes []int
		for _, r := range g.log.All() {
			if r.Kind == transcript.Frame {
				sizes = append(sizes, len(r.Bytes)+r.Cut)
			}
		}
		if len(sizes) != 4 || sizes[0] != 60_000 || sizes[1] != 1800 || sizes[2] != 60_900 || sizes[3] != 11 {
			t.Errorf("recorded sizes: %v", sizes)
		}
	})
}

// TestCutOffFrames: the part of a frame that a side has sent passes, and so does the way in which it ended.
func TestCutOffFrames(t *testing.T) {
	both(t, func(t *testing.T, change func(*gate.Options)) {
		for _, f := range []string{"\x81", "\x81\xfe\x01", frame(0x81, "half of it", key)[:9], frame(0x01, "no end", key)} {
			g, c, up := socketBetween(t, change)
			c.send(f)
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			if rest := up.readRest(); rest != f {
				t.Errorf("the upstream got %q of %q", rest, f)
			}
			_ = up.Close()
			g.awaitRecord("a fault", func(r transcript.Record) bool {
				return strings.HasPrefix(r.Label, "WebSocket data that cannot be read: the stream ended")
			})
			g.awaitRecord("the end", func(r transcript.Record) bool {
				return r.Kind == transcript.Closed && strings.HasPrefix(r.Label, "the connection broke off: ")
			})
		}
	})
}

// TestResetPasses: a reset of one side resets the other.
func TestResetPasses(t *testing.T) {
	for name, from := range map[string]func(c, up *peer) (*peer, *peer){
		"client": func(c, up *peer) (*peer, *peer) { return c, up },
		"server": func(c, up *peer) (*peer, *peer) { return up, c },
	} {
		t.Run(name, func(t *testing.T) {
			g, c, up := socketBetween(t, nil)
			one, other := from(c, up)
			_ = one.Conn.(*net.TCPConn).SetLinger(0)
			_ = one.Close()
			if _, err := other.in.ReadByte(); err == nil || !strings.Contains(err.Error(), "reset") {
				t.Errorf("the other side saw %v", err)
			}
			g.awaitRecord("the end", func(r transcript.Record) bool { return r.Kind == transcript.Closed })
		})
	}
}

// TestEnd: both sides are told of the end.
func TestEnd(t *testing.T) {
	g, c, up := socketBetween(t, nil)
	ended := make(chan error, 1)
	go func() { ended <- g.End("C1", driver.Graceful) }()
	c.readExactly(frame(0x88, "\x03\xe8", ""))
	if h := make([]byte, 8); true {
		if _, err := up.in.Read(h); err != nil || h[0] != 0x88 || h[1] != 0x82 {
			t.Errorf("the upstream got %x, %v", h, err)
		}
	}
	c.send(frame(0x88, "\x03\xe8", key))
	up.send(frame(0x88, "\x03\xe8", ""))
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r := g.awaitRecord("the end", func(r transcript.Record) bool { return r.Kind == transcript.Closed })
	if r.Label != "closed by the harness" {
		t.Errorf("recorded %+v", r)
	}
	if rest := c.readRest() + up.readRest(); rest != "" {
		t.Errorf("after the end %q", rest)
	}
}

// TestEndOfThoseWhoDoNotAnswer is a reset.
func TestEndOfThoseWhoDoNotAnswer(t *testing.T) {
	for _, how := range []driver.CloseMode{driver.Graceful, driver.Reset} {
		g, c, _ := socketBetween(t, nil)
		if err := g.End("C1", how); err != nil {
			t.Fatal(err)
		}
		if how == driver.Graceful {
			c.readExactly(frame(0x88, "\x03\xe8", ""))
		}
		if _, err := c.in.ReadByte(); err == nil || !strings.Contains(err.Error(), "reset") {
			t.Errorf("the client saw %v", err)
		}
	}
}
