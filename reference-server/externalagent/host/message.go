package host

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
)

// Message is an envelope: one that came in, in which absent and null members differ and numbers are of type Number; or one
// of the host's. A map, so that a faulty host can get every member wrong. What stands below it is made anew for each
// message, of map[string]any, []any, string, float64, bool and nil, and may be changed in place.
type Message map[string]any

// With returns a copy in which the member has the value v; what stands below is shared.
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

// Type is the message's type; "" if that is no string.
func (m Message) Type() string {
	kind, _ := m["type"].(string)
	return kind
}

// Payload is the message's payload; nil if that is no object.
func (m Message) Payload() map[string]any {
	payload, _ := m["payload"].(map[string]any)
	return payload
}

// text is a string of the payload; "" if there is none.
func (m Message) text(name string) string {
	s, _ := m.Payload()[name].(string)
	return s
}

// NewMessage makes a message that answers none.
func NewMessage(kind string, payload map[string]any) Message {
	return Message{"v": proto.Version, "type": kind, "payload": payload}
}

// Reply makes a message that answers another. A request without id is answered all the same: nothing can say to what.
func Reply(to Message, kind string, payload map[string]any) Message {
	msg := NewMessage(kind, payload)
	if id, isString := to["id"].(string); isString {
		msg["replyTo"] = id
	}
	return msg
}

// Number is a JSON number as it was sent, so that the log has what went over the wire.
type Number string

// MarshalJSON writes the number as it came.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// float is the number as a tool takes it. One beyond all measure becomes the largest there is.
func (n Number) float() float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return max(-math.MaxFloat64, min(f, math.MaxFloat64))
}

var keepNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported // the default does the rest
	}
	number, err := dec.ReadValue()
	*v = Number(number)
	return err
}))

// decode reads an envelope strictly: an object, names matched by case and not repeated, valid UTF-8.
func decode(data []byte, limit int) (Message, *Refusal) {
	if len(data) > limit {
		return nil, &Refusal{proto.InvalidMessage, fmt.Sprintf("the message is too long: send at most %d bytes", limit)}
	}
	var msg Message
	if err := json.Unmarshal(data, &msg, keepNumbers); err != nil {
		return nil, &Refusal{proto.InvalidMessage, fmt.Sprintf("send one JSON object: %.300s", err)}
	}
	if msg == nil {
		return nil, &Refusal{proto.InvalidMessage, "send one JSON object, not null"}
	}
	return msg, nil
}

// encode writes members in the order of their names. A faulty host may make text that is no UTF-8: it becomes U+FFFD.
func encode(v map[string]any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// plain puts floats in the place of numbers.
func plain(v any) any {
	switch v := v.(type) {
	case Number:
		return v.float()
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = plain(v[i])
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for name := range v {
			all[name] = plain(v[name])
		}
		return all
	}
	return v
}

// generic turns a value of the vocabulary into one that may be changed in every part.
func generic(v any) (g any) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil {
		panic(fmt.Errorf("host: %T: %w", v, err)) // the vocabulary is made of plain values
	}
	return g
}
