package simulator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/simulator"
	"parley/steps"
	"parley/transport/transcript"
)

// TestKnown: a session knows the names and ids that it has seen, except those that no step can contain.
func TestKnown(t *testing.T) {
	s := open(t, "agent-select")
	for _, text := range []string{"client A is connected", "client B is connected", "client A has a session"} {
		if got, err := s.Do(t.Context(), text, steps.StepArg{}); err != nil || got.Err != nil {
			t.Fatal(err, got.Err)
		}
	}
	if got := s.Names(); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("the parties are %q", got)
	}
	for _, name := range []string{"debugger", "general", "Debugger"} {
		if !slices.Contains(s.Known(), name) {
			t.Errorf("%s is not known among %q", name, s.Known())
		}
	}
	before := s.Known()
	for _, data := range []string{`{"description":"long"}`, `{"id":7}`, `{"id":"with \" quotes"}`, `{"id":"two\nlines"}`,
		`{"id":""}`, `{"id":"` + strings.Repeat("x", 81) + `"}`, `{"requestId":"r-1"}`, `{"message_id":"m-1"}`,
		`{"paid":"no"}`} {
		say(s, data)
	}
	if got := s.Known(); !slices.Equal(got, before) {
		t.Errorf("%q is known now, and was %q", got, before)
	}
	say(s, `{"toolName":"t1","session_id":"s1","tool":"t2","agents":["a1",{"id":"a2"}],"x":{"userName":"u1"}}`)
	for _, name := range []string{"t1", "s1", "t2", "a1", "a2", "u1"} {
		if !slices.Contains(s.Known(), name) {
			t.Errorf("%s is not known among %q", name, s.Known())
		}
	}
	for i := range 5000 {
		say(s, fmt.Sprintf(`{"id":"id-%d"}`, i))
	}
	if got := s.Known(); len(got) > 1000 || !slices.Contains(got, "id-4999") || slices.Contains(got, "id-1") {
		t.Errorf("%d names are known", len(got))
	}
}

// say makes a message with some data arrive.
func say(s *simulator.Session, data string) {
	s.Transcript().Append(transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Frame, Type: "text",
		Bytes: []byte(`{"type":"news","data":` + data + `}`)})
}
