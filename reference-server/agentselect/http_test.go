package agentselect

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestBadRequests(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{Body: 1 << 10}})
	c := b.connect().create()
	rows := []struct {
		reason       string
		method, path string
		body         any
		status       int
	}{
		{"no connection", "POST", "/message", object{"type": "switch_agent", "agentId": "debugger"}, 400},
		{"unknown connection", "POST", "/message",
			object{"type": "switch_agent", "agentId": "debugger", "connectionId": "conn_x"}, 400},
		{"connection not a string", "POST", "/message", object{"type": "chat", "content": "x", "connectionId": 7}, 400},
		{"unknown type", "POST", "/message", object{"type": "get_agents", "connectionId": c.id}, 400},
		{"no type", "POST", "/message", object{"connectionId": c.id}, 400},
		{"type not a string", "POST", "/message", object{"type": []int{1}, "connectionId": c.id}, 400},
		{"chat without content", "POST", "/message", object{"type": "chat", "connectionId": c.id}, 400},
		{"not JSON", "POST", "/message", "{", 400},
		{"not an object", "POST", "/message", "[]", 400},
		{"null", "POST", "/message", "null", 400},
		{"nothing", "POST", "/message", nil, 400},
		{"a repeated key", "POST", "/message", `{"type":"chat","type":"abort","connectionId":"` + c.id + `"}`, 400},
		{"keys are case sensitive", "POST", "/message", object{"Type": "abort", "connectionId": c.id}, 400},
		{"too long", "POST", "/message", `{"type":"` + strings.Repeat("x", 2<<10) + `"}`, 413},
		{"create without connection", "POST", "/session/create", object{}, 400},
		{"load without session", "POST", "/session/load", object{"connectionId": c.id}, 400},
		{"load of an unknown session", "POST", "/session/load", object{"connectionId": c.id, "sessionId": "nobody"}, 404},
		{"delete of an unknown session", "DELETE", "/session/nobody", nil, 404},
		{"stream by POST", "POST", "/events", object{}, 405},
		{"unknown path", "GET", "/nothing", nil, 404},
	}
	for _, row := range rows {
		status, answer := b.doRequest(row.method, row.path, row.body)
		if status != row.status || answer["success"] == true {
			t.Errorf("%s: status %d, %v", row.reason, status, answer)
		}
	}
	c.wantNothing()
}

func TestMessageByItsSession(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	for _, conn := range []string{"", "conn_x"} { // the session identifies the connection
		c.send(object{"type": "switch_agent", "agentId": "debugger", "sessionId": c.sess, "connectionId": conn})
		c.wantEvent("agent_switched")
	}
}

func TestSessionsListedAndDeleted(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	c.chat(`[[tool d1 ask_user {}]]`)
	c.readUntil("user_question_request")
	_, answer := c.doRequest("GET", "/session/list", nil)
	if list := answer["sessions"].([]any); len(list) != 1 || list[0].(object)["id"] != c.sess {
		t.Errorf("list %v", answer)
	}
	if status, _ := c.doRequest("DELETE", "/session/"+c.sess, nil); status != 200 {
		t.Errorf("delete: status %d", status)
	}
	if d := c.wantEvent("complete"); d["cancelled"] != true {
		t.Errorf("complete %v", d)
	}
	c.switchTo("debugger")
	c.wantRefusal("session_not_found")
	if _, answer = c.doRequest("GET", "/session/list", nil); len(answer["sessions"].([]any)) != 0 {
		t.Errorf("list %v", answer)
	}
}

func TestHealth(t *testing.T) {
	if status, answer := startServer(t, Options{}).doRequest("GET", "/health", nil); status != 200 ||
		answer["status"] != "ok" {
		t.Errorf("status %d, %v", status, answer)
	}
}

func TestOrigin(t *testing.T) {
	strict := startServer(t, Options{})
	open := startServer(t, Options{AllowOrigins: []string{"null", "https://tool.example"}})
	rows := []struct {
		origin       string
		strict, open int
	}{
		{"http://localhost:3000", 200, 200},
		{"http://127.0.0.1:1", 200, 200},
		{"http://[::1]:1", 200, 200},
		{"null", 403, 200},
		{"https://tool.example", 403, 200},
		{"https://evil.example", 403, 403},
		{"http://localhost.evil.example", 403, 403},
		{"http://127.0.0.1.evil.example", 403, 403},
		{"", 403, 403},
	}
	for _, row := range rows {
		for b, want := range map[*bench]int{strict: row.strict, open: row.open} {
			if status, _ := b.doRequest("GET", "/health", nil, "Origin", row.origin); status != want {
				t.Errorf("origin %q: status %d, want %d", row.origin, status, want)
			}
		}
	}
	if status, _ := strict.doRequest("OPTIONS", "/message", nil, "Origin", "http://localhost:1"); status != 204 {
		t.Errorf("preflight: status %d", status)
	}
}

func TestLimits(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{Connections: 1, Sessions: 2}})
	c := b.connect().create().create()
	if status, _ := b.doRequest("GET", "/events", nil); status != 503 {
		t.Errorf("second connection: status %d", status)
	}
	if status, _ := c.doRequest("POST", "/session/create", object{"connectionId": c.id}); status != 503 {
		t.Errorf("third session: status %d", status)
	}
	c.doRequest("DELETE", "/session/"+c.sess, nil)
	c.create()
}

func TestHistoryIsBounded(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{History: 4}})
	c := b.connect().create()
	for range 5 {
		c.chat("[[echo b1]]")
		c.readUntil("complete")
	}
	for _, r := range b.requests("b1", 5) {
		if len(r.Messages) > 4 || r.Messages[0].Role != "user" {
			t.Errorf("%d messages, first %+v", len(r.Messages), r.Messages[0])
		}
	}
}

// A client that does not read loses its connection when its queue is full, without delaying any other.
func TestSlowReader(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{Queue: 8, Write: patience}})
	raw, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	io.WriteString(raw, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
	lines := bufio.NewScanner(raw)
	var id string
	for id == "" && lines.Scan() {
		if _, rest, found := strings.Cut(lines.Text(), `"connectionId":"`); found {
			id, _, _ = strings.Cut(rest, `"`)
		}
	}
	slow := b.server.m.conns.Get(id)
	if slow == nil {
		t.Fatalf("connection %q", id)
	}
	large := Event{Type: "message", Data: EventData{"content": strings.Repeat("x", 1<<20)}}
	for range 64 {
		b.server.queueEvent(id, large, nil)
	}
	select {
	case <-slow.Context().Done():
	case <-time.After(patience):
		t.Fatal("still connected")
	}
	b.connect().create().wantNothing()
}

func TestCloseEndsStreamsAndTurns(t *testing.T) {
	b := startServer(t, Options{})
	c := b.connect().create()
	c.chat("[[hold z1]]")
	c.wantEvent("message")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.server.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for range c.events {
	}
	if status, _ := b.doRequest("GET", "/events", nil); status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
}

// Messages that arrive before agent_list has been written wait for it (AS-106).
func TestMessagesWaitForTheList(t *testing.T) {
	b := startServer(t, Options{})
	c := newConn(t.Context(), ConnInfo{ID: "conn_early"}, DefaultLimits)
	if err := b.server.m.conns.Add("conn_early", c); err != nil {
		t.Fatal(err)
	}
	defer b.server.m.conns.Remove("conn_early")
	answered := make(chan int, 1)
	go func() {
		status, _ := b.doRequest("POST", "/session/create", object{"connectionId": "conn_early"})
		answered <- status
	}()
	select {
	case status := <-answered:
		t.Fatalf("answered with %d before the list", status)
	default:
	}
	if len(b.server.m.Sessions()) != 0 {
		t.Error("session created before the list")
	}
	c.End(nil)
	if status := <-answered; status != 400 {
		t.Errorf("status %d", status)
	}
}
