package sessionruntime

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/sessionruntime"
)

// Number is a JSON number as it was sent, in payloads and metadata: what is passed on is passed on as it came.
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

// frame is what comes off the wire: a message, unless Parley says that it is a set-up frame.
type frame struct {
	Parley *string `json:"parley"`
	proto.Message
}

// decodeFrame reads a frame strictly: an object, names matched by case and not repeated, valid UTF-8, members of the
// types that they have. Members that are unknown are passed over.
func decodeFrame(data []byte) (f frame, err error) {
	if jsontext.Value(data).Kind() != '{' {
		return frame{}, errors.New("send one JSON object")
	}
	if tooDeep(data) {
		return frame{}, fmt.Errorf("nest at most %d objects and arrays", maxDepth)
	}
	if err := json.Unmarshal(data, &f, keepNumbers); err != nil {
		return frame{}, fmt.Errorf("send one JSON object: %.300s", err)
	}
	return f, nil
}

// maxDepth of a frame leaves room for what is put around its parts, so that everybody can read what is published.
const maxDepth = 1000

// tooDeep looks at brackets outside of strings. It takes any text.
func tooDeep(data []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			inString = !inString
		case inString:
			if c == '\\' {
				i++
			}
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// setup is the set-up frame.
type setup struct {
	SessionID string   `json:"session_id"`
	Agents    []string `json:"agents"`
	Active    string   `json:"active_agent_id"`
	Limits    struct {
		InputAck  *float64 `json:"input_ack_ms"`
		CancelAck *float64 `json:"cancel_ack_ms"`
	} `json:"limits"`
}

func decodeSetup(data []byte) (s setup, err error) {
	if err := json.Unmarshal(data, &s); err != nil {
		return setup{}, fmt.Errorf("not a set-up frame: %.300s", err)
	}
	return s, nil
}

// ackLimit is a limit of a set-up frame; the fallback if it gives none, or 0.
func ackLimit(ms *float64, fallback, longest time.Duration) (time.Duration, error) {
	if ms == nil || *ms == 0 {
		return fallback, nil
	}
	if most := float64(longest) / float64(time.Millisecond); *ms < 0 || *ms > most {
		return 0, fmt.Errorf("a limit must be 0 to %.0f ms", most)
	}
	return max(time.Duration(*ms*float64(time.Millisecond)), 1), nil
}

// encode writes members in the order of their names. A faulty orchestrator may make text that is no UTF-8: it becomes
// U+FFFD.
func encode(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}
