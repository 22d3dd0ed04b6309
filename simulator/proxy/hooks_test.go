package proxy_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"parley/features/verdict"
	"parley/simulator/gate"
	"parley/transport/transcript"
)

// TestHandle: a handler changes messages; the server is judged by the messages that it sent, and clients are not
// judged.
func TestHandle(t *testing.T) {
	o := options(t, "session-chat", bundle(t, "session-chat", "server", ""))
	o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
		if m.From == gate.Server && m.Kind == transcript.Frame && bytes.Contains(m.Body, []byte(`"session_id"`)) {
			m.Body = bytes.ReplaceAll(m.Body, []byte(`"session_id"`), []byte(`"lost_id"`))
			return gate.Decision{With: []gate.Message{m}}
		}
		return gate.Decision{}
	}
	s := openProxy(t, o, "")
	c := dial(t, s.URL()+socket)
	sendText(t, c, `{"type":"chat","agent_id":"a","content":"hello"}`)
	readUntil(t, c, `"lost_id"`)
	_ = c.Close(websocket.StatusNormalClosure, "")
	awaitEvent(t, s.ends, "C1")
	got := outcomes(s.close(), "server")
	if len(got[verdict.Failed]) > 0 || !slices.Contains(got[verdict.Passed], "SC-039") {
		t.Errorf("passed %v, failed %v", got[verdict.Passed], got[verdict.Failed])
	}
	o = options(t, "external-agent", "http://127.0.0.1:1")
	o.Handle = func(context.Context, gate.Message) gate.Decision { return gate.Decision{} }
	if got := outcomes(openProxy(t, o, "").close(), "agent"); len(got[verdict.Passed])+len(got[verdict.Failed]) > 0 {
		t.Errorf("the agent is judged: %v", got)
	}
}

// TestHold: what is held back reaches nobody until it is let pass, and passes as it came, and the server
// is judged as without. That clients are, too, is in TestClientSide.
func TestHold(t *testing.T) {
	o := options(t, "session-chat", bundle(t, "session-chat", "server", ""))
	asked, pass := make(chan string, 10), make(chan struct{})
	o.Hold = func(_ context.Context, m gate.Message) {
		if m.Kind == transcript.Frame && m.From == gate.Client {
			asked <- string(m.Body)
			<-pass
		}
	}
	s := openProxy(t, o, "")
	c := dial(t, s.URL()+socket)
	sendText(t, c, `{"type":"chat","agent_id":"a","content":"hello"}`)
	if got := <-asked; got != `{"type":"chat","agent_id":"a","content":"hello"}` {
		t.Errorf("held %q", got)
	}
	if n := s.Stats().Messages; n > 3 { // the request, its answer, and what the client sent
		t.Errorf("%d messages passed while the first was held", n)
	}
	close(pass)
	readUntil(t, c, `"result"`)
	_ = c.Close(websocket.StatusNormalClosure, "")
	awaitEvent(t, s.ends, "C1")
	got := outcomes(s.close(), "server")
	if len(got[verdict.Failed]) > 0 || !slices.Contains(got[verdict.Passed], "SC-039") {
		t.Errorf("passed %v, failed %v", got[verdict.Passed], got[verdict.Failed])
	}
}

// TestRecord: Options.Record gets each record in order, with its time and the redactor.
func TestRecord(t *testing.T) {
	o := options(t, "session-chat", bundle(t, "session-chat", "server", ""))
	o.Profile.Secrets = []string{"hello-secret"}
	var mu sync.Mutex
	var lines []string
	o.Record = func(r transcript.Record, redact *transcript.Redactor) {
		mu.Lock()
		defer mu.Unlock()
		if r.N != len(lines)+1 || r.At < 0 || r.Conn != "C1" {
			t.Errorf("record %d is %+v", len(lines)+1, r)
		}
		lines = append(lines, redact.String(r.Line(0)))
	}
	s := openProxy(t, o, "")
	c := dial(t, s.URL()+socket)
	sendText(t, c, `{"type":"chat","agent_id":"a","content":"[[echo hello-secret]]"}`)
	readUntil(t, c, `"result"`)
	_ = c.Close(websocket.StatusNormalClosure, "")
	awaitEvent(t, s.ends, "C1")
	s.close()
	text := strings.Join(lines, "\n")
	if len(lines) < 5 || !strings.Contains(text, "-> open GET "+socket) || !strings.Contains(text, "-> closed") ||
		strings.Contains(text, "hello-secret") || !strings.Contains(text, "«redacted»") {
		t.Errorf("%s", text)
	}
}
