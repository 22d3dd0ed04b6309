package terminal

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/steps/protocols"
	"parley/steps/sessionruntime/binding"
	"parley/target"
)

// openMutant begins a session with a mutant of session-runtime, which answers no fence and has an hour for each
// message.
func openMutant(t *testing.T, id string) *simulator.Session {
	t.Helper()
	all := bundled.All.Mutants(protocols.Kinds(), "session-runtime", "")
	i := slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == id })
	b := bundled.All.For(protocols.Kinds(), "session-runtime", "")
	patient, unfenced := *b.Profile, *binding.Of(b.Profile)
	patient.Limits.Event.Duration, unfenced.Fence = time.Hour, false
	patient.Sections = []target.Section{{Key: patient.Protocol, Value: &unfenced}}
	s, err := simulator.Open(t.Context(), runner.Options{Protocols: protocols.All, Profile: &patient,
		Launcher: all[i].Launch(b.Brain), Brain: b.Brain})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// paper is what a terminal has printed.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func newPaper() *paper { return &paper{more: make(chan struct{}, 1)} }

// Write implements io.Writer.
func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
	return p.text.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// awaits waits until the paper has a text.
func (p *paper) awaits(t *testing.T, text string) {
	t.Helper()
	for want := regexp.MustCompile(text); !want.MatchString(p.String()); {
		select {
		case <-p.more:
		case <-t.Context().Done():
			t.Fatalf("never printed: %s\n%s", text, p)
		}
	}
}

// TestOwed: after a step, a line says what it makes the target owe that has not come, .owed lists it, and a step that
// waits for it says so.
func TestOwed(t *testing.T) {
	s := openMutant(t, "input-not-routed")
	out := newPaper()
	term := New(Options{Session: s, Out: out, TellWaits: time.Nanosecond, Times: true})
	does := func(ctx context.Context, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if err := term.Do(ctx, Line{Text: line}); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	does(t.Context(), `session "main" of agents "a" and "b" where agent "a" is active`, ".owed")
	if text := out.String(); !strings.Contains(text, "  nothing is owed\n") || strings.Contains(text, "owed: ") {
		t.Errorf("before any input:\n%s", text)
	}
	does(t.Context(), `the user says "one"`, ".owed")
	out.awaits(t, `(?m)^  owed: the input on its way to agent agent-a \(RT-001 RT-013 .+\)$`)
	out.awaits(t, `(?m)^  the server owes the input on its way to agent agent-a in main-\S+, \d+ s, RT-001 RT-013 .+
      because of record 5, USER_INPUT to SYSTEM; it settles that
      RT-001 MUST: .+ \(\.explain RT-001\)$`)
	waiting, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); does(waiting, `"one" reaches agent "a"`) }()
	out.awaits(t, `(?m)^  waiting for the input on its way to agent agent-a from the server, \d+ s, `+
		`RT-001 RT-013 RT-015 \+2; Ctrl-C$`)
	cancel()
	<-over
	does(t.Context(), `the user says "two"`)
	if n := strings.Count(out.String(), "  owed: "); n != 1 {
		t.Errorf("what only one step has caused is told %d times:\n%s", n, out)
	}
}
