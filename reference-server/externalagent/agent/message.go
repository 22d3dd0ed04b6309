package agent

import (
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"

	proto "parley/protocol/externalagent"
)

// Message is an envelope, section 3, as decoded or as it will be encoded. A map, so that a faulty agent can get every
// member wrong, and absent and null members differ.
type Message map[string]any

// object is a decoded JSON object.
type object = map[string]any

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

// Type is the type; "" if it is no string.
func (m Message) Type() string { return m.text("type") }

// ID is the id; "" if it is no string.
func (m Message) ID() string { return m.text("id") }

// ReplyTo is the id of the request that is answered; "" if it is no string.
func (m Message) ReplyTo() string { return m.text("replyTo") }

// Payload is the payload; nil if it is no object.
func (m Message) Payload() map[string]any {
	payload, _ := m["payload"].(object)
	return payload
}

func (m Message) text(name string) string {
	text, _ := m[name].(string)
	return text
}

// newMessage makes an envelope as section 3 has it.
func newMessage(kind, id string, payload map[string]any) Message {
	return Message{"v": proto.Version, "type": kind, "id": id, "payload": payload}
}

// decode reads a JSON object strictly: names told apart by case and not repeated, valid UTF-8.
func decode(data []byte) (Message, error) {
	var msg Message
	if err := json.Unmarshal(data, &msg); err != nil {
		return nil, err
	}
	if msg == nil {
		return nil, fmt.Errorf("null is no object")
	}
	return msg, nil
}

// encode writes an envelope, with its members in order.
func (m Message) encode() ([]byte, error) {
	return json.Marshal(map[string]any(m), json.Deterministic(true))
}

// canonical is one text for values that are equal.
func canonical(v any) string {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil { // of a value that a faulty agent has made
		return fmt.Sprintf("%#v", v)
	}
	return string(data)
}

// problemOf tells why an object is no envelope; "" if it is one. Fields that section 3 does not name are none of its business.
func problemOf(m Message) string {
	if m["v"] != proto.Version {
		return fmt.Sprintf("v is %s, not %q", brief(m["v"]), proto.Version)
	}
	if kind, isText := m["type"].(string); !isText || kind == "" {
		return "type is no text"
	}
	for _, name := range []string{"id", "replyTo"} {
		if v, present := m[name]; present {
			if _, isText := v.(string); !isText {
				return name + " is no text"
			}
		}
	}
	if _, isObject := m["payload"].(object); !isObject {
		return "payload is no object"
	}
	return ""
}

// brief is a value as a log line shows it.
func brief(v any) string { return clip(canonical(v), 200) }

// clip shortens a text to so many characters.
func clip(text string, most int) string {
	n := 0
	for at := range text {
		if n == most {
			return text[:at] + "…"
		}
		n++
	}
	return text
}
