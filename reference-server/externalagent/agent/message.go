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

// decode reads a JSON object strictly: names are case-sensitive and not repeated, the text is valid UTF-8.
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

// canonical is one text for equal values.
func canonical(v any) string {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil { // of a value that a faulty agent has made
		return fmt.Sprintf("%#v", v)
	}
	return string(data)
}

// problemOf is why an object is not an envelope; "" if it is one. Members that section 3 does not name may be there.
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
