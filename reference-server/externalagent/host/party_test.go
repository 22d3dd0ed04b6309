package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	proto "parley/protocol/externalagent"
)

// pipe is a connection within the process: each side's Write waits until the other side has room.
type pipe struct {
	in, out chan []byte
	ended   chan struct{}
}

func newPipe() *pipe {
	return &pipe{in: make(chan []byte), out: make(chan []byte, 1024), ended: make(chan struct{})}
}

func (p *pipe) Read(ctx context.Context) ([]byte, error) {
	select {
	case data := <-p.in:
		return data, nil
	case <-p.ended:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipe) Write(ctx context.Context, data []byte) error {
	select {
	case p.out <- data:
		return nil
	case <-p.ended:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
}

// party is an agent connected to a host.
type party struct {
	t    testing.TB
	h    *Host
	logs string
	conn *pipe
	n    int
	done chan error
}

// february is the time of the tests: the 14th is the first date on display.
func february() time.Time { return time.Date(2026, 2, 13, 10, 22, 17, 123_000_000, time.UTC) }

func startParty(t testing.TB, o Options) *party {
	t.Helper()
	if o.Logs == "" && o.Store == nil {
		o.Logs = t.TempDir()
	}
	if o.Now == nil {
		o.Now = february
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &party{t: t, h: h, logs: o.Logs}
	p.connect()
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		<-p.done
	})
	return p
}

func (p *party) connect() {
	p.conn, p.done = newPipe(), make(chan error, 1)
	go func(c *pipe) { p.done <- p.h.Serve(context.Background(), c) }(p.conn)
}

// reconnect ends the connection and begins another.
func (p *party) reconnect() {
	p.t.Helper()
	close(p.conn.ended)
	if err := <-p.done; !errors.Is(err, io.EOF) {
		p.t.Errorf("serve: %v", err)
	}
	p.connect()
}

func (p *party) sendRaw(text string) {
	p.t.Helper()
	select {
	case p.conn.in <- []byte(text):
	case <-time.After(time.Minute):
		p.t.Fatalf("the host does not take %s", text)
	}
}

// send sends a request, and returns its id.
func (p *party) send(kind string, payload any) string {
	p.t.Helper()
	p.n++
	id := fmt.Sprintf("req-%03d", p.n)
	data, err := json.Marshal(object{"v": proto.Version, "type": kind, "id": id, "payload": payload})
	if err != nil {
		p.t.Fatal(err)
	}
	p.sendRaw(string(data))
	return id
}

func (p *party) nextMessage() Message {
	p.t.Helper()
	select {
	case data := <-p.conn.out:
		var msg Message
		if err := json.Unmarshal(data, &msg); err != nil {
			p.t.Fatalf("%s: %v", data, err)
		}
		if msg["v"] != proto.Version || msg.Payload() == nil {
			p.t.Errorf("envelope %s", data)
		}
		return msg
	case <-time.After(time.Minute):
		p.t.Fatal("the host says nothing")
		return nil
	}
}

// expectType requires the next message to have the type and to answer id; "" means that it answers nothing.
func (p *party) expectType(kind, id string) object {
	p.t.Helper()
	msg := p.nextMessage()
	if replyTo, _ := msg["replyTo"].(string); msg.Type() != kind || replyTo != id {
		p.t.Fatalf("want %s to %q, got %v", kind, id, msg)
	}
	return msg.Payload()
}

// silent checks that no other message was sent: the next one is the reply to a snapshot.get.
func (p *party) silent() { p.t.Helper(); p.snapshot() }

func (p *party) start() string {
	p.t.Helper()
	id := p.expectType(proto.SessionStarted, p.send(proto.SessionStart, object{"studyId": "pilot-01",
		"participantId": "P07"}))["sessionId"]
	p.nextUpdate()
	return id.(string)
}

func (p *party) nextUpdate() object {
	p.t.Helper()
	state := p.expectType(proto.StateUpdated, "")
	if state["source"] != "host" {
		p.t.Errorf("source %v", state["source"])
	}
	return state
}

func (p *party) snapshot() object {
	p.t.Helper()
	return p.expectType(proto.SnapshotState, p.send(proto.SnapshotGet, object{}))
}

func (p *party) end() object {
	p.t.Helper()
	return p.expectType(proto.SessionEnded, p.send(proto.SessionEnd, object{"reason": "study-complete"}))
}

func (p *party) call(tool string, params object) string {
	p.t.Helper()
	return p.send(proto.ToolCall, object{"toolName": tool, "params": params, "reason": "because"})
}

// callAndRead makes a successful call and returns the resulting state.
func (p *party) callAndRead(tool string, params object) object {
	p.t.Helper()
	result := p.expectType(proto.ToolResult, p.call(tool, params))
	if result["ok"] != true || result["toolName"] != tool {
		p.t.Errorf("%s: %v", tool, result)
	}
	state := p.nextUpdate()
	if spec, quick := result["uiSpec"]; quick && fmt.Sprint(spec) != fmt.Sprint(state["uiSpec"]) {
		p.t.Errorf("%s: quick uiSpec contradicts the state", tool)
	}
	return state
}

// callRefused makes a call that is refused with the code, and returns the error's message.
func (p *party) callRefused(code, tool string, params object) string {
	p.t.Helper()
	return p.failure(code, p.call(tool, params))
}

func (p *party) failure(code, id string) string {
	p.t.Helper()
	payload := p.expectType(proto.ErrorMessage, id)
	if payload["code"] != code {
		p.t.Errorf("want %s, got %v", code, payload)
	}
	text, _ := payload["message"].(string)
	if text == "" {
		p.t.Errorf("no message: %v", payload)
	}
	return text
}

// goToStage goes to a stage by taking the first items.
func (p *party) goToStage(stage string) (state object) {
	p.t.Helper()
	state = p.snapshot()
	for spec(state)["stage"] != stage {
		switch spec(state)["stage"] {
		case proto.ConfirmStage:
			p.t.Fatalf("no stage %s", stage)
		case proto.TicketStage:
			p.callAndRead(proto.SetQuantity, object{"itemId": item(state, 0)["id"], "quantity": 1})
		default:
			p.callAndRead(proto.Select, object{"itemId": item(state, 0)["id"]})
		}
		state = p.callAndRead(proto.Next, object{})
	}
	return state
}

func spec(state object) object {
	spec, _ := state["uiSpec"].(object)
	return spec
}

func items(state object) []any {
	items, _ := spec(state)["items"].([]any)
	return items
}

func item(state object, i int) object { return items(state)[i].(object) }

// soldItem returns the first item that is sold out; "" if there is none.
func soldItem(state object) string {
	for i := range items(state) {
		if item(state, i)["available"] == false {
			return item(state, i)["id"].(string)
		}
	}
	return ""
}

func history(state object) (texts []string) {
	for _, entry := range state["messageHistory"].([]any) {
		texts = append(texts, fmt.Sprintf("%v: %v", entry.(object)["role"], entry.(object)["text"]))
	}
	return texts
}

func toolNames(state object) string {
	var names []string
	for _, tool := range state["toolSchema"].([]any) {
		names = append(names, tool.(object)["name"].(string))
	}
	return strings.Join(names, " ")
}

// lines reads a log.
func (p *party) lines(logFile string) (entries []object) {
	p.t.Helper()
	return readLog(p.t, filepath.Join(p.logs, strings.TrimPrefix(logFile, DefaultLogName)))
}

func readLog(t testing.TB, file string) (entries []object) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var e object
		if err := json.Unmarshal([]byte(line), &e); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%q: %v", line, err)
		}
		entries = append(entries, e)
	}
	return entries
}
