package sessionchat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonwhy"
	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
)

// handleMessage handles a message from a connection.
func (s *Server) handleMessage(c *conn, data []byte) {
	msg, refusal := decodeMessage(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	msgs := []Message{msg}
	if refusal != nil {
		msgs, refusal = s.o.Policy.Malformed(s.m, c.info, data, refusal)
	}
	if refusal != nil {
		s.emitMessage(c, errorMessage(nil, "", refusal))
	}
	for _, msg := range msgs {
		for _, msg := range s.o.Inbound(s.m, c.info, msg) {
			s.dispatchMessage(c, msg)
		}
	}
}

// dispatchMessage handles a decoded message. The caller holds the lock.
func (s *Server) dispatchMessage(c *conn, msg Message) {
	agentID, _ := msg[proto.AgentID].(string)
	refusal := s.o.Policy.Accept(s.m, c.info, msg)
	if limit := s.o.Limits.AgentID; refusal == nil && len(agentID) > limit {
		refusal = &Refusal{proto.InvalidMessage, fmt.Sprintf("agent_id is too long: send at most %d bytes", limit)}
		msg = Message{} // it is not echoed
	}
	if refusal == nil {
		switch msg[proto.Type] {
		case proto.ChatType:
			refusal = s.queueTurn(c, agentID, msg)
		case proto.InterruptType:
			refusal = s.interruptTurn(c, agentID)
		case proto.PingType:
			s.emitMessage(c, newMessage(proto.PongMessage, stringOrNil(msg[proto.AgentID]), "", map[string]any{}))
		}
	}
	if refusal != nil {
		s.emitMessage(c, errorMessage(msg[proto.AgentID], s.sessionID(c, msg), refusal))
	}
}

// sessionID returns the id of the session that a message names; "" if it is not in memory.
func (s *Server) sessionID(c *conn, msg Message) string {
	agentID, isString := msg[proto.AgentID].(string)
	if !isString {
		return ""
	}
	return s.m.SessionID(s.o.Policy.Key(c.info, agentID, InMemory))
}

// queueTurn queues a turn, and starts it if it is first (SC-002, SC-013). The turn sends the other messages.
func (s *Server) queueTurn(c *conn, agentID string, msg Message) *Refusal {
	if s.ending {
		return &Refusal{proto.Overloaded, "the server closes: connect again"}
	}
	key := s.o.Policy.Key(c.info, agentID, InMemory)
	queue := s.o.Policy.Queue(s.m, c.info, key)
	if s.m.Waiting(queue) >= s.o.Limits.Queue {
		return &Refusal{proto.Overloaded, "too many chats wait for this agent_id: send the next one after a result"}
	}
	sess := s.m.useSession(key)
	if sess == nil {
		return &Refusal{proto.Overloaded, "too many sessions are in use: send the chat again after a result"}
	}
	content, _ := msg[proto.Content].(string)
	content = s.o.Policy.Content(key, content)
	if !s.m.reserveBytes(len(content)) {
		s.m.releaseSession(sess)
		return &Refusal{proto.Overloaded, "too much text is in work: send the chat again after a result"}
	}
	options, _ := msg[proto.Options].(map[string]any)
	t := &turn{
		s: s, c: c, sess: sess, queue: queue, agentID: agentID, content: content, reserved: len(content),
		model: s.o.Policy.Model(key, options, s.o.Model),
	}
	c.turns[t] = struct{}{}
	if s.m.enqueueTurn(t) {
		s.startTurn(t)
	}
	return nil
}

// interruptTurn ends the running turn of a session (SC-035, SC-036). The turn's result acknowledges it; queued turns
// still run. It creates nothing (SC-002).
func (s *Server) interruptTurn(c *conn, agentID string) *Refusal {
	found := false
	key := s.o.Policy.Key(c.info, agentID, InMemory)
	for _, key := range s.o.Policy.InterruptTargets(s.m, c.info, key) {
		for _, t := range s.m.runningTurn(key) {
			t.cancel(errInterrupted)
			t.interrupter = c
			found = true
		}
	}
	if !found {
		return &Refusal{proto.NotRunning, "no turn of this agent_id runs: there is nothing to interrupt"}
	}
	return nil
}

// Message is a JSON object on the wire: a decoded client message, in which absent and null members differ and numbers
// are of type Number; or a server message with the members of protocol/sessionchat.Message. It is a map, so that a
// faulty server can change any member.
type Message map[string]any

// With returns a copy with the member set to v.
func (m Message) With(name string, v any) Message {
	c := maps.Clone(m)
	c[name] = v
	return c
}

// Without returns a copy without the member.
func (m Message) Without(name string) Message {
	c := maps.Clone(m)
	delete(c, name)
	return c
}

// Type returns the message_type of a server message.
func (m Message) Type() string {
	kind, _ := m[proto.MessageType].(string)
	return kind
}

// Body returns the member message; nil if it is not an object.
func (m Message) Body() map[string]any {
	body, _ := m[proto.Body].(map[string]any)
	return body
}

// Number is a JSON number as it was sent. An option that this server does not know may be a number of any size.
type Number string

// MarshalJSON writes the number in its original form.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

var keepNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported // use the default marshalling
	}
	number, err := dec.ReadValue()
	*v = Number(number)
	return err
}))

// decodeMessage reads a message strictly: a JSON object in valid UTF-8 with case-sensitive, unique names.
func decodeMessage(data []byte) (Message, *Refusal) {
	var msg Message
	if err := json.Unmarshal(data, &msg, keepNumbers); err != nil {
		return nil, &Refusal{proto.InvalidMessage, jsonwhy.Of(err)}
	}
	if msg == nil {
		return nil, &Refusal{proto.InvalidMessage, "send one JSON object, not null"}
	}
	return msg, nil
}

// rfc3339Millis always has milliseconds, like JavaScript's toISOString.
const rfc3339Millis = "2006-01-02T15:04:05.000Z"

// newMessage makes a server message. agentID is a string or nil; an unknown session id becomes null (SC-056).
func newMessage(kind string, agentID any, sessionID string, body map[string]any) Message {
	msg := Message{
		proto.MessageType: kind, proto.AgentID: agentID, proto.SessionID: nil, proto.Body: body,
		proto.Timestamp: time.Now().UTC().Format(rfc3339Millis),
	}
	if sessionID != "" {
		msg[proto.SessionID] = sessionID
	}
	return msg
}

// errorMessage answers a message that started no turn. agentID is the client's value.
func errorMessage(agentID any, sessionID string, r *Refusal) Message {
	return newMessage(proto.ErrorMessage, stringOrNil(agentID), sessionID, map[string]any{
		proto.Code: r.Code, proto.Text: r.Text,
	})
}

func stringOrNil(v any) any {
	if s, isString := v.(string); isString {
		return s
	}
	return nil
}

// encodeMembers writes a message with its members in order. A model may cut its text inside a character: invalid UTF-8
// becomes U+FFFD.
func (m Message) encodeMembers() ([]byte, error) {
	return json.Marshal(map[string]any(m), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// Reasons for the end of a turn's context.
var (
	errInterrupted = errors.New("interrupted")
	errGone        = errors.New("the connection has ended")
	errClosing     = errors.New("the server closes")
	errTooLate     = errors.New("the turn took too long")
)

var errNoMemory = errors.New("too much text is in work")

// storeError is a failure of the store.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// StoreFailed is the code for a turn whose session could not be read or saved; the binding names none for it.
const StoreFailed = "store_failed"

// finishTurn ends the turn: it sends the whole answer and, once that is saved, the result.
func (t *turn) finishTurn(err error) {
	s := t.s
	s.mu.Lock()
	if ended := context.Cause(t.ctx); ended != nil && !isStoreError(err) {
		err = ended
	}
	if err == nil {
		t.sendToAsker(proto.AssistantMessage,
			map[string]any{"role": llm.RoleAssistant, proto.Content: t.answer.String()})
	}
	var what Saving
	var kept Turn
	if t.kept != nil {
		t.kept.Answer, t.kept.Outcome = t.answer.String(), resultSubtype(err)
		t.countAsHistory()
		what, kept = s.o.Policy.Persist(t.view, AtEnd), *t.kept
	}
	s.mu.Unlock()

	if failed := t.saveTurn(what, kept); failed != nil {
		err = failed
	}
	if isStoreError(err) {
		s.o.Logger.Error("store failed", "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.sendToAsker(proto.ResultMessage, t.resultBody(err))
	s.removeTurn(t)
}

// sendToAsker sends a message of the turn to the connection that asked. If another connection interrupted, that also
// gets the result, because it has no other confirmation. The caller holds the lock.
func (t *turn) sendToAsker(kind string, body map[string]any) {
	id := t.view.SessionID
	if t.kept == nil { // a session that could not be saved has no id
		id = t.sess.id
	}
	msg := newMessage(kind, t.agentID, id, body)
	t.s.emitMessage(t.c, msg)
	if kind == proto.ResultMessage && t.interrupter != nil && t.interrupter != t.c {
		t.s.emitMessage(t.interrupter, msg)
	}
}

// resultBody returns the body of the last message. The caller holds the lock.
func (t *turn) resultBody(err error) map[string]any {
	body := map[string]any{
		proto.Subtype: resultSubtype(err),
		"duration_ms": time.Since(t.started).Milliseconds(),
		"num_turns":   t.view.Turn,
	}
	if body[proto.Subtype] == proto.Failed {
		body[proto.Code], body[proto.Text] = describeFailure(err)
	}
	return body
}

// resultSubtype returns the subtype of a result.
func resultSubtype(err error) string {
	switch {
	case err == nil:
		return proto.Success
	case errors.Is(err, errInterrupted), errors.Is(err, errGone), errors.Is(err, errClosing):
		return proto.Interrupted
	}
	return proto.Failed
}

func isStoreError(err error) bool {
	_, is := errors.AsType[*storeError](err)
	return is
}

// describeFailure describes what went wrong, without details of the store.
func describeFailure(err error) (code, text string) {
	switch {
	case errors.Is(err, ErrFull), errors.Is(err, errNoMemory):
		return proto.Overloaded, "there is no room left for this turn: try again later"
	case isStoreError(err):
		return StoreFailed, "the session could not be read or saved: send the chat again"
	}
	return proto.ModelFailed, fmt.Sprintf("the model failed: %v", err)
}
