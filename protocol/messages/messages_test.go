package messages_test

import (
	"encoding/json"
	"slices"
	"testing"

	"parley/internal/schematest"
	"parley/protocol/messages"
	"parley/simulator/schemas"
	"parley/steps/protocols"
)

// compiled compiles the schema of a message.
func compiled(t *testing.T, m *messages.Message) schematest.Schema {
	t.Helper()
	text, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return schematest.Compile(t, text)
}

// TestSets checks that there is a set for each protocol, whose schemas are JSON Schemas.
func TestSets(t *testing.T) {
	for _, protocol := range protocols.All.Names() {
		all := messages.For(protocol).List()
		if len(all) < 5 {
			t.Errorf("%s has %d messages", protocol, len(all))
		}
		for _, m := range all {
			compiled(t, m)
		}
	}
	if messages.For("no-such-protocol") != nil {
		t.Error("an unknown protocol has messages")
	}
}

// TestExamples checks that the examples of messages that parties send are messages of the set, of the same type, and
// that the set names each of their members.
func TestExamples(t *testing.T) {
	for _, protocol := range protocols.All.Names() {
		set := messages.For(protocol)
		for _, s := range schemas.List(protocol) {
			text, err := json.Marshal(s.Schema["examples"].([]any)[0])
			if err != nil {
				t.Fatal(err)
			}
			var v map[string]any
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatal(err)
			}
			from := messages.Client
			if s.From == "server" {
				from = messages.Server
			}
			kind := set.Type(v)
			m := set.Find(kind, from)
			if m == nil {
				t.Errorf("%s: %q of %s is not known", protocol, kind, s.From)
				continue
			}
			if err := compiled(t, m).Value(v); err != nil {
				t.Errorf("%s %s: %v", protocol, kind, err)
			}
			for name := range v {
				if !slices.Contains(m.Node().Members(), name) {
					t.Errorf("%s %s: nothing is said of %s", protocol, kind, name)
				}
			}
		}
	}
}

// TestType checks how messages are named without a set.
func TestType(t *testing.T) {
	var none *messages.Set
	for want, v := range map[string]any{"a": map[string]any{"type": "a", "event": "b"}, "b": map[string]any{"event": "b"},
		"": []any{}} {
		if got := none.Type(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if none.Find("a", messages.Client) != nil || none.Find("a", messages.Client).Node().Member("b").Item() != nil {
		t.Error("nothing is known of something")
	}
}
