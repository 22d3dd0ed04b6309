package gate_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"parley/simulator/gate"
	"parley/transport/driver"
	"parley/transport/transcript"
)

const asksStream = "GET /s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"

const isStream = "HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunk(s string) string {
	return string([]byte(strings.ToLower(hex(len(s))))) + "\r\n" + s + "\r\n"
}

func hex(n int) string {
	const digits = "0123456789abcdef"
	if n < 16 {
		return digits[n : n+1]
	}
	return hex(n/16) + digits[n%16:n%16+1]
}

// contents are event streams that must pass unchanged.
var contents = []string{
	"data: x\n\n",
	"\xEF\xBB\xBFdata: x\r\n\r\n",
	"\xEF\xBB\xBF: c\r\rdata: x\r\r",
	": one\n: two\n\nevent: a\nid: 7\nretry: 10\ndata: 1\ndata:2\n\n\n\n: three\n",
	"id: 1\r\n\r\ndata\r\ndata:  y \r\n: inside\r\nunknown: z\r\n\r\n",
	"data: \xff\xfe\n\nid: a\x00b\ndata: z\n\n",
	"data: cut off",
	"data: cut off\nid: 8\n",
	"data: cut off\r",
}

func TestStreamBytes(t *testing.T) {
	both(t, func(t *testing.T, change func(*gate.Options)) {
		for _, content := range contents {
			for _, size := range []int{len(content), 1, 2} {
				g, accept := between(t, change)
				c := connectPeer(t, g)
				c.send(asksStream)
				up := accept()
				up.readHead()
				up.send(isStream)
				c.readExactly(isStream)
				for rest := content; rest != ""; {
					n := min(size, len(rest))
					up.send(chunk(rest[:n]))
					rest = rest[n:]
				}
				up.send("0\r\nTrailer: x\r\n\r\n")
				c.chunks(content)
				c.readExactly("0\r\nTrailer: x\r\n\r\n")
			}
		}
	})
}

// TestStreamsThatEndWithTheirConnection are those without chunks.
func TestStreamsThatEndWithTheirConnection(t *testing.T) {
	both(t, func(t *testing.T, change func(*gate.Options)) {
		g, accept := between(t, change)
		c := connectPeer(t, g)
		c.send(asksStream)
		up := accept()
		up.readHead()
		up.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\ndata: 2")
		c.readExactly("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
		_ = up.Close()
		if rest := c.readRest(); rest != "data: 2" {
			t.Errorf("at the end %q", rest)
		}
		g.awaitRecord("the end", func(r transcript.Record) bool {
			return r.Kind == transcript.Closed && r.Label == "the peer ended the stream"
		})
	})
}

// TestStreamWithLength: a stream with a Content-Length becomes chunked, because nothing could be added to it.
func TestStreamWithLength(t *testing.T) {
	g, accept := between(t, nil)
	c := connectPeer(t, g)
	c.send(asksStream)
	up := accept()
	up.readHead()
	up.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\ndata: 1\n\n")
	c.readExactly("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	c.chunks("data: 1\n\n")
	c.readExactly("0\r\n\r\n")
}

// TestStreamIsNotHeldBack: a block passes before the next one comes.
func TestStreamIsNotHeldBack(t *testing.T) {
	both(t, func(t *testing.T, change func(*gate.Options)) {
		g, accept := between(t, change)
		c := connectPeer(t, g)
		c.send(asksStream)
		up := accept()
		up.readHead()
		up.send(isStream)
		c.readExactly(isStream)
		for _, unit := range []string{": alone\n", "\n", "data: 1\n\n", "data: 2\r\r", "id: 4\n\n"} {
			up.send(chunk(unit))
			c.chunks(unit)
		}
	})
}

func TestStreamDecisions(t *testing.T) {
	g, accept := between(t, func(o *gate.Options) {
		o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
			if m.Kind != transcript.Stream {
				return gate.Decision{}
			}
			switch {
			case m.Event != "note" || m.ID != "5":
			case string(m.Body) == "drop":
				return gate.Decision{Drop: true}
			case string(m.Body) == "two":
				return gate.Decision{With: []gate.Message{{Body: []byte("2a")}, {Event: "b", ID: "6", Body: []byte("2\nb")}}}
			case string(m.Body) == "end":
				how := driver.Graceful
				return gate.Decision{End: &how}
			}
			return gate.Decision{}
		}
	})
	c := connectPeer(t, g)
	c.send(asksStream)
	up := accept()
	up.readHead()
	up.send(isStream)
	c.readExactly(isStream)
	for _, body := range []string{"drop", "two", "end", "after the end"} {
		_, _ = io.WriteString(up, chunk("event: note\r\nid: 5\r\ndata: "+body+"\r\n\r"))
		_, _ = io.WriteString(up, chunk("\n")) // it fails after the end
	}
	c.chunks("data: 2a\n\nevent: b\nid: 6\ndata: 2\ndata: b\n\nevent: note\r\nid: 5\r\ndata: end\r\n\r")
	got, err := c.in.ReadString('\n')
	if got == "1\r\n" { // the rest of the line end
		c.readExactly("\n\r\n")
		got, err = c.in.ReadString('\n')
	}
	if got != "0\r\n" {
		t.Errorf("the end is %q, %v", got, err)
	}
	r := g.awaitRecord("the end", func(r transcript.Record) bool { return r.Kind == transcript.Closed })
	if r.Label != "ended by the harness" || r.Dir != transcript.Sent || r.Conn != "C1" {
		t.Errorf("recorded %+v", r)
	}
	var bodies []string
	for _, r := range g.log.All() {
		if r.Kind == transcript.Stream {
			bodies = append(bodies, string(r.Dir)+" "+r.Type+" "+string(r.Bytes))
		}
	}
	if got := strings.Join(bodies, "|"); got != "sent message 2a|sent b 2\nb|sent note end" {
		t.Errorf("recorded %q", got)
	}
}

func TestStreamAcceptedHere(t *testing.T) {
	g := openGate(t, nil, func(o *gate.Options) {
		o.Handle = func(context.Context, gate.Message) gate.Decision {
			return gate.Decision{Reply: &gate.Message{}}
		}
	})
	req, _ := http.NewRequestWithContext(boundedContext(t), http.MethodGet, g.URL()+"/s", nil)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if on := g.Connections(); len(on) != 1 || on[0].Kind != "sse" || on[0].Path != "/s" {
		t.Errorf("connections: %+v", on)
	}
	if err := g.Send(boundedContext(t), "C1", gate.Client, gate.Message{Event: "e", Body: []byte("one")}); err != nil {
		t.Fatal(err)
	}
	if err := g.Send(boundedContext(t), "C1", gate.Server, gate.Message{}); err == nil {
		t.Error("a message was sent to the server of a stream")
	}
	if err := g.End("C1", driver.Graceful); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if string(b) != "event: e\ndata: one\n\n" || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestClientLeavesStream: the upstream is told.
func TestClientLeavesStream(t *testing.T) {
	for _, program := range []gate.Side{gate.Client, gate.Server} {
		t.Run(program.String(), func(t *testing.T) {
			g, accept := between(t, func(o *gate.Options) { o.Program = program })
			c := connectPeer(t, g)
			c.send(asksStream)
			up := accept()
			up.readHead()
			up.send(isStream)
			c.readExactly(isStream)
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			if rest := up.readRest(); rest != "" {
				t.Errorf("the upstream got %q", rest)
			}
			if program == gate.Server { // the other direction continues
				up.send(chunk("data: last\n\n") + "0\r\n\r\n")
				c.chunks("data: last\n\n")
			}
			want := map[gate.Side]string{gate.Client: "the client has closed the stream",
				gate.Server: "closed by the harness" + gate.ClientLeft}
			g.awaitRecord("the end", func(r transcript.Record) bool {
				return r.Kind == transcript.Closed && r.Dir == transcript.Received && r.Label == want[program]
			})
		})
	}
}

// TestStreamThatAnswersPost: it is named when it opens.
func TestStreamThatAnswersPost(t *testing.T) {
	g, accept := between(t, func(o *gate.Options) { o.Handle = pass })
	c := connectPeer(t, g)
	c.send("POST /s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	up := accept()
	up.readHead()
	up.readExactly("{}")
	up.send(isStream + chunk("data: 1\n\n"))
	c.readExactly(isStream)
	c.chunks("data: 1\n\n")
	if err := g.Send(boundedContext(t), "C1", gate.Client, gate.Message{Body: []byte("2")}); err != nil {
		t.Fatal(err)
	}
	c.chunks("data: 2\n\n")
	r := g.awaitRecord("the event", func(r transcript.Record) bool { return r.Kind == transcript.Stream })
	if r.Conn != "C1" || string(r.Bytes) != "1" {
		t.Errorf("recorded %+v", r)
	}
}

// TestAcceptanceIsDecidedOn: the upstream's answer to an Open can be changed or dropped.
func TestAcceptanceIsDecidedOn(t *testing.T) {
	g, accept := between(t, func(o *gate.Options) {
		o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
			if m.Kind != transcript.Open || m.From != gate.Server {
				return gate.Decision{}
			}
			how := driver.Reset
			switch m.Path {
			case "/changed":
				return gate.Decision{With: []gate.Message{{Status: 201, Header: http.Header{"Content-Type": {"text/odd"}}}}}
			case "/end":
				return gate.Decision{End: &how}
			}
			return gate.Decision{Drop: true}
		}
	})
	for path, want := range map[string]string{
		"/changed": "HTTP/1.1 201 Created\r\nContent-Type: text/odd\r\nTransfer-Encoding: chunked\r\n\r\n",
		"/dropped": "",
		"/end":     "",
	} {
		t.Run(path, func(t *testing.T) {
			c := connectPeer(t, g)
			c.send(strings.Replace(asksStream, "/s", path, 1))
			up := accept()
			up.readHead()
			up.send(isStream + "0\r\n\r\n")
			c.readExactly(want)
			if want == "" {
				_ = c.Conn.(*net.TCPConn).CloseWrite()
				if b, _ := io.ReadAll(c.in); len(b) > 0 {
					t.Errorf("got %q", b)
				}
			}
		})
	}
}

// TestPartyNames: two open connections never have the same name.
func TestPartyNames(t *testing.T) {
	g := openGate(t, nil, func(o *gate.Options) {
		o.Party = func(r *http.Request, n int) string { return strings.TrimPrefix(r.URL.Path, "/") }
		o.Handle = func(context.Context, gate.Message) gate.Decision { return gate.Decision{Reply: &gate.Message{}} }
	})
	for range 3 {
		c := connectPeer(t, g)
		c.send(strings.Replace(asksStream, "/s", "/A", 1))
		c.readHead()
	}
	c := connectPeer(t, g)
	c.send("POST /A HTTP/1.1\r\nHost: x\r\n\r\n")
	c.readHead()
	var names []string
	for _, c := range g.Connections() {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, ","); got != "A,A 2,A 3" {
		t.Errorf("open are %s", got)
	}
	g.awaitRecord("the request", func(r transcript.Record) bool { return r.Kind == transcript.Request && r.Conn == "A" })
}
