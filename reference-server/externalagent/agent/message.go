package agent

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// Message is an envelope.
type Message = wire.Message

type object = wire.Object

// decode reads a JSON object strictly: case-sensitive, unique names and valid UTF-8.
func decode(data []byte) (Message, error) {
	var msg Message
	if err := json.Unmarshal(data, &msg); err != nil {
		return nil, err
	}
	if msg == nil {
		return nil, errors.New("null is not an object")
	}
	return msg, nil
}

// canonical returns the same text for equal values.
func canonical(v any) string {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil { // a faulty agent made the value
		return fmt.Sprintf("%#v", v)
	}
	return string(data)
}

// problemOf returns why an object is not an envelope; "" if it is one. Members that section 3 does not name are
// allowed.
func problemOf(m Message) string {
	if m["v"] != proto.Version {
		return fmt.Sprintf("v is %s, not %q", brief(m["v"]), proto.Version)
	}
	if kind, isText := m["type"].(string); !isText || kind == "" {
		return "type is not a string"
	}
	for _, name := range []string{"id", "replyTo"} {
		if v, present := m[name]; present {
			if _, isText := v.(string); !isText {
				return name + " is not a string"
			}
		}
	}
	if _, isObject := m["payload"].(object); !isObject {
		return "payload is not an object"
	}
	return ""
}

// brief formats a value for a log line.
func brief(v any) string { return clip(canonical(v), 200) }

// clip shortens a text to at most the given number of characters.
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
