package sessionruntime

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonwhy"
	proto "parley/protocol/sessionruntime"
)

// Number is a JSON number as it was sent, in payloads and metadata, so that it can be passed on unchanged.
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

// frame is a decoded frame: a message, or a set-up frame if Parley is set.
type frame struct {
	Parley *string `json:"parley"`
	proto.Message
}

// decodeFrame reads a frame strictly: a JSON object in valid UTF-8 with case-sensitive, unique names and members of
// the expected types. Unknown members are ignored.
func decodeFrame(data []byte) (f frame, err error) {
	if jsontext.Value(data).Kind() != '{' {
		return frame{}, errors.New("send one JSON object")
	}
	if tooDeep(data) {
		return frame{}, fmt.Errorf("nest at most %d objects and arrays", maxDepth)
	}
	if err := json.Unmarshal(data, &f, keepNumbers); err != nil {
		return frame{}, errors.New(jsonwhy.Of(err))
	}
	return f, nil
}

// maxDepth limits the nesting of a frame. It leaves room for what is wrapped around its parts, so that everything
// published remains readable.
const maxDepth = 1000

// tooDeep counts brackets outside of strings. It accepts any text.
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

// setupMembers are those of a set-up frame, for the text that refuses another one.
const setupMembers = "session_id, agents, active_agent_id, limits.input_ack_ms, limits.cancel_ack_ms"

// setup is the set-up frame. It has no other members: a misspelt limit would silently be the default one.
type setup struct {
	Parley    string   `json:"parley"`
	SessionID string   `json:"session_id"`
	Agents    []string `json:"agents"`
	Active    string   `json:"active_agent_id"`
	Limits    struct {
		InputAck  *float64 `json:"input_ack_ms"`
		CancelAck *float64 `json:"cancel_ack_ms"`
	} `json:"limits"`
}

func decodeSetup(data []byte) (s setup, err error) {
	err = json.Unmarshal(data, &s, json.RejectUnknownMembers(true))
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return setup{}, fmt.Errorf("set-up refused: %s (known: %s)", jsonwhy.Of(err), setupMembers)
	case err != nil:
		return setup{}, errors.New("set-up refused: " + jsonwhy.Of(err))
	}
	return s, nil
}

// ackLimit returns a limit of a set-up frame, or the fallback if the frame gives none or 0.
func ackLimit(ms *float64, fallback, longest time.Duration) (time.Duration, error) {
	if ms == nil || *ms == 0 {
		return fallback, nil
	}
	if most := float64(longest) / float64(time.Millisecond); *ms < 0 || *ms > most {
		return 0, fmt.Errorf("a limit must be 0 to %.0f ms", most)
	}
	return max(time.Duration(*ms*float64(time.Millisecond)), 1), nil
}

// encode writes members sorted by name. Invalid UTF-8, which a faulty orchestrator may make, becomes U+FFFD.
func encode(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}
