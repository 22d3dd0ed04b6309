package terminal

import (
	"fmt"
	"testing"
)

// TestSteady: what differs from run to run is replaced, and nothing else.
func TestSteady(t *testing.T) {
	s := steadyNames{nonce: "live-ws-1f2e3d", names: map[string]string{}}
	for _, row := range []struct{ reason, in, want string }{
		{"ids by the order in which they come", "sess_7CGQNWWQNIQT conn_CZ3M4VBX12", "<id 1> <id 2>"},
		{"the same id again", "conn_CZ3M4VBX12", "<id 2>"},
		{"a UUID", "0d5c1f0e-5bb2-4c56-9a39-5e1d0f6a7c11", "<id 3>"},
		{"capitals alone", "ABCDEFGHIJKLMN", "<id 4>"},
		{"names are not ids", "previousAgentId requirement_analyzer agent_not_found session-runtime",
			"previousAgentId requirement_analyzer " +
				"agent_not_found session-runtime"},
		{"times", "2026-02-13T10:22:17.123Z 1770978137123", "<time> <time>"},
		{"durations", "within 10s, +1.2 ms", "within <duration>, <duration>"},
		{"ports of this machine", "http://127.0.0.1:4711/x", "http://127.0.0.1:<port>/x"},
		{"the session's own names", "red-live-ws-1f2e3d", "red-<nonce>"},
	} {
		if got := s.steadyText(row.in); got != row.want {
			t.Errorf("%s: %q becomes %q, want %q", row.reason, row.in, got, row.want)
		}
	}
}

func TestExpand(t *testing.T) {
	got := fmt.Sprint(expandChoices(`client X (connects|reconnects)[ at once]`))
	want := `[client X connects client X connects at once client X reconnects client X reconnects at once]`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestContinues: a line is completed up to the next open place of its pattern.
func TestContinues(t *testing.T) {
	pattern := `client X switches to "…" at once`
	for _, row := range []struct {
		line, rest, begun string
		ok                bool
	}{
		{"", "client ", "", true},
		{"cli", "ent ", "", true},
		{"client ", "", "X", true},
		{"client A", "", "X", true},
		{"client A ", `switches to "`, "", true},
		{"client A sw", `itches to "`, "", true},
		{`client A switches to "`, "", `"…"`, true},
		{`client A switches to "deb`, "", `"…"`, true},
		{`client A switches to "debugger"`, "", "", true},
		{`client A switches to "debugger" `, "at once", "", true},
		{`client A switches to "debugger" at once`, "", "", true},
		{`client A switches to "debugger" at onceX`, "", "", false},
		{"agent", "", "", false},
		{"client A leaves", "", "", false},
	} {
		if rest, begun, ok := continuesPattern(pattern, row.line); rest != row.rest || begun != row.begun ||
			ok != row.ok {
			t.Errorf("%q goes on with %q, or what is open, %q (%v), want %q, %q (%v)", row.line, rest, begun, ok, row.rest,
				row.begun, row.ok)
		}
	}
}
