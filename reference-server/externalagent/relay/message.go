package relay

import (
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Message is an envelope that the relay itself sends. A map, so that a faulty relay can get every member wrong.
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

// Encode writes the message as the data of a text frame. What can't be written as JSON is a mistake of the caller's code,
// and panics.
func (m Message) Encode() []byte {
	data, err := json.Marshal(map[string]any(m), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(fmt.Sprintf("encode an envelope: %v", err))
	}
	return data
}
