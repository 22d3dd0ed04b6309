package gate_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/simulator/gate"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// echoMessages sends each message back.
func echoMessages(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"b", "a"}, InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer c.CloseNow()
	for {
		kind, p, err := c.Read(r.Context())
		if err != nil {
			return
		}
		if string(p) == "bye" {
			_ = c.Close(4001, "enough")
			return
		}
		if c.Write(r.Context(), kind, p) != nil {
			return
		}
	}
}

func dial(t *testing.T, url string, o *websocket.DialOptions) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.Dial(boundedContext(t), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func sendText(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	if err := c.Write(boundedContext(t), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func wantText(t *testing.T, c *websocket.Conn, want string) {
	t.Helper()
	_, p, err := c.Read(boundedContext(t))
	if err != nil {
		t.Fatalf("instead of %q: %v", want, err)
	}
	if string(p) != want {
		t.Fatalf("heard %.80q, want %.80q", p, want)
	}
}

func TestSocketPasses(t *testing.T) {
	for name, handle := range map[string]gate.Handler{
		"without a handler": nil,
		"with a handler":    func(context.Context, gate.Message) gate.Decision { return gate.Decision{} },
	} {
		t.Run(name, func(t *testing.T) {
			g := openGate(t, serve(t, echoMessages), func(o *gate.Options) { o.Handle = handle })
			c := dial(t, g.URL()+"/x?y=1", &websocket.DialOptions{Subprotocols: []string{"a", "b"}})
			if c.Subprotocol() != "b" {
				t.Errorf("subprotocol %q", c.Subprotocol())
			}
			sendText(t, c, "one")
			wantText(t, c, "one")
			if on := g.Connections(); len(on) != 1 || on[0].Name != "C1" || on[0].Path != "/x?y=1" || on[0].Kind != "ws" {
				t.Errorf("connections: %+v", on)
			}
			sendText(t, c, "bye")
			_, _, err := c.Read(boundedContext(t))
			if websocket.CloseStatus(err) != 4001 || !strings.Contains(err.Error(), "enough") {
				t.Errorf("ended with %v", err)
			}
			g.awaitRecord("the end", func(r transcript.Record) bool { return r.Kind == transcript.Closed && r.Status == 4001 })
		})
	}
}

func TestSend(t *testing.T) {
	g := openGate(t, serve(t, echoMessages), nil)
	c := dial(t, g.URL(), nil)
	sendText(t, c, "one")
	wantText(t, c, "one")
	if err := g.Send(boundedContext(t), "C1", gate.Client, gate.Message{Body: []byte("from outside")}); err != nil {
		t.Fatal(err)
	}
	wantText(t, c, "from outside")
	if err := g.Send(boundedContext(t), "C1", gate.Server, gate.Message{Body: []byte("to the server")}); err != nil {
		t.Fatal(err)
	}
	wantText(t, c, "to the server")
	if err := g.Send(boundedContext(t), "C2", gate.Client, gate.Message{}); err == nil ||
		!strings.Contains(err.Error(), "C2") {
		t.Errorf("sent on a connection that does not exist: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.End("C1", driver.Graceful) }()
	_, _, err := c.Read(boundedContext(t))
	if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("ended with %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestDecisions(t *testing.T) {
	g := openGate(t, serve(t, echoMessages), func(o *gate.Options) {
		o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
			how := driver.Graceful
			switch {
			case m.Kind != transcript.Frame || m.From != gate.Client:
			case string(m.Body) == "drop":
				return gate.Decision{Drop: true}
			case string(m.Body) == "two":
				return gate.Decision{With: []gate.Message{{Body: []byte("2a")}, {Body: []byte("2b")}}}
			case string(m.Body) == "end":
				return gate.Decision{End: &how}
			}
			return gate.Decision{}
		}
	})
	c := dial(t, g.URL(), nil)
	sendText(t, c, "drop")
	sendText(t, c, "two")
	wantText(t, c, "2a")
	wantText(t, c, "2b")
	sendText(t, c, "end")
	if _, _, err := c.Read(boundedContext(t)); err == nil { // the echo may come first
		_, _, err = c.Read(boundedContext(t))
		if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("ended with %v", err)
		}
	}
}

func TestSocketAcceptedHere(t *testing.T) {
	g := openGate(t, nil, func(o *gate.Options) {
		o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
			if m.Kind == transcript.Open {
				return gate.Decision{Reply: &gate.Message{Status: 101, Header: http.Header{"Sec-Websocket-Protocol": {"a"}}}}
			}
			return gate.Decision{}
		}
	})
	c := dial(t, g.URL(), &websocket.DialOptions{Subprotocols: []string{"a"}})
	sendText(t, c, "hello")
	g.awaitRecord("what the client said", func(r transcript.Record) bool {
		return r.Dir == transcript.Received && string(r.Bytes) == "hello"
	})
	if err := g.Send(boundedContext(t), "C1", gate.Client, gate.Message{Body: []byte("welcome")}); err != nil {
		t.Fatal(err)
	}
	wantText(t, c, "welcome")
	read := c.CloseRead(t.Context())
	if err := c.Ping(boundedContext(t)); err != nil {
		t.Errorf("no answer to a ping: %v", err)
	}
	if err := c.Close(4002, "done"); err != nil {
		t.Errorf("no closing handshake: %v", err)
	}
	<-read.Done()
	g.awaitRecord("the end", func(r transcript.Record) bool { return r.Kind == transcript.Closed && r.Status == 4002 })
}

func dialWith(t *testing.T, url string, client *http.Client) *websocket.Conn {
	t.Helper()
	return dial(t, url, &websocket.DialOptions{HTTPClient: client})
}
