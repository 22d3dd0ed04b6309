package sessionruntime

import (
	"bytes"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Any input yields JSON objects, one per line, and causes no failure.
func FuzzFrame(f *testing.F) {
	for _, text := range []string{
		`{"parley":"setup","session_id":"s","agents":["a","b"],"active_agent_id":"a","limits":{"input_ack_ms":5}}`,
		`{"parley":"fence","id":"1"}`, `{"parley":null}`,
		`{"parley":"setup","session_id":"s","limits":{"input_ack_ms":1e-9}}`,
		`{"id":"1","session_id":"s","event":"USER_INPUT","sender":"frontend","target":"SYSTEM",` +
			`"payload":{"mentioned_agent_id":"b"},"metadata":{"turn_id":"t1"}}`,
		`{"id":"2","session_id":"s","event":"AGENT_OUTPUT","sender":"a","target":"BROADCAST","payload":-0.0e+1,` +
			`"metadata":{"turn_id":"t0","stream":{"is_chunk":true}}}`,
		`{"id":"3","session_id":"s","event":"CONTROL","subtype":"CANCEL","sender":"frontend","target":"SYSTEM"}`,
		`{"session_id":"s","event":"CONTROL","subtype":"REMOVE_AGENT","sender":"frontend","target":"SYSTEM",` +
			`"payload":{"agent_id":"a"}}`,
		`{"session_id":"s","event":"CONTROL","subtype":"HANDOVER_REQUEST","sender":"a","target":"SYSTEM",` +
			`"payload":{"to":"b","x":"\ud800"}}`,
		"{\"a\":\"\xff\"}", `[{`, ``, `{"a":"\`,
	} {
		f.Add([]byte(text))
	}
	o, err := Options{}.withDefaults()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBus(o)
		b.handleFrame([]byte(`{"parley":"setup","session_id":"s","agents":["a","b"],"active_agent_id":"a"}`))
		b.handleFrame([]byte(`{"id":"0","session_id":"s","event":"USER_INPUT","sender":"frontend","target":"SYSTEM",` +
			`"metadata":{"turn_id":"t0"}}`))
		frames := append(b.handleFrame(data), b.handleTimeouts(time.Now().Add(time.Hour))...)
		for _, frame := range frames {
			var m map[string]jsontext.Value
			if err := json.Unmarshal(frame, &m); err != nil || bytes.ContainsRune(frame, '\n') {
				t.Errorf("%s\nbecame %s: %v", data, frame, err)
			}
		}
	})
}
