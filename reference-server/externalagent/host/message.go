package host

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonwhy"
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// Message is an envelope. In an incoming one, numbers are of type Number. Nested values are fresh for each message
// and may be changed in place.
type Message = wire.Message

type object = wire.Object

// Number is a JSON number as it was sent, so that the log can repeat it.
type Number string

// MarshalJSON writes the number as it came.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// float returns the number for a tool, capped at the largest float64.
func (n Number) float() float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return max(-math.MaxFloat64, min(f, math.MaxFloat64))
}

var keepNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported // use the default marshalling
	}
	number, err := dec.ReadValue()
	*v = Number(number)
	return err
}))

// decode reads an envelope strictly: a JSON object in valid UTF-8 with case-sensitive, unique names.
func decode(data []byte, limit int) (Message, *Refusal) {
	if len(data) > limit {
		return nil, &Refusal{proto.InvalidMessage, fmt.Sprintf("the message is too long: send at most %d bytes", limit)}
	}
	var msg Message
	if err := json.Unmarshal(data, &msg, keepNumbers); err != nil {
		return nil, &Refusal{proto.InvalidMessage, jsonwhy.Of(err)}
	}
	if msg == nil {
		return nil, &Refusal{proto.InvalidMessage, "send one JSON object, not null"}
	}
	return msg, nil
}

// plain returns a copy with floats in place of numbers.
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
