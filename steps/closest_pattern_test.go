package steps

import "testing"

// TestClosest: of a mistyped step the one that was meant is named first.
func TestClosest(t *testing.T) {
	known := []string{`^client (\w+) is connected$`, `^client (\w+) is offered the custom agent$`,
		`^the answer to client (\w+) is recorded$`, `^client (\w+) has disconnected$`,
		`^client (\w+) (connects|reconnects)$`, `^client (\w+) switches to "([^"]*)"$`,
		`^client (\w+) is switched from "([^"]*)" to "([^"]*)"$`}
	for text, want := range map[string]string{
		"client A is conected":                       "client X is connected",
		"client A is connectd":                       "client X is connected",
		"client A reconects":                         "client X (connects|reconnects)",
		`client A swiches to "debugger"`:             `client X switches to "…"`,
		`client A switched from "general" to "plan"`: `client X is switched from "…" to "…"`,
		"the answer of client A is recorded":         "the answer to client X is recorded",
	} {
		if got := Closest(known, text, 1); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := Closest(known, "bananas", 3); got != nil {
		t.Error(got)
	}
	if got := Closest(known, "client A is conected", 2); len(got) != 2 {
		t.Error(got)
	}
}
