package cli

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/simulator"
	door "parley/simulator/terminal"
)

// screen is what a terminal shows. Safe for concurrent use.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// awaits waits until the screen shows a text.
func (s *screen) awaits(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(s.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the screen never shows %q:\n%s", text, s)
		}
	}
}

// TestConverse: what a person types is completed, also from what the session knows, carried out and judged; a mistake
// ends nothing, and the end of input
// interrupts a step and nothing else.
func TestConverse(t *testing.T) {
	opts, err := connectOptions{driver: "ws"}.session("")
	if err != nil {
		t.Fatal(err)
	}
	live, err := simulator.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { live.Close() })
	in, keys := io.Pipe()
	shown := &screen{}
	over := make(chan error, 1)
	go func() {
		over <- converse(t.Context(), live, in, shown, [2]int{200, 50}, door.Options{Session: live, Width: 180, Times: true})
	}()
	types := func(text string) {
		if _, err := io.WriteString(keys, text); err != nil {
			t.Error(err)
		}
	}
	shown.awaits(t, "A line is a step")
	types("client A is conn\t\r")
	shown.awaits(t, "client A is connected")
	shown.awaits(t, "  ok")
	types("client A has a session\rclient A switches to \"debugger\"\rclient A is switched to \"debugger\"\r")
	shown.awaits(t, "✓ AC-116")
	types("client A switches to \"req\t\r") // an agent that was listed
	shown.awaits(t, `client A switches to "requirement_analyzer"`)
	types("client A is switched to \"requirement_analyzer\"\r")
	types(".close \t reset\r")
	shown.awaits(t, ".close A reset")
	types("client A flies\r")
	shown.awaits(t, `no step matches "client A flies"`)
	types(".wait 60 what never comes\r")
	shown.awaits(t, ".wait 60 what never comes")
	types("\x03")
	shown.awaits(t, "interrupted")
	types("half a line\x03.parties\r")
	shown.awaits(t, "\x1b[K  A\r")
	types(".quit\r")
	if err := <-over; err != nil {
		t.Errorf("it ends with %v", err)
	}
	_ = keys.Close()
}
