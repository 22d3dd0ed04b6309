package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
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

// awaits waits until the screen shows one of some texts.
func (s *screen) awaits(t *testing.T, texts ...string) {
	t.Helper()
	shows := func(text string) bool { return strings.Contains(s.String(), text) }
	for end := time.Now().Add(time.Minute); !slices.ContainsFunc(texts, shows); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the screen never shows %q:\n%s", texts, s)
		}
	}
}

// TestKeyboard: Ctrl-C interrupts the lines entered before it, whether their steps have begun or not, and nothing that
// is entered later; if none is left, it clears the line.
func TestKeyboard(t *testing.T) {
	in, keys := io.Pipe()
	k := &keyboard{in: in}
	types := func(text, want string) {
		t.Helper()
		go func() { _, _ = io.WriteString(keys, text) }()
		p := make([]byte, 100)
		if n, err := k.Read(p); err != nil || string(p[:n]) != want {
			t.Fatalf("%q is read as %q, %v; want %q", text, p[:n], err, want)
		}
	}
	does := func(line int) (done bool, err error) {
		err = k.callInterruptibly(t.Context(), line, func(context.Context) error { done = true; return nil })
		return done, err
	}
	types("first\r\x03", "first\r") // before the line has been read
	if done, err := does(k.countLine()); done || !errors.Is(err, context.Canceled) {
		t.Errorf("the first step is done: %v, %v", done, err)
	}
	types("half\x03", "half\x15")
	types("second\r", "second\r")
	second := k.countLine()
	types("\x03third\r", "third\r") // before the step has begun
	third := k.countLine()
	if done, err := does(second); done || !errors.Is(err, context.Canceled) {
		t.Errorf("the second step is done: %v, %v", done, err)
	}
	if done, err := does(third); !done || err != nil {
		t.Errorf("the third step is not done: %v", err)
	}
	err := k.callInterruptibly(t.Context(), k.countLine(), func(ctx context.Context) error {
		types("\x03fifth\r", "fifth\r") // while the step runs
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the fourth step ends with %v", err)
	}
	if done, err := does(k.countLine()); !done || err != nil {
		t.Errorf("the fifth step is not done: %v", err)
	}
}

// TestConverse: what a person types is completed, also from what the session knows, carried out and judged; a mistake
// ends nothing, and the end of input
// interrupts a step and nothing else.
func TestConverse(t *testing.T) {
	opts, err := connectOptions{driver: "ws"}.sessionOptions("")
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
		over <- holdConversation(t.Context(), live, in, shown, [2]int{200, 50},
			door.Options{Session: live, Width: 180, Times: true})
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
	shown.awaits(t, "✓ AC-110 AC-116")
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
	shown.awaits(t, "\n  A\r", "\x1b[K  A\r") // behind a prompt that is cleared, if there is one yet
	types(".quit\r")
	if err := <-over; err != nil {
		t.Errorf("it ends with %v", err)
	}
	_ = keys.Close()
}
