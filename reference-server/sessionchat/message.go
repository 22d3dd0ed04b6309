package sessionchat

import (
	"errors"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonwhy"
	proto "parley/protocol/sessionchat"
)

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
	kind, _ := m["message_type"].(string)
	return kind
}

// Body returns the member message; nil if it is not an object.
func (m Message) Body() map[string]any {
	body, _ := m["message"].(map[string]any)
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

// decode reads a message strictly: a JSON object in valid UTF-8 with case-sensitive, unique names.
func decode(data []byte) (Message, *Refusal) {
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
		"message_type": kind, "agent_id": agentID, "session_id": nil, "message": body,
		"timestamp": time.Now().UTC().Format(rfc3339Millis),
	}
	if sessionID != "" {
		msg["session_id"] = sessionID
	}
	return msg
}

// errorMessage answers a message that started no turn. agentID is the client's value.
func errorMessage(agentID any, sessionID string, r *Refusal) Message {
	return newMessage(proto.ErrorMessage, stringOrNil(agentID), sessionID, map[string]any{"code": r.Code, "text": r.Text})
}

func stringOrNil(v any) any {
	if s, isString := v.(string); isString {
		return s
	}
	return nil
}

// encode writes a message with its members in order. A model may cut its text inside a character: invalid UTF-8
// becomes U+FFFD.
func (m Message) encode() ([]byte, error) {
	return json.Marshal(map[string]any(m), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}
