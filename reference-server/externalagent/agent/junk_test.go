package agent

import (
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
)

// junkMessages returns frames that the agent must ignore.
func junkMessages() []Event {
	text := func(s string) Event { return eventOf(websocket.MessageText, []byte(s)) }
	state := `"payload":{"source":"host","uiSpec":{"stage":"junk","items":[]},"messageHistory":[],` +
		`"toolSchema":[{"name":"junk","parameters":{}}]}`
	return []Event{
		eventOf(websocket.MessageBinary, []byte(`{"v":"mvp-0.2","type":"state.updated",`+state+`}`)),
		text(``), text(`{`), text(`nul`), text(`null`), text(`7`), text(`"tool.result"`), text(`true`), text(`[]`),
		text(`[{"v":"mvp-0.2","type":"state.updated",` + state + `}]`),
		text("{\"v\":\"mvp-0.2\",\"type\":\"user.message\",\"payload\":{\"text\":\"\xff\"}}"),
		text(`{"v":"mvp-0.2","type":"state.updated","type":"user.message",` + state + `}`),
		text(`{}`), text(`{"type":"state.updated",` + state + `}`),
		text(`{"v":"mvp-0.1","type":"state.updated",` + state + `}`), text(`{"v":0.2,"type":"state.updated",` + state + `}`),
		text(`{"V":"mvp-0.2","type":"state.updated",` + state + `}`), text(`{"v":"mvp-0.2","Type":"state.updated",` +
			state + `}`),
		text(`{"v":"mvp-0.2","type":7,` + state + `}`), text(`{"v":"mvp-0.2",` + state + `}`),
		text(`{"v":"mvp-0.2","type":"state.updated","id":7,` + state + `}`),
		text(`{"v":"mvp-0.2","type":"state.updated"}`), text(`{"v":"mvp-0.2","type":"state.updated","payload":null}`),
		text(`{"v":"mvp-0.2","type":"state.updated","payload":[]}`),
		text(`{"v":"mvp-0.2","type":"state.updated","payload":{}}`),
		text(`{"v":"mvp-0.2","type":"state.updated","payload":{"uiSpec":[],"toolSchema":[],"messageHistory":[]}}`),
		text(`{"v":"mvp-0.2","type":"state.updated","payload":{"uiSpec":null,"toolSchema":{},"messageHistory":[]}}`),
		text(`{"v":"mvp-0.2","type":"relay.joined","payload":{"role":"agent","sessionId":"default"}}`),
		text(`{"v":"mvp-0.2","type":"relay.joined","replyTo":"join-999","payload":{}}`),
		text(`{"v":"mvp-0.2","type":"session.started","replyTo":"req-999","payload":{"sessionId":"s-666"}}`),
		text(`{"v":"mvp-0.2","type":"snapshot.state","replyTo":"req-999",` + state + `}`),
		text(`{"v":"mvp-0.2","type":"snapshot.state","replyTo":"",` + state + `}`),
		text(`{"v":"mvp-0.2","type":"snapshot.state","replyTo":"join-001",` + state + `}`),
		text(`{"v":"mvp-0.2","type":"tool.result","replyTo":"req-999","payload":{"ok":false}}`),
		text(`{"v":"mvp-0.2","type":"tool.result","replyTo":"req-002","payload":{"ok":true}}`),
		text(`{"v":"mvp-0.2","type":"tool.result","payload":{"ok":true}}`),
		text(`{"v":"mvp-0.2","type":"session.ended","replyTo":"req-999","payload":{"stateReset":true}}`),
		text(`{"v":"mvp-0.2","type":"session.ended","payload":{"stateReset":true}}`),
		text(`{"v":"mvp-0.2","type":"error","payload":{"code":"SESSION_NOT_ACTIVE","message":"of nobody"}}`),
		text(`{"v":"mvp-0.2","type":"error","replyTo":"req-999","payload":{"code":"NO_ACTIVE_SPEC","message":"of another"}}`),
		text(`{"v":"mvp-0.2","type":"error","payload":{}}`),
		text(`{"v":"mvp-0.2","type":"user.message","payload":{"text":7}}`),
		text(`{"v":"mvp-0.2","type":"agent.joined","payload":{}}`), text(`{"v":"mvp-0.2","type":"","payload":{}}`),
		text(`{"v":"mvp-0.2","type":"tool.call","id":"x","payload":{"toolName":"next","params":{},` +
			`"reason":"of another agent"}}`),
		text(`{"v":"mvp-0.2","type":"big","payload":{"x":"` + strings.Repeat("x", 64<<10) + `"}}`),
		text(strings.Repeat(`[`, 20_000)),
	}
}

// All of it, at every point of a booking, changes nothing.
func TestIgnoresJunk(t *testing.T) {
	whole := book(t, &host{}, Options{})
	all := junkMessages()
	for nth := 1; nth <= whole.told; nth++ {
		h := &host{}
		w := book(t, h, Options{}, func(w *world) {
			w.deliver = func(n int, msg Message) []Event {
				if n != nth {
					return []Event{Received{msg}}
				}
				return append(append([]Event{}, all...), Received{msg})
			}
		})
		w.wantBooked()
		if diff := cmp.Diff(straight, h.calls); diff != "" {
			t.Fatalf("junk before message %d: %s", nth, diff)
		}
		if len(w.sent) != len(whole.sent) || w.now != 0 {
			t.Errorf("junk before message %d: %d messages in %v", nth, len(w.sent), w.now)
		}
	}
}

// Members that no clause names are not junk.
func TestTakesExtraFields(t *testing.T) {
	h := &host{after: func(_ *host, _ Message, answer []Message) []Message {
		for i, a := range answer {
			payload := a.Payload()
			payload["revision"], payload["nested"] = 7, object{"uiSpec": nil}
			answer[i] = a.With("ts", 1.5).With("id", "h-1").With("payload", payload)
		}
		return answer
	}}
	book(t, h, Options{}).wantBooked()
	if diff := cmp.Diff(straight, h.calls); diff != "" {
		t.Error(diff)
	}
}

// A reply without the members that its type requires does not count; a better one may follow.
func TestTakesTheBetterAnswer(t *testing.T) {
	h := &host{after: func(_ *host, msg Message, answer []Message) []Message {
		switch msg.Type() {
		case proto.SnapshotGet:
			return append([]Message{answerTo(msg, proto.SnapshotState, object{"uiSpec": "none"})}, answer...)
		case proto.ToolCall:
			return append([]Message{answerTo(msg, proto.ToolResult, object{"ok": "yes"})}, answer...)
		}
		return answer
	}}
	book(t, h, Options{}).wantBooked()
	if diff := cmp.Diff(straight, h.calls); diff != "" {
		t.Error(diff)
	}
}
