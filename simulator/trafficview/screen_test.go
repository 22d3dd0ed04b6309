package trafficview

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/features/verdict"
	"parley/simulator/gate"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/transport/transcript"
)

// newTestScreen is a screen of 20 lines with three messages, of which the second breaks a clause and the third keeps
// some.
func newTestScreen(t *testing.T, o Options) *screen {
	t.Helper()
	o.TypeOf = func(body []byte) string {
		_, rest, _ := strings.Cut(string(body), `"type":"`)
		typ, _, _ := strings.Cut(rest, `"`)
		return typ
	}
	s := newScreen(New(o))
	s.Update(tea.WindowSizeMsg{Width: 110, Height: 20})
	redact := transcript.NewRedactor("hush-hush")
	for i, text := range []string{`{"type":"ping"}`, `{"type":"switched","to":"b"}`, `{"type":"said","key":"hush-hush"}`} {
		dir := transcript.Received
		if i == 0 {
			dir = transcript.Sent
		}
		s.v.Add(transcript.Record{N: i + 1, Conn: "C1", Dir: dir, Kind: transcript.Frame, Bytes: []byte(text)}, redact)
	}
	s.v.Check(proxy.Checked{Held: map[int][]string{3: {"X-001", "X-002"}}, Broken: []proxy.Broken{{N: 2, Role: "server",
		Failure: steps.Failure{Clause: "X-003", Outcome: verdict.Failed,
			Finding: verdict.Finding{Expected: "to a", Observed: "to b"}}}}})
	s.Update(tick{})
	return s
}

// text is what a screen shows.
func (s *screen) text() string { return ansi.Strip(s.View().Content) }

// pressAll presses keys: a character, or a name.
func (s *screen) pressAll(keys ...string) (last tea.Cmd) {
	named := map[string]tea.KeyPressMsg{"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "backspace": {Code: tea.KeyBackspace}}
	for _, k := range keys {
		msg, ok := named[k]
		if !ok {
			msg = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		}
		_, last = s.Update(msg)
	}
	return last
}

func wants(t *testing.T, s *screen, what string, has ...string) {
	t.Helper()
	got := s.text()
	for _, want := range has {
		no, absent := strings.CutPrefix(want, "no:")
		if strings.Contains(got, no) == absent {
			t.Errorf("%s: %q\n%s", what, want, got)
		}
	}
}

// TestScreen: each message has a line with its judgement; keys move, inspect, filter, pause, copy and export.
func TestScreen(t *testing.T) {
	t.Parallel()
	var exported []transcript.Record
	fails := false
	s := newTestScreen(t, Options{Judges: "p: 5 clauses", Export: func(r []transcript.Record) (string, error) {
		if exported = r; fails {
			return "", errors.New("disk full")
		}
		return "x.jsonl", nil
	}})
	wants(t, s, "at first", "p: 5 clauses", "→ ping", "← switched                  ✗ X-003  {", "said", "✓ 2", "following",
		"no:hush-hush")
	s.pressAll("k")
	wants(t, s, "moved up", "no:following")
	s.pressAll("enter")
	wants(t, s, "inspected", "message 2 of C1: switched", "✗ X-003 failed (server)", "expected  to a", "observed  to b",
		`  "to": "b"`, "no:ping")
	s.pressAll("esc", "/", "v", "e", "r", "d", "i", "c", "t", ":", "f", "x", "backspace")
	wants(t, s, "filtered while typing", "filter: verdict:f▏ (1)", "switched", "no:ping")
	s.pressAll("enter", "e")
	if len(exported) != 1 || exported[0].N != 2 {
		t.Errorf("exported %v", exported)
	}
	wants(t, s, "exported", "1 messages are in x.jsonl")
	fails = true
	s.pressAll("e")
	wants(t, s, "not exported", "disk full")
	s.pressAll("esc", "p")
	s.v.Add(transcript.Record{N: 4, Conn: "C2", Kind: transcript.Frame, Dir: transcript.Sent,
		Bytes: []byte(`{"type":"late"}`)}, transcript.NewRedactor())
	s.Update(tick{})
	wants(t, s, "paused", "paused", "no:late", "ping")
	s.pressAll("p", "f")
	s.Update(tick{})
	wants(t, s, "continued", "late", "following", "no:paused")
	s.pressAll("/", "-", "c", "o", "n", "n", ":", "c", "1", "enter")
	wants(t, s, "excluded", "late", "no:switched")
	if copied := s.pressAll("y"); copied == nil {
		t.Error("y copies nothing")
	}
	s.pressAll("?")
	wants(t, s, "help", "export the shown messages")
	if _, ok := s.pressAll("q")().(tea.QuitMsg); !ok {
		t.Error("q does not quit")
	}
}

// TestScreenIsBounded: of many messages the last ones are kept, and none is lost that is shown.
func TestScreenIsBounded(t *testing.T) {
	t.Parallel()
	s := newScreen(New(Options{}))
	for n := 1; n <= maxItems+1; n++ {
		s.v.Add(transcript.Record{N: n, Kind: transcript.Frame, Bytes: bytes.Repeat([]byte("x"), maxPayload+n%2)},
			transcript.NewRedactor())
		if n%1000 == 0 {
			s.Update(tick{})
		}
	}
	s.Update(tick{})
	if n := len(s.items); n > maxItems || s.items[n-1].r.N != maxItems+1 || s.chosen().r.N != maxItems+1 ||
		len(s.items[n-1].r.Bytes) != maxPayload || s.items[n-1].r.Cut != 1 {
		t.Errorf("%d items, the last is %d", n, s.items[n-1].r.N)
	}
}

// TestHold: messages wait in order while they are held, one passes at a time, and all when that ends; who gives up or
// has gone waits no longer.
func TestHold(t *testing.T) {
	t.Parallel()
	s := newTestScreen(t, Options{})
	passed := make(chan string)
	hold := func(ctx context.Context, m gate.Message) {
		s.v.Hold(ctx, m)
		passed <- string(m.Body)
	}
	queued := func(n int) {
		t.Helper()
		for {
			if _, have, _ := s.v.hold.state(); have == n {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	go hold(t.Context(), gate.Message{Body: []byte("free")})
	<-passed
	s.pressAll("h")
	gone := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	for i, m := range []gate.Message{{Body: []byte("1"), From: gate.Server, Conn: "C7"}, {Body: []byte("2")},
		{Body: []byte("gone"), Gone: gone}, {Body: []byte("cancelled")}, {Body: []byte("3")}} {
		with := t.Context()
		if string(m.Body) == "cancelled" {
			with = ctx
		}
		go hold(with, m)
		queued(i + 1)
	}
	go hold(t.Context(), gate.Message{Body: []byte("closed"), Kind: transcript.Closed})
	if got := <-passed; got != "closed" {
		t.Errorf("%q passed, and an end must not wait", got)
	}
	wants(t, s, "held", "holding: 5 wait, first  of the server on C7")
	s.pressAll("n")
	if got := <-passed; got != "1" {
		t.Errorf("%q passed first", got)
	}
	close(gone)
	<-passed
	cancel()
	<-passed
	queued(2)
	s.pressAll("h")
	<-passed
	<-passed
	wants(t, s, "released", "no:holding")
	if n := s.v.Held(); n != 5 {
		t.Errorf("%d were held, want 5", n)
	}
}

// TestRun: the program reads keys and draws; it ends with q, and with its context, and holds nothing back afterwards.
func TestRun(t *testing.T) {
	t.Parallel()
	keys, typing := io.Pipe()
	v := New(Options{In: keys, Out: io.Discard})
	ended := make(chan error)
	go func() {
		ended <- v.Run(t.Context(), "here → there", &passing{stats: proxy.Stats{Open: 1}})
	}()
	if _, err := typing.Write([]byte("h")); err != nil {
		t.Fatal(err)
	}
	for on := false; !on; on, _, _ = v.hold.state() {
		time.Sleep(time.Millisecond)
	}
	if _, err := typing.Write([]byte("q")); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if on, _, _ := v.hold.state(); on {
		t.Error("messages are held after the end")
	}
	ctx, cancel := context.WithCancel(t.Context())
	keys, _ = io.Pipe()
	v = New(Options{In: keys, Out: io.Discard})
	go func() { ended <- v.Run(ctx, "", nil) }()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
