package ws

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// within bounds each wait of a test; only a failing test uses it up.
const within = time.Minute

// socket is the server's end of a connection, on which the test writes raw bytes.
type socket struct {
	net.Conn
	in   *bufio.Reader
	head string // the handshake response that the script has yet to send
}

// serve runs a server with a script for each connection, after the handshake.
func serve(t testing.TB, script func(*socket)) string {
	t.Helper()
	return serveRaw(t, func(s *socket) {
		if _, err := io.WriteString(s, s.head); err == nil {
			script(s)
		}
	})
}

// serveRaw leaves the handshake response to the script.
func serveRaw(t testing.TB, script func(*socket)) string {
	t.Helper()
	var scripts sync.WaitGroup
	srv := httptest.NewServer(handler(t, &scripts, script))
	t.Cleanup(func() {
		srv.Close()
		scripts.Wait()
	})
	return srv.URL
}

func handler(t testing.TB, scripts *sync.WaitGroup, script func(*socket)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scripts.Add(1)
		defer scripts.Done()
		if ext := r.Header.Get("Sec-WebSocket-Extensions"); ext != "" {
			t.Errorf("the driver offers extensions: %s", ext)
		}
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		head := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
			base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n"
		script(&socket{c, rw.Reader, head})
	}
}

// send writes bytes unchanged.
func (s *socket) send(frames ...string) { _, _ = io.WriteString(s, strings.Join(frames, "")) }

// next reads a client's frame.
func (s *socket) next() (first byte, payload string, err error) {
	var h [2]byte
	if _, err := io.ReadFull(s.in, h[:]); err != nil {
		return 0, "", err
	}
	n := int(h[1] & 0x7F)
	if n == 126 {
		var l [2]byte
		if _, err := io.ReadFull(s.in, l[:]); err != nil {
			return 0, "", err
		}
		n = int(binary.BigEndian.Uint16(l[:]))
	}
	b := make([]byte, 4+n)
	if _, err := io.ReadFull(s.in, b); err != nil {
		return 0, "", err
	}
	for i := range n {
		b[4+i] ^= b[i%4]
	}
	return h[0], string(b[4:]), nil
}

// drain reads until the client is gone.
func (s *socket) drain() { _, _ = io.Copy(io.Discard, s.in) }

// frame returns an unmasked frame of up to 65535 bytes.
func frame(first byte, payload string) string {
	if len(payload) < 126 {
		return string([]byte{first, byte(len(payload))}) + payload
	}
	return string(binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(len(payload)))) + payload
}

// masked returns a frame as only clients may send it: with the mask 1 2 3 4.
func masked(first byte, payload string) string {
	b := []byte(payload)
	for i := range b {
		b[i] ^= byte(i%4 + 1)
	}
	return string([]byte{first, 0x80 | byte(len(b)), 1, 2, 3, 4}) + string(b)
}

func closing(code uint16, reason string) string {
	return frame(0x88, string(binary.BigEndian.AppendUint16(nil, code))+reason)
}

// party is a connection with its transcript.
type party struct {
	*testing.T
	log  *transcript.Transcript
	conn driver.Conn
}

// connect opens a connection; it is closed when the test ends.
func connect(t *testing.T, url string, o driver.OpenOptions) *party {
	t.Helper()
	p := &party{T: t, log: transcript.New(nil)}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	o.Party, o.URL = "A", url
	c, err := New().Open(ctx, o, p.log.Append)
	if err != nil {
		t.Fatal(err)
	}
	p.conn = c
	t.Cleanup(func() { _ = c.Close(driver.Reset) })
	return p
}

// await waits for a record.
func (p *party) await(what string, match func(*transcript.Record) bool) transcript.Record {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), within)
	defer cancel()
	r, err := p.log.Await(ctx, 0, match)
	if err != nil {
		p.Fatalf("no record of %s; there is:\n%s", what, strings.Join(said(p.log.All()), "\n"))
	}
	return r
}

func (p *party) awaitEnd() {
	p.Helper()
	p.await("the end", func(r *transcript.Record) bool { return r.Kind == transcript.Closed })
}

// said renders records for a table.
func said(records []transcript.Record) []string {
	var out []string
	for _, r := range records {
		line := fmt.Sprintf("%s %s", r.Kind, r.Label)
		switch r.Kind {
		case transcript.Open:
			continue
		case transcript.Frame:
			line = fmt.Sprintf("%s %q", r.Type, r.Bytes)
			if r.Label != "" {
				line += " (" + r.Label + ")"
			}
		case transcript.Comment:
			line = r.Label
			if r.Status != 0 {
				line += fmt.Sprintf(" %d", r.Status)
			}
			if len(r.Bytes) > 0 {
				line += fmt.Sprintf(" %q", r.Bytes)
			}
		case transcript.Closed:
			line, _, _ = strings.Cut(string(r.Kind)+" "+r.Label, ":")
		}
		if r.Dir == transcript.Sent {
			line = "sent " + line
		}
		out = append(out, line)
	}
	return out
}
