package protocols_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/steps/protocols"
)

// TestIdle: ignored keys are reported if they are given, and every key that a protocol ignores exists.
func TestIdle(t *testing.T) {
	const keys = "name: x\nurl: http://localhost:1\n"
	for _, tt := range []struct{ protocol, more, want string }{
		{"session-runtime", "", ""},
		{"session-runtime", "model: {hook: point}\nhooks: {restart: again}\n", "model hooks.restart"},
		{"session-runtime", "hooks: {reset: empty}\n", ""},
		{"agent-client", "hooks: {reset: empty}\n", "hooks"},
		{"session-chat", "model: {hook: point}\nprovoke: {running_turn: count}\n", ""},
		{"session-chat", "tools: {ask: {name: ask}}\nagents: {default: general}\nhooks: {user-says: say}\n",
			"tools agents hooks.user-says"},
		{"external-agent", "hooks: {user-says: say}\n", ""},
		{"agent-select", "agents: {default: other}\nhooks: {user-says: say}\n", "hooks.user-says"},
	} {
		p, err := protocols.Kinds().Parse([]byte("protocol: "+tt.protocol+"\n"+keys+tt.more), "x.yaml", nil)
		if err != nil {
			t.Errorf("%s: %v", tt.protocol, err)
			continue
		}
		if got := strings.Join(p.Idle(), " "); got != tt.want {
			t.Errorf("%s with %q: %q, want %q", tt.protocol, tt.more, got, tt.want)
		}
	}
	for _, kind := range protocols.Kinds() {
		if p := kind.New(); !slices.Equal(p.Idle(), nil) {
			t.Errorf("%s: %v at the defaults", kind.Protocol, p.Idle())
		}
	}
	files, err := filepath.Glob("../../examples/profiles/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d profiles, %v", len(files), err)
	}
	for _, file := range files {
		if p, err := protocols.Kinds().Load(file); err != nil || len(p.Idle()) > 0 {
			t.Errorf("%s: %v, %v", file, p.Idle(), err)
		}
	}
}
