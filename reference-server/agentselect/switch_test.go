package agentselect

import (
	"regexp"
	"slices"
	"testing"

	proto "parley/protocol/agentselect"
)

func TestGreeting(t *testing.T) {
	c := startServer(t, Options{}).connect("?agentId=debugger") // AS-021: no effect
	if got := agentIDs(c.list["agents"]); !slices.Equal(got, proto.BuiltinIDs) {
		t.Errorf("agents %v", got)
	}
	if c.list["currentAgentId"] != "general" {
		t.Errorf("currentAgentId %v", c.list["currentAgentId"])
	}
	c.create().switchTo("debugger")
	ev := c.nextEvent()
	if d := data(ev); d["previousAgentId"] != "general" || d["agentName"] != "Debugger" {
		t.Errorf("switched %v", d)
	}
	if at, _ := ev["timestamp"].(string); !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(at) {
		t.Errorf("timestamp %q", at)
	}
}

func TestRefusals(t *testing.T) {
	rows := []struct {
		reason  string
		agentID any
		code    string
		message string
	}{
		{"empty", "", "invalid_agent_id", "agentId cannot be empty"},
		{"null counts as missing", nil, "invalid_agent_id", "agentId cannot be empty"},
		{"illegal character", "Agent@123", "invalid_agent_id_format", proto.FormatIDText},
		{"upper case alone", "Debugger", "invalid_agent_id_format", proto.FormatIDText},
		{"not trimmed", " debugger", "invalid_agent_id_format", proto.FormatIDText},
		{"line end at the end", "debugger\n", "invalid_agent_id_format", proto.FormatIDText},
		{"letter beyond ASCII", "débugger", "invalid_agent_id_format", proto.FormatIDText},
		{"number", 7, "invalid_agent_id_format", proto.FormatIDText},
		{"array of a legal id", []string{"debugger"}, "invalid_agent_id_format", proto.FormatIDText},
		{"unknown", "hacker", "agent_not_found", "Invalid agent ID: hacker"},
		{"unknown and long", "a-very-long-id-of_more_than_16", "agent_not_found",
			"Invalid agent ID: a-very-long-id-of_more_than_16"},
	}
	c := startServer(t, Options{}).connect().create()
	c.switchTo("debugger")
	c.wantSwitch("general", "debugger")
	for _, row := range rows {
		c.send(object{"type": "switch_agent", "agentId": row.agentID})
		if d := c.wantRefusal(row.code); d["message"] != row.message {
			t.Errorf("%s: message %q", row.reason, d["message"])
		}
	}
	c.send(object{"type": "switch_agent"})
	c.wantRefusal("invalid_agent_id")
	body := `{"type":"switch_agent","connectionId":"` + c.id + `","agentId":1e999}`
	if status, _ := c.doRequest("POST", "/message", body); status != 200 {
		t.Errorf("large number: status %d", status)
	}
	c.wantRefusal("invalid_agent_id_format")
	c.switchTo("general")
	c.wantSwitch("debugger", "general")
}

func TestSessionOfASwitch(t *testing.T) {
	b := startServer(t, Options{})
	a, other := b.connect(), b.connect().create()
	a.switchTo("debugger")
	a.wantRefusal("session_not_found") // AS-104
	a.create()
	for _, id := range []any{"nobody", "", nil, 7, true, []string{a.sess}} {
		a.send(object{"type": "switch_agent", "agentId": "debugger", "sessionId": id})
		a.wantRefusal("session_not_found") // AS-091
	}
	a.switchTo("debugger")
	a.wantSwitch("general", "debugger")
	other.wantNothing() // AS-059

	// A session that another connection has open is switched there (AS-095).
	a.send(object{"type": "switch_agent", "agentId": "requirement_analyzer", "sessionId": other.sess})
	other.wantSwitch("general", "requirement_analyzer")
	a.wantNothing()
}

func TestSecondSessionOfAConnection(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	older := c.sess
	c.switchTo("debugger")
	c.wantSwitch("general", "debugger")
	c.create().switchTo("requirement_analyzer")
	c.wantSwitch("general", "requirement_analyzer")
	c.send(object{"type": "switch_agent", "agentId": "general", "sessionId": older})
	c.wantSwitch("debugger", "general")
}

func TestLoadMovesTheSession(t *testing.T) {
	b := startServer(t, Options{})
	a, other := b.connect().create(), b.connect()
	a.chat("[[hold move]]")
	a.wantEvent("message")
	other.load(a.sess)
	b.brain.Release("move")
	ev, _ := other.readUntil("complete") // later events of the turn arrive here
	if data(ev)["sessionId"] != a.sess {
		t.Errorf("complete %v", ev)
	}
	other.switchTo("debugger")
	other.wantSwitch("general", "debugger")
	a.switchTo("debugger")
	a.wantRefusal("session_not_found") // AS-094: unbound
	a.wantNothing()
}

func TestSessionSurvivesItsConnection(t *testing.T) {
	b := startServer(t, Options{})
	a := b.connect().create()
	a.switchTo("debugger")
	a.wantSwitch("general", "debugger")
	a.leave()
	next := b.connect()
	next.load(a.sess)
	next.switchTo("general")
	next.wantSwitch("debugger", "general")
}

func TestAnswerStandsOnTheStreamBeforeTheHTTPAnswer(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	for range 50 {
		c.switchTo("debugger")
		// The bytes were written before the HTTP response, but the reading goroutine may not have run yet, so this only
		// shows that the event is the next one.
		c.wantEvent("agent_switched")
	}
}

func TestInitialAgent(t *testing.T) {
	c := startServer(t, Options{}).connect()
	for _, bad := range []any{"nobody", "Debugger", "", 7, nil} {
		status, answer := c.doRequest("POST", "/session/create", object{"connectionId": c.id, "initialAgentId": bad})
		if status != 400 || answer["success"] != false {
			t.Errorf("%v: status %d, %v", bad, status, answer)
		}
	}
	status, _ := c.doRequest("POST", "/session/create", object{"connectionId": c.id, "initialAgentId": "debugger"})
	if status != 200 {
		t.Fatalf("status %d", status)
	}
	c.switchTo("general")
	c.wantSwitch("debugger", "general")
}
