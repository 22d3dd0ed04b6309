package relay

import (
	"net/http"
	"strings"
	"testing"

	proto "parley/protocol/externalagent"
)

// relay.joined repeats the role and sessionId as sent (EA-027 to EA-030).
func TestJoin(t *testing.T) {
	b := startServer(t, Options{})
	for _, role := range []string{"agent", "host", "frontend"} {
		for _, session := range []string{"default", " ", "\x00/../é😀", strings.Repeat("é", 100)} {
			p := b.dial()
			p.send(joining("join "+role, role, session))
			p.wantMessage(joined("join "+role, role, session))
			p.wantNothing()
		}
	}
	p := b.dial()
	p.send(joining("", "agent", "s"))
	p.wantMessage(joined("", "agent", "s"))
}

func TestBadJoin(t *testing.T) {
	p := startServer(t, Options{}).dial()
	for reason, text := range map[string]string{
		"no id":              `{"v":"mvp-0.2","type":"relay.join","payload":{"role":"agent","sessionId":"s"}}`,
		"no role":            `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"sessionId":"s"}}`,
		"role unknown":       `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"observer","sessionId":"s"}}`,
		"role in capitals":   `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"Agent","sessionId":"s"}}`,
		"role a list":        `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":["agent"],"sessionId":"s"}}`,
		"no sessionId":       `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"agent"}}`,
		"sessionid":          `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"agent","sessionid":"s"}}`,
		"sessionId empty":    `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"agent","sessionId":""}}`,
		"sessionId a number": `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"agent","sessionId":1}}`,
		"sessionId too long": `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"agent","sessionId":"` +
			strings.Repeat("x", MaxSessionID+1) + `"}}`,
		"payload an array":    `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":["agent","s"]}`,
		"members of envelope": `{"v":"mvp-0.2","type":"relay.join","id":"j","role":"agent","sessionId":"s","payload":{}}`,
		"another v":           `{"v":"mvp-0.3","type":"relay.join","id":"j","payload":{"role":"agent","sessionId":"s"}}`,
	} {
		t.Run(reason, func(t *testing.T) {
			p.t = t
			p.send(text)
			if id := any("j"); reason != "no id" {
				p.wantRefusal(id, proto.InvalidMessage)
			} else {
				p.wantRefusal(nil, proto.InvalidMessage)
			}
		})
	}
	p.t = t
	p.send(joining("j", "agent", "s"))
	p.wantMessage(joined("j", "agent", "s"))
}

// Before the join nothing is passed on, and the connection stays open (EA-025, EA-026).
func TestBeforeJoin(t *testing.T) {
	b := startServer(t, Options{})
	host, agent, p := b.join("host", "s"), b.join("agent", "s"), b.dial()
	for _, kind := range []string{"tool.call", "user.message", "relay.joined", "error", "session.pause"} {
		p.send(object{"v": "mvp-0.2", "type": kind, "id": "i", "payload": object{"sessionId": "s"}})
		p.wantRefusal("i", proto.SessionNotActive)
	}
	p.send(object{"v": "mvp-0.2", "type": "tool.call", "payload": object{}})
	p.wantRefusal(nil, proto.SessionNotActive)
	p.send("hello")
	p.wantRefusal(nil, proto.InvalidMessage)
	host.wantNothing()
	agent.wantNothing()
	p.send(joining("j", "agent", "s"))
	p.wantMessage(joined("j", "agent", "s"))
	p.send(agentRequest("i"))
	host.wantMessage(agentRequest("i"))
}

func TestJoinTwice(t *testing.T) {
	for way, join := range ways {
		t.Run(way, func(t *testing.T) {
			b := startServer(t, Options{})
			host, agent := join(b, "host", "s"), join(b, "agent", "s")
			for _, role := range []string{"host", "frontend"} {
				host.send(joining("again", role, "s"))
				host.wantMessage(joined("again", role, "s"))
			}
			agent.send(joining("again", "agent", "s"))
			agent.wantMessage(joined("again", "agent", "s"))
			for _, j := range []object{joining("o", "agent", "t"), joining("o", "host", "s"), joining("o", "guest", "s")} {
				agent.send(j)
				agent.wantRefusal("o", proto.InvalidMessage)
			}
			agent.send(agentRequest("i"))
			host.wantMessage(agentRequest("i"))
			host.send(hostMessage("once"))
			agent.wantMessage(hostMessage("once"))
			agent.wantNothing()
			host.wantNothing()
		})
	}
}

func TestHTTP(t *testing.T) {
	b := startServer(t, Options{Origins: []string{"https://example.org"}})
	for _, row := range []struct {
		path, origin string
		status       int
	}{
		{"/health", "", 200}, {"/health", "http://localhost:3000", 200}, {"/health", "https://example.org", 200},
		{"/health", "https://example.com", 403}, {"/agent/ws", "https://example.com", 403},
		{"/agent/ws", "", 426}, {"/", "", 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+row.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if row.origin != "" {
			req.Header.Set("Origin", row.origin)
		}
		res, err := b.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != row.status {
			t.Errorf("%s from %q: %d, want %d", row.path, row.origin, res.StatusCode, row.status)
		}
	}
}
