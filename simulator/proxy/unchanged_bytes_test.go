package proxy_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/simulator/proxy"
)

// oddStream is an event stream with everything that a library would normalise.
const oddStream = "\ufeff: a comment\r\rid: 7\revent: connected\rdata: {\"connectionId\":\"c-1\"}\r\rretry: 50\n\n" +
	"data:no blank\r\ndata: two lines\r\n\r\n: heartbeat\n\nunknown: field\n\nevent: x\ndata: cut off"

// TestStreamUntouched: an event stream passes with its comments, ids and line ends, and a request with its fields.
func TestStreamUntouched(t *testing.T) {
	seen := make(chan *http.Request, 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("X-Odd", "kept")
		for _, one := range []byte(oddStream) {
			_, _ = w.Write([]byte{one})
			w.(http.Flusher).Flush()
		}
	}))
	defer up.Close()
	s := openProxy(t, options(t, "agent-select", up.URL+"/base"), "")
	req, err := http.NewRequestWithContext(boundedContext(t), http.MethodGet, s.URL()+"/events?a=b", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", "6")
	req.Header.Set("Accept-Encoding", "gzip, br")
	res, err := unpooledClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || string(got) != oddStream {
		t.Errorf("%v\n%q", err, got)
	}
	r := <-seen
	if r.Header.Get("Last-Event-ID") != "6" || r.RequestURI != "/base/events?a=b" || res.Header.Get("X-Odd") != "kept" {
		t.Errorf("%s %v, %v", r.RequestURI, r.Header, res.Header)
	}
	if r.Header.Get("Accept-Encoding") != "" { // the traffic is judged, so nothing is compressed
		t.Error("the server is asked to compress")
	}
	awaitEvent(t, s.ends, "C1")
	s.close()
	if !s.hasLine("connected", "c-1") {
		t.Errorf("transcript: %q", s.lines)
	}
}

// unpooledClient returns an HTTP client without keep-alive connections.
func unpooledClient(t *testing.T) *http.Client {
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// clientFrames and serverFrames contain what libraries hide: fragments with a ping between them, an empty fragment,
// lengths in more bytes than needed, an unsolicited pong, and their own close frame.
var (
	clientFrames = "\x01\x83\x01\x02\x03\x04abc" + "\x89\x82\x00\x00\x00\x00hi" + "\x00\x80\x09\x08\x07\x06" +
		"\x80\xfe\x00\x01\x00\x00\x00\x00d" + "\x8a\x80\x00\x00\x00\x00" + "\x88\x85\x00\x00\x00\x00\x0f\xa1bye"
	serverFrames = "\x8a\x02hi" + "\x02\x01\x00" + "\x80\x7f\x00\x00\x00\x00\x00\x00\x00\x02\xff\xfe" + "\x89\x00" +
		"\x88\x05\x0f\xa2bye"
)

// TestSocketUntouched: frames pass byte for byte in both directions, and the subprotocol is the server's choice.
func TestSocketUntouched(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type side struct {
		head string
		rest []byte
	}
	heard := make(chan side, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		head := readHead(in)
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: two\r\n\r\n"+serverFrames)
		rest := make([]byte, len(clientFrames))
		n, _ := io.ReadFull(in, rest)
		heard <- side{head, rest[:n]}
	}()
	s := openProxy(t, options(t, "session-chat", "ws://"+l.Addr().String()), "")
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET /chat HTTP/1.1\r\nHost: proxy\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nsec-websocket-protocol: one, two\r\n"+
		"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"+clientFrames)
	in := bufio.NewReader(c)
	answer := readHead(in)
	rest, _ := io.ReadAll(in) // the server resets or ends
	if string(rest) != serverFrames {
		t.Errorf("the client got %q", rest)
	}
	got := <-heard
	if string(got.rest) != clientFrames || !strings.Contains(got.head, "sec-websocket-protocol: one, two\r\n") {
		t.Errorf("the server got %q, %q", got.head, got.rest)
	}
	if !strings.Contains(answer, "Sec-WebSocket-Protocol: two\r\n") || strings.Contains(answer, "Extensions") ||
		strings.Contains(got.head, "Extensions") { // no compression is negotiated
		t.Errorf("the answer is %q to %q", answer, got.head)
	}
	_ = c.Close()
	awaitEvent(t, s.ends, "C1")
	s.close()
	if !s.hasLine("-> frame", "```d") || !s.hasLine("<- comment close 4002") {
		t.Errorf("transcript: %q", s.lines)
	}
}

// readHead reads a head with its empty line.
func readHead(in *bufio.Reader) string {
	var b strings.Builder
	for {
		line, err := in.ReadString('\n')
		b.WriteString(line)
		if err != nil || line == "\r\n" {
			return b.String()
		}
	}
}

// TestPipeUntouched: any bytes, lines or not, pass to and from a command, and the exit code is the command's.
func TestPipeUntouched(t *testing.T) {
	long := strings.Repeat("x", 9<<20) // longer than the part that is kept
	in := "one\r\n\x00\xff\xfe\n\n" + long + "\nno end"
	o := options(t, "session-runtime", "")
	s := collecting(t, &o, "")
	var out, errs bytes.Buffer
	code, err := proxy.Pipe(boundedContext(t), o, proxy.PipeOptions{Command: []string{"sh", "-c",
		"cat; echo told >&2; exit 7"}, In: strings.NewReader(in), Out: &out, Err: &errs})
	if err != nil || code != 7 {
		t.Errorf("exit %d, %v", code, err)
	}
	if out.String() != in || errs.String() != "told\n" {
		t.Errorf("%d bytes of %d, stderr %q", out.Len(), len(in), errs.String())
	}
	if !s.hasLine("-> ", "one") || !s.hasLine("<- ", "no end") || !s.hasLine("the target ended: exit status 7") {
		t.Errorf("transcript: %d lines", len(s.lines))
	}
}

// TestPipeEnds: a command that stops reading, one that is killed, and one that does not exist.
func TestPipeEnds(t *testing.T) {
	endless, feed := io.Pipe() // nothing is ever written to it
	defer feed.Close()
	for _, one := range []struct {
		name, script string
		code         int
	}{
		{"it ends first", "exit 0", 0},
		{"a signal", "kill -9 $$", 128 + 9},
		{"its child stays", "sleep 1000 & exit 3", 3},
	} {
		t.Run(one.name, func(t *testing.T) {
			o := options(t, "session-runtime", "")
			collecting(t, &o, "")
			code, err := proxy.Pipe(boundedContext(t), o, proxy.PipeOptions{Command: []string{"sh", "-c", one.script},
				In: endless, Out: io.Discard, Err: io.Discard})
			if err != nil || code != one.code {
				t.Errorf("exit %d, %v", code, err)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		o := options(t, "session-runtime", "")
		collecting(t, &o, "")
		if _, err := proxy.Pipe(boundedContext(t), o, proxy.PipeOptions{Command: []string{"no-such-command"}, In: endless,
			Out: io.Discard, Err: io.Discard}); err == nil || !strings.Contains(err.Error(), "no-such-command") {
			t.Errorf("%v", err)
		}
	})
}

// broken is a writer whose reader has gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestPipeReaderGone: a command whose output has no reader any more gets the same error as without the proxy.
func TestPipeReaderGone(t *testing.T) {
	o := options(t, "session-runtime", "")
	collecting(t, &o, "")
	command := []string{"sh", "-c", "while :; do echo y || exit 1; done"}
	code, err := proxy.Pipe(boundedContext(t), o, proxy.PipeOptions{Command: command, In: strings.NewReader(""),
		Out: broken{}, Err: io.Discard})
	if err != nil || code == 0 {
		t.Errorf("exit %d, %v", code, err)
	}
}
