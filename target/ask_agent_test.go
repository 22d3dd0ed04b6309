//go:build unix

package target

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// driven calls an agent that runs already, and is asked by a hook.
func driven(t *testing.T, hook string) (Driven, *Profile) {
	t.Helper()
	p := fakeAgent(t, "agent")
	p.Command, p.Hooks.Call = nil, hook
	c, err := launchAgents(t, p, LaunchOptions{}).Call(t.Context(),
		CallOptions{URL: "ws://127.0.0.1:4711/agent/ws", Session: "s-1"})
	if err != nil {
		t.Fatal(err)
	}
	return c.(Driven), p
}

// TestAsk checks that the hook gets what the agent needs to know.
func TestAsk(t *testing.T) {
	d, p := driven(t, `echo "$PARLEY_ACT|$PARLEY_SCENARIO|$PARLEY_URL|$PARLEY_PORT|$PARLEY_SESSION" > asked; cat >> asked`)
	if err := d.Ask(t.Context(), AskOptions{Act: "tool.call", Scenario: "an agent's calls"}); err != nil {
		t.Fatal(err)
	}
	const want = "tool.call|an agent's calls|ws://127.0.0.1:4711/agent/ws|4711|s-1\n"
	if b, err := os.ReadFile(filepath.Join(p.Dir, "asked")); err != nil || string(b) != want {
		t.Errorf("asked %q (%v), want %q", b, err, want)
	}
	d, _ = driven(t, "")
	var missing *NotDeclaredError
	if err := d.Ask(t.Context(), AskOptions{}); !errors.As(err, &missing) || missing.Key != "hooks.call" {
		t.Errorf("without a hook: %v", err)
	}
}

// TestAskStarted checks that the hook of an agent that was started knows its folder, where its socket may be.
func TestAskStarted(t *testing.T) {
	p := fakeAgent(t, "agent")
	p.Hooks.Call = `test -d "$PARLEY_DIR" && echo "$PARLEY_DIR $PARLEY_PORT2" > asked`
	c, _ := call(t, launchAgents(t, p, LaunchOptions{}), "s-1")
	if err := c.Ask(t.Context(), AskOptions{Act: "connect"}); err != nil {
		t.Fatal(err)
	}
	want := c.fill.dir + " " + c.fill.port2 + "\n"
	if b, err := os.ReadFile(filepath.Join(p.Dir, "asked")); err != nil || string(b) != want {
		t.Errorf("asked %q (%v), want %q", b, err, want)
	}
}

// TestAskFails checks that a hook that fails or hangs is blamed in one sentence.
func TestAskFails(t *testing.T) {
	for _, tt := range []struct{ reason, hook, want string }{
		{"it fails", "echo no socket >&2; exit 3", "hook call: exit status 3\nno socket"},
		{"it hangs", "sleep 60", "hook call: took longer than 300ms"},
		{"it waits for a person who is not there", "read -r _", "hook call: exit status 1"},
	} {
		d, p := driven(t, tt.hook)
		p.Limits.Hook.Duration = 30 * time.Second
		if tt.reason == "it hangs" {
			p.Limits.Hook.Duration = 300 * time.Millisecond
		}
		var failed *HookError
		if err := d.Ask(t.Context(), AskOptions{}); !errors.As(err, &failed) || err.Error() != tt.want {
			t.Errorf("%s: %v, want %q", tt.reason, err, tt.want)
		}
	}
}

// TestPerson checks that each hook gets the line that a person types while it runs.
func TestPerson(t *testing.T) {
	d, p := driven(t, `echo "call a tool, then press Enter" >> terminal; read -r line && echo "$line" >> terminal`)
	typed, person := io.Pipe()
	lines := NewLines(typed)
	asks := func() chan error {
		done := make(chan error, 1)
		go func() { done <- d.Ask(context.Background(), AskOptions{Act: "tool.call", Person: lines}) }()
		return done
	}
	for _, line := range []string{"done\n", "again\n"} {
		done := asks()
		if _, err := io.WriteString(person, line); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	const prompt = "call a tool, then press Enter\n"
	if b, err := os.ReadFile(filepath.Join(p.Dir, "terminal")); string(b) != prompt+"done\n"+prompt+"again\n" {
		t.Errorf("the terminal shows %q, %v", b, err)
	}
	if err := person.Close(); err != nil {
		t.Fatal(err)
	}
	var failed *HookError
	if err := <-asks(); !errors.As(err, &failed) || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("at the end of the input: %v", err)
	}
}
