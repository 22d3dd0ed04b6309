package agentselect

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/internal/llm"
)

// requests awaits n recorded model calls of a nonce.
func (b *bench) requests(nonce string, n int) []llm.Request {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	got, err := b.brain.Await(ctx, nonce, n)
	if err != nil {
		b.t.Fatalf("await %d requests of %s: %v", n, nonce, err)
	}
	return got
}

func TestTurn(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	c.chat("[[stream s1 3]]")
	var said strings.Builder
	for range 3 {
		d := c.wantEvent("message")
		if d["role"] != "assistant" || d["streaming"] != true {
			t.Errorf("part %v", d)
		}
		said.WriteString(d["content"].(string))
	}
	if d := c.wantEvent("message"); d["content"] != said.String() || d["streaming"] != false {
		t.Errorf("message %v, parts were %q", d, said.String())
	}
	if d := c.wantEvent("complete"); d["sessionId"] != c.sess || d["cancelled"] != nil {
		t.Errorf("complete %v", d)
	}
	got := c.requests("s1", 1)[0]
	if general := Builtins()[0]; got.System != general.Prompt || !slices.Equal(got.Tools, general.Tools) {
		t.Errorf("request %+v", got)
	}
}

// A model that produces output faster than the stream can be written fills no queue.
func TestFastModel(t *testing.T) {
	c := startServer(t, Options{Limits: Limits{Queue: 4}}).connect().create()
	c.chat("[[stream fast 500]]")
	if _, before := c.readUntil("complete"); len(before) != 501 {
		t.Errorf("%d messages", len(before))
	}
}

func TestHistoryGoesOn(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	for _, text := range []string{"[[echo r1]]", "[[echo r2]]", "[[recall r3]]"} {
		c.chat(text)
		c.readUntil("complete")
	}
	texts := []string{}
	for _, m := range c.requests("r3", 1)[0].Messages {
		texts = append(texts, m.Role)
	}
	if !slices.Equal(texts, []string{"user", "assistant", "user", "assistant", "user"}) {
		t.Errorf("roles %v", texts)
	}
}

func TestRunningTurnIsBusy(t *testing.T) {
	b := startServer(t, Options{})
	c, other := b.connect().create(), b.connect().create()
	c.chat("[[hold h1]]")
	c.wantEvent("message")
	c.switchTo("debugger")
	c.wantRefusal("agent_busy") // AS-066
	other.switchTo("debugger")
	other.wantSwitch("general", "debugger") // AS-112
	c.chat("more")
	if d := c.wantEvent("error"); d["errorCode"] != nil {
		t.Errorf("chat while busy: %v", d)
	}
	b.brain.Release("h1")
	c.readUntil("complete")
	c.switchTo("debugger")
	c.wantSwitch("general", "debugger")
}

func TestAbort(t *testing.T) {
	for _, text := range []string{
		"[[hold ab]]", `[[tool ab run_command {"command":"ls"}]]`, `[[tool ab ask_user {"question":"which?"}]]`,
	} {
		c := startServer(t, Options{}).connect().create()
		c.chat(text)
		c.nextEvent() // output or a request
		c.send(object{"type": "abort", "sessionId": c.sess})
		ev, _ := c.readUntil("complete")
		if d := data(ev); d["cancelled"] != true || d["sessionId"] != c.sess {
			t.Errorf("%s: complete %v", text, d)
		}
		c.switchTo("debugger")
		c.wantSwitch("general", "debugger") // AS-068
		c.wantNothing()
	}
}

func TestAbortOfAnIdleSession(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	c.send(object{"type": "abort", "sessionId": c.sess})
	c.wantNothing()
	c.send(object{"type": "abort", "sessionId": "nobody"})
	c.wantEvent("error")
}

func TestConfirmation(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	c.chat(`[[tool c1 run_command {"command":"ls"}]]`)
	ev, _ := c.readUntil("tool_confirmation_request")
	d := data(ev)
	if d["toolName"] != "run_command" || d["sessionId"] != c.sess || d["arguments"].(object)["command"] != "ls" {
		t.Errorf("request %v", ev)
	}
	c.server.mu.Lock()
	running, pending := c.server.m.Running(c.sess), c.server.m.Pending(c.sess)
	c.server.mu.Unlock()
	if running || len(pending) != 1 {
		t.Errorf("running %v, pending %v: the pending interaction alone makes the session busy (AS-110)", running, pending)
	}
	c.switchTo("debugger")
	c.wantRefusal("agent_busy") // AS-065

	// A response of another kind, or to another request, is rejected.
	c.send(object{"type": "user_question_response", "requestId": ev["requestId"], "response": true})
	c.wantEvent("error")
	c.send(object{"type": "tool_confirmation_response", "requestId": "req_none", "response": true})
	c.wantEvent("error")
	c.send(object{"type": "tool_confirmation_response", "requestId": ev["requestId"], "response": true})
	c.readUntil("complete")

	got := c.requests("c1", 2)
	last := got[1].Messages[len(got[1].Messages)-1]
	if last.Role != llm.RoleTool || !strings.Contains(last.Text, "approved") {
		t.Errorf("tool result %+v", last)
	}
	if got[0].System != got[1].System || !slices.Equal(got[0].Tools, got[1].Tools) {
		t.Error("configuration changed within the turn (AS-062)")
	}
	c.switchTo("debugger")
	c.wantSwitch("general", "debugger")
}

func TestQuestion(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	c.chat(`[[tool q1 ask_user {"question":"which?","options":["a","b"]}]]`)
	ev, _ := c.readUntil("user_question_request")
	if d := data(ev); d["question"] != "which?" || d["sessionId"] != c.sess {
		t.Errorf("request %v", ev)
	}
	c.send(object{"type": "user_question_response", "requestId": ev["requestId"], "response": object{"selected": "b"}})
	c.readUntil("complete")
	got := c.requests("q1", 2)[1].Messages
	if text := got[len(got)-1].Text; !strings.Contains(text, `{"selected":"b"}`) {
		t.Errorf("tool result %q", text)
	}
}

func TestOnlyTheOwnerAnswers(t *testing.T) {
	b := startServer(t, Options{})
	c, other := b.connect().create(), b.connect().create()
	c.chat(`[[tool o1 ask_user {}]]`)
	ev, _ := c.readUntil("user_question_request")
	other.send(object{"type": "user_question_response", "requestId": ev["requestId"], "response": "x"})
	other.wantEvent("error")
	c.wantNothing()
}

func TestForbiddenToolIsNotAsked(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	c.chat(`[[tool f1 inspect_process {}]]`) // a debugger's tool
	if _, before := c.readUntil("complete"); len(before) == 0 {
		t.Error("no message")
	}
	got := c.requests("f1", 2)[1].Messages
	if text := got[len(got)-1].Text; !strings.Contains(text, "not permitted") {
		t.Errorf("tool result %q", text)
	}
}

func TestModelFailure(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	c.chat("[[fail x1 503]]")
	if d := c.wantEvent("error"); d["errorCode"] != nil || !strings.Contains(d["message"].(string), "503") {
		t.Errorf("error %v", d)
	}
	if d := c.wantEvent("complete"); d["sessionId"] != c.sess {
		t.Errorf("complete %v", d)
	}
	c.switchTo("debugger")
	c.wantSwitch("general", "debugger")
}

func TestConfigurationFollowsTheSwitch(t *testing.T) {
	c := startServer(t, Options{}).connect().create()
	c.switchTo("debugger")
	c.wantSwitch("general", "debugger")
	c.chat("[[echo n1]]")
	c.readUntil("complete")
	got := c.requests("n1", 1)[0]
	if debugger := Builtins()[2]; got.System != debugger.Prompt || !slices.Equal(got.Tools, debugger.Tools) {
		t.Errorf("request %+v", got)
	}
}
