package agent

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
)

// EA-076: wherever the connection is cut, before or after a frame's message is read, the booking continues where it
// was. The rulebook has the per-connection rules for an agent.
func TestGoesOnAfterACut(t *testing.T) {
	whole := book(t, &host{}, Options{})
	whole.wantBooked()
	for frame := 1; frame <= whole.frames; frame++ {
		for _, lost := range []bool{true, false} {
			t.Run(fmt.Sprintf("frame %d, lost %v", frame, lost), func(t *testing.T) {
				h, cuts := &host{}, 0
				w := book(t, h, Options{}, func(w *world) {
					w.cut = func(f int) (bool, bool) {
						if f != frame {
							return false, false
						}
						cuts++
						return lost, true
					}
				})
				o := w.wantBooked()
				if last := frame == whole.frames && !lost; !last && o.Connections != 2 { // the last frame is session.ended
					t.Errorf("finished with %+v", o)
				}
				if cuts != 1 || h.sessions != 1 {
					t.Errorf("%d cuts, %d sessions", cuts, h.sessions)
				}
				if diff := cmp.Diff(straight, h.calls); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// A relay that cuts every connection after a few frames.
func TestGoesOnAfterManyCuts(t *testing.T) {
	for every := 11; every < 20; every++ {
		h := &host{}
		w := book(t, h, Options{}, func(w *world) {
			w.cut = func(f int) (bool, bool) { return f/every%2 == 0 && f%every == 0, f%every == 0 }
		})
		w.wantBooked()
		if h.sessions != 1 {
			t.Errorf("%d sessions", h.sessions)
		}
	}
}

// The host has lost the study session meanwhile: it refuses requests, or shows no session.
func TestStartsAgainWhenTheSessionIsGone(t *testing.T) {
	for _, shows := range []bool{false, true} {
		var w *world
		h := &host{before: func(h *host, msg Message) ([]Message, bool) {
			if shows && !h.active && msg.Type() == proto.SnapshotGet {
				return []Message{answerTo(msg, proto.SnapshotState, object{"sessionId": "", "uiSpec": nil,
					"messageHistory": []any{}, "toolSchema": []any{}})}, true
			}
			return nil, false
		}}
		w = book(t, h, Options{}, func(w *world) {
			w.cut = func(f int) (bool, bool) {
				if f == 30 {
					w.host.active = false
				}
				return f == 30, f == 30
			}
		})
		w.wantBooked()
		if h.sessions != 2 {
			t.Errorf("%d sessions", h.sessions)
		}
		if diff := cmp.Diff(straight, h.calls[len(h.calls)-len(straight):]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestBacksOff(t *testing.T) {
	var at []time.Duration
	w := newWorld(t, &host{}, Options{})
	w.refuse = func(int) bool { at = append(at, w.now); return true }
	w.run(time.Minute)
	if !errors.Is(w.finish.Err, ErrNoConnection) || w.now != 10*time.Second {
		t.Errorf("finished after %v with %v", w.now, w.finish.Err)
	}
	for i, want := range []time.Duration{5, 10, 20, 40, 80, 160, 320, 500, 500} {
		if got := at[i+1] - at[i]; got != want*time.Millisecond {
			t.Errorf("wait %d was %v", i+1, got)
		}
	}
}

func TestIsPatientWithARelayThatIsDown(t *testing.T) {
	w := book(t, &host{}, Options{}, func(w *world) {
		w.cut = func(f int) (bool, bool) { return f == 20, f == 20 }
		w.refuse = func(dial int) bool { return dial > 1 && w.now < 9*time.Second }
	})
	if o := w.wantBooked(); o.Connections != 2 {
		t.Errorf("finished with %+v", o)
	}
}

// A late reply to a lost call counts as unsolicited.
func TestIgnoresAnswersOfTheLastConnection(t *testing.T) {
	h, cut := &host{}, false
	var late []Message
	h.after = func(_ *host, msg Message, answer []Message) []Message {
		switch {
		case msg.Type() == proto.ToolCall && !cut:
			late, cut = answer[:1], true
			return nil
		case msg.Type() == proto.SnapshotGet:
			return append(late, answer...)
		}
		return answer
	}
	w := book(t, h, Options{}, func(w *world) {
		w.cut = func(int) (bool, bool) { now := cut && w.m.Outcome().Connections == 1; return false, now }
	})
	w.wantBooked()
	if diff := cmp.Diff(straight, h.calls); diff != "" {
		t.Error(diff)
	}
}
