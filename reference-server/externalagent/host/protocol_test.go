package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	proto "parley/protocol/externalagent"
)

func envelope(kind, payload string) string {
	return fmt.Sprintf(`{"v":"mvp-0.2","type":%q,"id":"x","payload":%s}`, kind, payload)
}

// Anything but a valid envelope with a payload of its type gets INVALID_MESSAGE, with or without a session.
func TestInvalidMessages(t *testing.T) {
	p := startParty(t, Options{})
	refuse := func() {
		for _, text := range []string{
			envelope("tool.call", `[]`), envelope("tool.call", `null`), envelope("tool.call", `"next"`),
			`{"v":"mvp-0.2","type":"snapshot.get","id":"x"}`,
			`{"v":"mvp-0.1","type":"snapshot.get","id":"x","payload":{}}`,
			`{"type":"snapshot.get","id":"x","payload":{}}`, `{"v":2,"type":"snapshot.get","id":"x","payload":{}}`,
			`{"v":"mvp-0.2","id":"x","payload":{}}`, `{"v":"mvp-0.2","type":7,"id":"x","payload":{}}`,
			`{"v":"mvp-0.2","type":"snapshot.get","id":"x","replyTo":null,"payload":{}}`,
			`{"v":"mvp-0.2","Type":"snapshot.get","id":"x","payload":{}}`,
			envelope("snapshot.state", `{}`), envelope("dance", `{}`), envelope("relay.join", `{}`),
			envelope("session.start", `{}`), envelope("session.start", `{"studyId":"a"}`), envelope("session.start",
				`{"studyId":"a","participantId":7}`),
			envelope("tool.call", `{"params":{}}`), envelope("tool.call", `{"toolName":1,"params":{}}`),
			envelope("tool.call", `{"toolName":"next"}`), envelope("tool.call", `{"toolName":"next","params":[]}`),
			envelope("tool.call", `{"toolName":"next","params":{},"reason":null}`),
			envelope("agent.message", `{}`), envelope("agent.message", `{"text":1}`),
			envelope("session.end", `{}`), envelope("session.end", `{"reason":true}`),
		} {
			p.sendRaw(text)
			p.failure(proto.InvalidMessage, "x")
		}
		for _, text := range []string{
			``, `{`, `[]`, `null`, `"a"`, `{"v":"mvp-0.2"}{}`, "{\"v\":\"\xff\"}", `{"v":"mvp-0.2","v":"mvp-0.2"}`,
			`{"v":"mvp-0.2","type":"snapshot.get","id":5,"payload":{}}`, strings.Repeat(" ", 1<<20) + "{}",
		} {
			p.sendRaw(text)
			p.failure(proto.InvalidMessage, "")
		}
	}
	refuse()
	p.start()
	refuse()
	p.silent()
}

func TestSessionNotActive(t *testing.T) {
	p := startParty(t, Options{})
	refuse := func() {
		p.callRefused(proto.SessionNotActive, proto.Next, object{})
		p.failure(proto.SessionNotActive, p.send(proto.SnapshotGet, object{}))
		p.failure(proto.SessionNotActive, p.send(proto.AgentMessage, object{"text": "hello"}))
		p.failure(proto.SessionNotActive, p.send(proto.SessionEnd, object{"reason": ""}))
		if err := p.h.Say("hello"); !errors.Is(err, ErrNoSession) {
			t.Error(err)
		}
	}
	refuse()
	id := p.start()
	p.failure(proto.InvalidMessage, p.send(proto.SessionStart, object{"studyId": "a", "participantId": "b"}))
	if p.snapshot()["sessionId"] != id {
		t.Error("a second start ends the session")
	}
	p.end()
	refuse()
}

// Invalid params, derived from the schema, and the error in words.
func TestInvalidParams(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	says := func(want, tool string, params object) {
		t.Helper()
		if got := p.callRefused(proto.InvalidParams, tool, params); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	says("select requires itemId", proto.Select, object{})
	says("select requires itemId to be of type string", proto.Select, object{"itemId": 1})
	says("select requires itemId to be one of the values in toolSchema", proto.Select, object{"itemId": "m99"})
	says(`select takes no parameter "item"`, proto.Select, object{"itemId": "m1", "item": "m1"})
	says(`next takes no parameter "to"`, proto.Next, object{"to": "confirm"})
	says("sort requires order to be one of the values in toolSchema", proto.Sort, object{"attribute": "rating",
		"order": "up"})
	says("filter requires value to be of type string", proto.Filter, object{"attribute": "rating", "value": 8})
	says("filter requires value to have at most 100 characters", proto.Filter, object{"attribute": "rating",
		"value": strings.Repeat("x", 101)})
	says("postMessage requires text to have at least 1 characters", proto.PostMessage, object{"text": ""})
	says("postMessage requires text to have at most 4096 characters", proto.PostMessage,
		object{"text": strings.Repeat("x", 4097)})
	p.goToStage(proto.TicketStage)
	says("setQuantity requires quantity >= 0", proto.SetQuantity, object{"itemId": "adult", "quantity": -1})
	says("setQuantity requires quantity <= 8", proto.SetQuantity, object{"itemId": "adult", "quantity": 9})
	says("setQuantity requires quantity to be of type integer", proto.SetQuantity, object{"itemId": "adult",
		"quantity": 0.5})
	says("setQuantity requires quantity to be of type integer", proto.SetQuantity, object{"itemId": "adult",
		"quantity": "1"})
	for _, huge := range []string{"1e400", "-1e999999999", "1e-999999999"} {
		p.sendRaw(envelope("tool.call", `{"toolName":"setQuantity","params":{"itemId":"adult","quantity":`+huge+`}}`))
		if msg := p.nextMessage(); huge != "1e-999999999" && msg.Payload()["code"] != proto.InvalidParams {
			t.Errorf("%s: %v", huge, msg)
		} else if msg.Type() == proto.ToolResult {
			p.nextUpdate()
		}
	}
	if q := spec(p.snapshot())["quantities"].(object)["adult"]; q != 0.0 {
		t.Errorf("quantity is %v", q)
	}
}

func TestUnknownTools(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	p.callRefused(proto.UnknownTool, "teleport", object{})
	p.callRefused(proto.UnknownTool, "", object{})
	p.callRefused(proto.UnknownTool, proto.Prev, object{}) // known, but not announced here
	p.callRefused(proto.UnknownTool, proto.SetQuantity, object{"itemId": "adult", "quantity": 1})
	p.goToStage(proto.TicketStage)
	p.callRefused(proto.UnknownTool, proto.Select, object{"itemId": "adult"})
	p.goToStage(proto.ConfirmStage)
	p.callRefused(proto.UnknownTool, proto.Filter, object{"attribute": "price", "value": ""})
	p.silent()
}

// Requests without an id are handled; their replies have no replyTo.
func TestWithoutID(t *testing.T) {
	p := startParty(t, Options{})
	p.sendRaw(`{"v":"mvp-0.2","type":"session.start","payload":{"studyId":"a","participantId":"b"}}`)
	p.expectType(proto.SessionStarted, "")
	p.nextUpdate()
	p.sendRaw(`{"v":"mvp-0.2","type":"tool.call","payload":{"toolName":"postMessage","params":{"text":"hi"}}}`)
	p.expectType(proto.ToolResult, "")
	if got := history(p.nextUpdate()); !slices.Equal(got, []string{"assistant: hi"}) {
		t.Errorf("%v", got)
	}
	p.sendRaw(`{"v":"mvp-0.2","type":"tool.call","payload":{"toolName":"fly","params":{}}}`)
	p.failure(proto.UnknownTool, "")
	p.sendRaw(`{"v":"mvp-0.2","type":"error","payload":{"code":"SESSION_NOT_ACTIVE","message":"of the relay"}}`)
	p.sendRaw(`{"v":"mvp-0.2","type":"relay.joined","payload":{"role":"host","sessionId":"default"}}`)
	p.silent()
}

// The history shows who said what; only the participant's words also get their own message, with the stage.
func TestChat(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	p.send(proto.AgentMessage, object{"text": "next"})
	state := p.nextUpdate()
	if spec(state)["stage"] != proto.MovieStage || !slices.Equal(history(state), []string{"agent: next"}) {
		t.Errorf("%v", state)
	}
	p.goToStage(proto.TimeStage)
	if err := p.h.Say("I prefer evening showtimes."); err != nil {
		t.Fatal(err)
	}
	if got := p.expectType(proto.UserMessage, ""); got["text"] != "I prefer evening showtimes." ||
		got["stage"] != proto.TimeStage {
		t.Errorf("%v", got)
	}
	state = p.nextUpdate()
	entry := state["messageHistory"].([]any)[1].(object)
	if entry["role"] != "user" || entry["stage"] != proto.TimeStage ||
		entry["timestamp"] != "2026-02-13T10:22:17.123Z" || entry["id"] != "msg-2" {
		t.Errorf("%v", entry)
	}
	if got := fmt.Sprint(p.snapshot()["messageHistory"]); got != fmt.Sprint(state["messageHistory"]) {
		t.Errorf("snapshot %s", got)
	}
}

func TestChatLimits(t *testing.T) {
	p := startParty(t, Options{Limits: Limits{Text: 64, History: 4}})
	p.start()
	long := strings.Repeat("x", 65)
	p.failure(proto.InvalidMessage, p.send(proto.AgentMessage, object{"text": long}))
	p.callRefused(proto.InvalidParams, proto.PostMessage, object{"text": long})
	for _, text := range []string{long, ""} {
		if err := p.h.Say(text); !errors.Is(err, ErrText) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for range 4 {
		p.callAndRead(proto.PostMessage, object{"text": "a"})
	}
	p.callRefused(proto.ToolExecutionFailed, proto.PostMessage, object{"text": "a"})
	p.failure(proto.InvalidMessage, p.send(proto.AgentMessage, object{"text": "a"}))
	if err := p.h.Say("a"); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	p.goToStage(proto.ConfirmStage)
	if got := history(p.callAndRead(proto.Next, object{})); len(got) != 5 {
		t.Errorf("there is no place for the receipt: %v", got)
	}
}

// A state must fit into a frame of a relay, whatever it contains.
func TestLargestState(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	p.goToStage(proto.SeatStage)
	largest := 0
	for text := strings.Repeat("\x01", 16<<10); text != ""; text = text[:len(text)/2] {
		for p.h.Say(text) == nil {
			p.expectType(proto.UserMessage, "")
			largest = max(largest, len(<-p.conn.out))
		}
	}
	if p.silent(); largest > 1<<20 {
		t.Errorf("a state of %d bytes", largest)
	}
}
