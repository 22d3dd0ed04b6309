package agentselect

import (
	"regexp"
	"slices"
	"testing"

	proto "parley/protocol/agentselect"
)

func TestGreeting(t *testing.T) {
	c := start(t, Options{}).connect("?agentId=debugger") // AS-021: no effect
	if got := agentIDs(c.list["agents"]); !slices.Equal(got, proto.BuiltinIDs) {
		t.Errorf("agents %v", got)
	}
	if c.list["currentAgentId"] != "general" {
		t.Errorf("currentAgentId %v", c.list["currentAgentId"])
	}
	c.create().switchTo("debugger")
	ev := c.next()
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
	c := start(t, Options{}).connect().create()
	c.switchTo("debugger")
	c.switched("general", "debugger")
	for _, row := range rows {
		c.send(object{"type": "switch_agent", "agentId": row.agentID})
		if d := c.refused(row.code); d["message"] != row.message {
			t.Errorf("%s: message %q", row.reason, d["message"])
		}
	}
	c.send(object{"type": "switch_agent"})
	c.refused("invalid_agent_id")
	body := `{"type":"switch_agent","connectionId":"` + c.id + `","agentId":1e999}`
	if status, _ := c.do("POST", "/message", body); status != 200 {
		t.Errorf("large number: status %d", status)
	}
	c.refused("invalid_agent_id_format")
	c.switchTo("general")
	c.switched("debugger", "general")
}

func TestSessionOfASwitch(t *testing.T) {
	b := start(t, Options{})
	a, other := b.connect(), b.connect().create()
	a.switchTo("debugger")
	a.refused("session_not_found") // AS-104
	a.create()
	for _, id := range []any{"nobody", "", nil, 7, true, []string{a.sess}} {
		a.send(object{"type": "switch_agent", "agentId": "debugger", "sessionId": id})
		a.refused("session_not_found") // AS-091
	}
	a.switchTo("debugger")
	a.switched("general", "debugger")
	other.quiet() // AS-059

	// A session that another connection has open is switched there (AS-095).
	a.send(object{"type": "switch_agent", "agentId": "requirement_analyzer", "sessionId": other.sess})
	other.switched("general", "requirement_analyzer")
	a.quiet()
}

func TestSecondSessionOfAConnection(t *testing.T) {
	c := start(t, Options{}).connect().create()
	older := c.sess
	c.switchTo("debugger")
	c.switched("general", "debugger")
	c.create().switchTo("requirement_analyzer")
	c.switched("general", "requirement_analyzer")
	c.send(object{"type": "switch_agent", "agentId": "general", "sessionId": older})
	c.switched("debugger", "general")
}

func TestLoadMovesTheSession(t *testing.T) {
	b := start(t, Options{})
	a, other := b.connect().create(), b.connect()
	a.chat("[[hold move]]")
	a.want("message")
	other.load(a.sess)
	b.brain.Release("move")
	ev, _ := other.until("complete") // later events of the turn arrive here
	if data(ev)["sessionId"] != a.sess {
		t.Errorf("complete %v", ev)
	}
	other.switchTo("debugger")
	other.switched("general", "debugger")
	a.switchTo("debugger")
	a.refused("session_not_found") // AS-094: unbound
	a.quiet()
}

func TestSessionSurvivesItsConnection(t *testing.T) {
	b := start(t, Options{})
	a := b.connect().create()
	a.switchTo("debugger")
	a.switched("general", "debugger")
	a.leave()
	next := b.connect()
	next.load(a.sess)
	next.switchTo("general")
	next.switched("debugger", "general")
}

func TestAnswerStandsOnTheStreamBeforeTheHTTPAnswer(t *testing.T) {
	c := start(t, Options{}).connect().create()
	for range 50 {
		c.switchTo("debugger")
		// The bytes were written before the HTTP response, but the reading goroutine may not have run yet, so this only
		// shows that the event is the next one.
		c.want("agent_switched")
	}
}

func TestInitialAgent(t *testing.T) {
	c := start(t, Options{}).connect()
	for _, bad := range []any{"nobody", "Debugger", "", 7, nil} {
		status, answer := c.do("POST", "/session/create", object{"connectionId": c.id, "initialAgentId": bad})
		if status != 400 || answer["success"] != false {
			t.Errorf("%v: status %d, %v", bad, status, answer)
		}
	}
	status, _ := c.do("POST", "/session/create", object{"connectionId": c.id, "initialAgentId": "debugger"})
	if status != 200 {
		t.Fatalf("status %d", status)
	}
	c.switchTo("general")
	c.switched("debugger", "general")
}
