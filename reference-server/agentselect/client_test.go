package agentselect

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/llm"
	proto "parley/protocol/agentselect"
)

// patience is how long a test waits for an expected event.
const patience = time.Minute

// bench is a server on a loopback socket.
type bench struct {
	t      *testing.T
	server *Server
	brain  *llm.Brain
	url    string
	http   *http.Client
}

func startServer(t *testing.T, o Options) *bench {
	t.Helper()
	if o.Brain == nil {
		o.Brain = llm.New()
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	transport := &http.Transport{}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		web.Close()
		transport.CloseIdleConnections()
	})
	return &bench{t: t, server: s, brain: o.Brain, url: web.URL, http: &http.Client{Transport: transport}}
}

// object is a decoded JSON object.
type object = map[string]any

// doRequest sends a request and returns the status and the decoded response.
func (b *bench) doRequest(method, path string, body any, header ...string) (int, object) {
	b.t.Helper()
	var payload []byte
	switch v := body.(type) {
	case nil:
	case string:
		payload = []byte(v)
	default:
		var err error
		if payload, err = json.Marshal(v); err != nil {
			b.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, bytes.NewReader(payload))
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	var answer object
	_ = json.Unmarshal(data, &answer)
	return res.StatusCode, answer
}

// client is a client with an open stream.
type client struct {
	*bench
	id     string
	list   object // data of agent_list
	events <-chan object
	leave  func()
	sess   string
}

// connect opens a stream and reads the greeting.
func (b *bench) connect(query ...string) *client {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	b.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/events"+strings.Join(query, ""), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
		b.t.Fatalf("stream: status %d, content type %q", res.StatusCode, got)
	}
	events := make(chan object, 1024)
	go readEvents(res.Body, events)
	c := &client{bench: b, events: events, leave: cancel}
	connected, list := c.nextEvent(), c.nextEvent()
	if connected["type"] != "connected" || list["type"] != "agent_list" {
		b.t.Fatalf("greeting: %v, %v", connected, list)
	}
	c.id = data(connected)["connectionId"].(string)
	c.list = data(list)
	return c
}

func readEvents(body io.ReadCloser, events chan<- object) {
	defer close(events)
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if line, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var ev object
			if err := json.Unmarshal([]byte(line), &ev); err != nil {
				panic(err)
			}
			events <- ev
		}
	}
}

func data(ev object) object {
	d, _ := ev["data"].(object)
	return d
}

// nextEvent returns the next event.
func (c *client) nextEvent() object {
	c.t.Helper()
	select {
	case ev, open := <-c.events:
		if !open {
			c.t.Fatal("stream ended")
		}
		return ev
	case <-time.After(patience):
		c.t.Fatal("no event in time")
	}
	return nil
}

// readUntil reads up to an event of the type, and returns it with the events before it.
func (c *client) readUntil(kind string) (ev object, before []object) {
	c.t.Helper()
	for {
		ev := c.nextEvent()
		if ev["type"] == kind {
			return ev, before
		}
		before = append(before, ev)
	}
}

// wantEvent requires the next event to have the type and returns its data.
func (c *client) wantEvent(kind string) object {
	c.t.Helper()
	ev := c.nextEvent()
	if ev["type"] != kind {
		c.t.Fatalf("got %v, want %s", ev, kind)
	}
	return data(ev)
}

// wantNothing fails if any event precedes the reply to an unknown agent id.
func (c *client) wantNothing() {
	c.t.Helper()
	c.send(object{"type": "switch_agent", "agentId": "fence-1"})
	if _, before := c.readUntil("error"); len(before) > 0 {
		c.t.Fatalf("heard %v", before)
	}
}

func (c *client) send(msg object) {
	c.t.Helper()
	if status, answer := c.post(msg); status != 200 || answer["success"] != true {
		c.t.Fatalf("message %v: status %d, %v", msg, status, answer)
	}
}

func (c *client) post(msg object) (int, object) {
	c.t.Helper()
	if _, named := msg["connectionId"]; !named {
		msg["connectionId"] = c.id
	}
	return c.doRequest("POST", "/message", msg)
}

// create makes a session on the connection.
func (c *client) create() *client {
	c.t.Helper()
	status, answer := c.doRequest("POST", "/session/create", object{"connectionId": c.id})
	if status != 200 || answer["success"] != true {
		c.t.Fatalf("create: status %d, %v", status, answer)
	}
	c.sess = answer["session"].(object)["id"].(string)
	return c
}

func (c *client) load(session string) {
	c.t.Helper()
	status, answer := c.doRequest("POST", "/session/load", object{"connectionId": c.id, "sessionId": session})
	if status != 200 || answer["success"] != true {
		c.t.Fatalf("load: status %d, %v", status, answer)
	}
}

func (c *client) switchTo(id string) {
	c.t.Helper()
	c.send(object{"type": "switch_agent", "agentId": id})
}
func (c *client) chat(text string) { c.t.Helper(); c.send(object{"type": "chat", "content": text}) }

// wantSwitch requires the next event to report a switch.
func (c *client) wantSwitch(from, to string) {
	c.t.Helper()
	if d := c.wantEvent("agent_switched"); d["previousAgentId"] != from || d["currentAgentId"] != to {
		c.t.Fatalf("switched %v, want %s to %s", d, from, to)
	}
}

// wantRefusal requires the next event to be a refusal that lists the agents offered to the client.
func (c *client) wantRefusal(code string) object {
	c.t.Helper()
	d := c.wantEvent("error")
	if d["errorCode"] != code {
		c.t.Fatalf("refused with %v, want %s", d, code)
	}
	if ids := agentIDs(d["availableAgents"]); !slices.Contains(ids, proto.Debugger) {
		c.t.Fatalf("availableAgents %v", d["availableAgents"])
	}
	return d
}

func agentIDs(list any) (ids []string) {
	for _, a := range list.([]any) {
		ids = append(ids, a.(object)["id"].(string))
	}
	return ids
}
