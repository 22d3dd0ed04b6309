package sessionchat

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/sessionchat"
)

// Message is a JSON object of the wire: a decoded client message, in which absent and null members differ and numbers
// are of type Number; or one of the server's, with the members of protocol/sessionchat.Message. A map, so that a faulty
// server can get every member wrong.
type Message map[string]any

// With returns a copy in which the member has the value v.
func (m Message) With(name string, v any) Message {
	c := maps.Clone(m)
	c[name] = v
	return c
}

// Without returns a copy that lacks the member.
func (m Message) Without(name string) Message {
	c := maps.Clone(m)
	delete(c, name)
	return c
}

// Type is the message_type of a server message.
func (m Message) Type() string {
	kind, _ := m["message_type"].(string)
	return kind
}

// Body is what stands in message; nil if that is no object.
func (m Message) Body() map[string]any {
	body, _ := m["message"].(map[string]any)
	return body
}

// Number is a JSON number as it was sent. An option that this server does not know may be a number of any size.
type Number string

// MarshalJSON writes the number as it came.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

var keepNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported // the default does the rest
	}
	number, err := dec.ReadValue()
	*v = Number(number)
	return err
}))

// decode reads a message strictly: an object, names matched by case and not repeated, valid UTF-8.
func decode(data []byte) (Message, *Refusal) {
	var msg Message
	if err := json.Unmarshal(data, &msg, keepNumbers); err != nil {
		return nil, &Refusal{proto.InvalidMessage, fmt.Sprintf("send one JSON object: %.300s", err)}
	}
	if msg == nil {
		return nil, &Refusal{proto.InvalidMessage, "send one JSON object, not null"}
	}
	return msg, nil
}

// rfc3339Millis has the milliseconds always, as JavaScript's toISOString does.
const rfc3339Millis = "2006-01-02T15:04:05.000Z"

// newMessage makes a server message. agentID is a string or nil; a session id that is not known becomes null (SC-056).
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

// errorMessage answers a message that started no turn. agentID is what the client sent as such.
func errorMessage(agentID any, sessionID string, r *Refusal) Message {
	return newMessage(proto.ErrorMessage, stringOrNil(agentID), sessionID, map[string]any{"code": r.Code, "text": r.Text})
}

func stringOrNil(v any) any {
	if s, isString := v.(string); isString {
		return s
	}
	return nil
}

// encode writes a message with its members in order. A model may cut its text inside of a character: what is no UTF-8
// becomes U+FFFD.
func (m Message) encode() ([]byte, error) {
	return json.Marshal(map[string]any(m), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}
