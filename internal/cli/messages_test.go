package cli

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley/internal/schematest"
	"parley/protocol/messages"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// TestMessages checks that the messages of bundled targets match the message schemas that replays use.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		protocol, driver string
		least            int
		lines            []string
	}{
		{"agent-select", "sse", 4, []string{"client A is connected", "client A has a session", "client A has chatted",
			`client A switches to "debugger"`, `client A is switched from "general" to "debugger"`}},
		{"agent-select", "ws", 4, []string{"client A is connected", "client A has a session", "client A has chatted",
			`client A switches to "no_such_agent"`, `client A is refused with "agent_not_found"`}},
		{"session-chat", "ws", 3, []string{`client A has chatted with "red"`}},
		{"external-agent", "ws", 4, []string{"agent A has joined", "agent A starts a session",
			"agent A is told that the session has started"}},
		{"session-runtime", "ws", 3, []string{`a session of agents "a", "b" and "c" where agent "a" is active`,
			`the user says "t1"`, `"t1" reaches agent "a"`, `"t1" is accepted`}},
	} {
		in, err := recording.NewReader(bytes.NewReader(recorded(t, c.protocol, c.driver, c.lines...)))
		if err != nil {
			t.Fatal(err)
		}
		set, known := messages.For(c.protocol), 0
		for view := recording.NewClientView(in); ; {
			r, err := view.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Kind != transcript.Frame && r.Kind != transcript.Stream {
				continue
			}
			from := messages.Client
			if r.Dir == transcript.Received {
				from = messages.Server
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Bytes))
			if err != nil {
				t.Fatalf("%s: %s: %v", c.protocol, r.Bytes, err)
			}
			m := set.Find(set.Type(v), from)
			if m == nil {
				t.Errorf("%s: there is no schema of %s", c.protocol, r.Bytes)
				continue
			}
			if err := validates(t, m, v); err != nil {
				t.Errorf("%s: %s: %v", c.protocol, r.Bytes, err)
			}
			known++
		}
		if known < c.least {
			t.Errorf("%s over %s: %d messages", c.protocol, c.driver, known)
		}
	}
}

// validates checks a message by its schema.
func validates(t *testing.T, m *messages.Message, v any) error {
	t.Helper()
	text, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return schematest.Compile(t, text).Value(v)
}
