package hostile_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// upgraded is a peer that accepts a WebSocket, and from then on handles the bytes of the connection itself.
func upgraded(talk func(c net.Conn, in *bufio.Reader)) serve {
	return raw(func(c net.Conn) {
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		_, err = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
		if err == nil {
			talk(c, in)
		}
	})
}

// frame is a frame of a server: the first byte has FIN, the reserved bits and the opcode.
func frame(first byte, payload string) string {
	n := len(payload)
	switch {
	case n < 126:
		return string([]byte{first, byte(n)}) + payload
	case n < 1<<16:
		return string(binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(n))) + payload
	}
	return string(binary.BigEndian.AppendUint64([]byte{first, 127}, uint64(n))) + payload
}

// framing sends bytes and waits until the client leaves.
func framing(text string) serve {
	return upgraded(func(c net.Conn, in *bufio.Reader) {
		if _, err := io.WriteString(c, text); err == nil {
			_, _ = io.Copy(io.Discard, in)
		}
	})
}

// framingOn sends bytes, and then a text for ever.
func framingOn(text, again string) serve {
	return upgraded(func(c net.Conn, in *bufio.Reader) {
		go func() { _, _ = io.Copy(io.Discard, in) }()
		_, err := io.WriteString(c, text)
		for err == nil {
			_, err = io.WriteString(c, again)
		}
	})
}

// Opcodes with FIN, and the last word of a right server.
const (
	textFrame = 0x81
	pingFrame = 0x89
	pongFrame = 0x8a
	byeFrame  = 0x88
)

// frameRows are servers that break WebSocket itself.
var frameRows = rowsOf("server", "session-chat", []row{
	{name: "a wrong key", exit: 3, says: "answered by HTTP 101",
		does: "accepts a WebSocket with the key of another", serve: answers("HTTP/1.1 101 Switching Protocols\r\n" +
			"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: bm9wZQ==\r\n\r\n")},
	{name: "an upgrade to something else", exit: 3, says: "101|[Uu]pgrade",
		does:  "switches to a protocol that nobody asked for",
		serve: answers("HTTP/1.1 101 Switching Protocols\r\nUpgrade: tls\r\nConnection: Upgrade\r\n\r\n")},
	{name: "200 to an upgrade", exit: 3, says: "HTTP 200",
		does: "answers an upgrade with a page", serve: breaks("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")},
	{name: "an upgrade that never comes", exit: 3, says: "sends nothing|no answer",
		does: "drips the head of the handshake", serve: drips("HTTP/1.1 101 Switching Protocols\r\n", "X: y\r\n",
			20*time.Millisecond)},
	{name: "half a frame", exit: 3, says: "sends nothing",
		does: "begins a frame and never ends it", serve: framing(frame(textFrame, strings.Repeat("x", 1000))[:500])},
	{name: "a frame cut off", exit: 3, says: "ends without sending anything",
		does: "leaves in the middle of a frame", serve: upgraded(func(c net.Conn, _ *bufio.Reader) {
			_, _ = io.WriteString(c, frame(textFrame, strings.Repeat("x", 1000))[:500])
		})},
	{name: "a frame of 2^63 bytes", exit: 3, says: "ends|limits.max-event",
		does:  "announces a frame of all the memory in the world",
		serve: framing("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff")},
	{name: "a frame of a negative length", exit: 3, says: "ends",
		does:  "announces a frame whose length has the sign bit set",
		serve: framing("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff")},
	{name: "a masked frame", exit: 3, says: "mask|nothing of session-chat came|ends",
		does: "masks its frames as a client does", serve: framing("\x81\x82\x00\x00\x00\x00hi")},
	{name: "reserved bits", exit: 3, says: "ends|nothing of session-chat came",
		does: "sets bits that no extension has agreed on", serve: framing(frame(0xf1, "{}"))},
	{name: "an unknown opcode", exit: 3, says: "ends|nothing of session-chat came",
		does: "sends frames of a kind that does not exist", serve: framing(frame(0x83, "{}"))},
	{name: "a continuation of nothing", exit: 3, says: "ends|nothing of session-chat came",
		does: "continues a message that it has not begun", serve: framing(frame(0x80, "{}"))},
	{name: "a text within a text", exit: 3, says: "ends|nothing of session-chat came",
		does: "begins a message before it has ended another", serve: framing(frame(0x01, "{") + frame(textFrame, "{}"))},
	{name: "a fragmented ping", exit: 3, says: "ends|sends nothing",
		does: "sends a ping in pieces", serve: framing(frame(0x09, "x"))},
	{name: "a long ping", exit: 3, says: "ends|sends nothing",
		does: "sends a ping of more than 125 bytes", serve: framing(frame(pingFrame, strings.Repeat("x", 126)))},
	{name: "no UTF-8 in a text", exit: 3, exits: []int{1}, says: "ends|it sends|nothing of session-chat came|SC-",
		does: "sends texts that are no UTF-8", serve: framing(frame(textFrame, "{\"message_type\":\"\xff\"}"))},
	{name: "a close code of nobody's", exit: 3, says: "ends",
		does: "closes with a code that must not be sent", serve: framing(frame(byeFrame, "\x03\xed"))},
	{name: "a close of one byte", exit: 3, says: "ends",
		does: "closes with half a code", serve: framing(frame(byeFrame, "\x03"))},
	{name: "a close in colours", exit: 3, says: "ends",
		does: "closes with a reason that clears a terminal", serve: framing(frame(byeFrame,
			"\x03\xf0\x1b[2J\x1b]0;x\x07"))},
	{name: "talks behind its close", exit: 3, says: "ends",
		does: "closes and goes on talking", serve: framingOn(frame(byeFrame, "\x03\xe8"), block(frame(textFrame, "{}")))},
	{name: "never closes its side", exit: 3, says: "sends nothing",
		does: "answers no close and keeps the connection open", serve: framing("")},
	{name: "a flood of pings", exit: 3, says: `nothing of session-chat came; it sends "x"`,
		does: "pings for ever", serve: framingOn("", block(frame(pingFrame, "x")))},
	{name: "a flood of pongs", exit: 3, says: `nothing of session-chat came; it sends "x"`,
		does: "answers pings that nobody has sent, for ever", serve: framingOn("", block(frame(pongFrame, "x")))},
	{name: "a flood of empty frames", exit: 3,
		says: "nothing of session-chat came|sends nothing", does: "sends frames without payload, for ever",
		serve: framingOn("", block(frame(textFrame, "")))},
	{name: "a flood of fragments", exit: 3,
		says:  "nothing of session-chat came|sends nothing|limits.max-event",
		does:  "never ends a message of one byte each frame",
		serve: framingOn(frame(0x01, "["), block(frame(0x00, " ")))},
	{name: "a flood of empty fragments", exit: 3,
		says: "nothing of session-chat came|sends nothing|limits.max-event", does: "never ends a message of empty frames",
		serve: framingOn(frame(0x01, "["), block(frame(0x00, "")))},
	{name: "an endless frame", exit: 3, says: "limits.max-event|ends",
		does: "never ends its frame", serve: framingOn("\x81\x7f\x00\x00\x00\xff\xff\xff\xff\xff", block("x"))},
	{name: "a frame a byte at a time", exit: 3, says: "sends nothing",
		does: "sends a long frame a byte at a time", serve: upgraded(func(c net.Conn, in *bufio.Reader) {
			gone := make(chan struct{})
			go func() { _, _ = io.Copy(io.Discard, in); close(gone) }()
			text := frame(textFrame, strings.Repeat("x", 60000))
			for i := 0; ; i++ {
				if _, err := c.Write([]byte{text[i%len(text)]}); err != nil {
					return
				}
				select {
				case <-time.After(10 * time.Millisecond):
				case <-gone:
					return
				}
			}
		})},
})
