// Package wire has the envelopes that the bundled external-agent parties make and their mutants change.
package wire

import (
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
)

// Object is a decoded JSON object.
type Object = map[string]any

// Message is an envelope, section 3. It is a map, so that a mutant can change any member, and so that absent and null
// members differ.
type Message map[string]any

// New makes an envelope without an id or replyTo.
func New(kind string, payload Object) Message {
	return Message{"v": proto.Version, "type": kind, "payload": payload}
}

// Reply makes an envelope that answers a request. If the request has no id, the reply has no replyTo.
func Reply(to Message, kind string, payload Object) Message {
	msg := New(kind, payload)
	if id, isString := to["id"].(string); isString {
		msg["replyTo"] = id
	}
	return msg
}

// With returns a copy with the member set to v. The copy is shallow.
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

// Text returns a member; "" if it is not a string.
func (m Message) Text(name string) string { return text(m, name) }

// Type returns the type; "" if it is not a string.
func (m Message) Type() string { return text(m, "type") }

// ID returns the id; "" if it is not a string.
func (m Message) ID() string { return text(m, "id") }

// ReplyTo returns the id of the request that the message answers; "" if it is not a string.
func (m Message) ReplyTo() string { return text(m, "replyTo") }

// Payload returns the payload; nil if it is not an object.
func (m Message) Payload() Object {
	payload, _ := m["payload"].(Object)
	return payload
}

// PayloadText returns a member of the payload; "" if it is not a string.
func (m Message) PayloadText(name string) string { return text(m.Payload(), name) }

func text(o Object, name string) string {
	s, _ := o[name].(string)
	return s
}

// Encode writes a value as JSON with sorted member names; invalid UTF-8 becomes U+FFFD. It panics for a value that
// JSON can't represent, which is a mistake of the caller.
func Encode(v any) []byte {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(fmt.Errorf("encode %T: %w", v, err))
	}
	return data
}

// Read decodes a JSON object; nil if the text is anything else.
func Read(data []byte) Object {
	var o Object
	if json.Unmarshal(data, &o) != nil {
		return nil
	}
	return o
}

// Plain returns a copy of a value as a decoder would make it, from maps, slices, strings, float64, bool and nil.
func Plain(v any) (plain any) {
	if err := json.Unmarshal(Encode(v), &plain); err != nil {
		panic(fmt.Errorf("copy %T: %w", v, err))
	}
	return plain
}
