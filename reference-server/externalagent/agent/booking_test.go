package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
)

// straight is the sequence of calls of a booking without detours.
var straight = []string{
	`select {"itemId":"movie-1"}`, `next {}`, `select {"itemId":"theater-1"}`, `next {}`, `select {"itemId":"date-1"}`,
	`next {}`,
	`select {"itemId":"time-1"}`, `next {}`, `select {"itemId":"seat-1"}`, `next {}`,
	`setQuantity {"itemId":"adult","quantity":1}`, `next {}`, `next {}`,
}

func TestBooksWithoutDetour(t *testing.T) {
	for name, h := range map[string]host{
		"JSON Schema, result first": {},
		"JSON Schema, update first": {updateFirst: true},
		"flat, result first":        {flat: true},
		"flat, update first":        {flat: true, updateFirst: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := book(t, &h, Options{StudyID: "pilot-01", ParticipantID: "P07"})
			o := w.wantBooked()
			if diff := cmp.Diff(straight, h.calls); diff != "" {
				t.Error(diff)
			}
			want := Outcome{Booked: true, Ended: true, Reason: "study-complete", Calls: 13, Connections: 1, Session: "s-1",
				LogFile: "logs/study/a.jsonl"}
			if diff := cmp.Diff(want, o); diff != "" {
				t.Error(diff)
			}
			if w.now != 0 {
				t.Errorf("it took %v although nothing was missing", w.now)
			}
			first := []string{proto.RelayJoin, proto.SessionStart, proto.SnapshotGet, proto.AgentMessage, proto.ToolCall}
			if diff := cmp.Diff(first, w.types()[:5]); diff != "" {
				t.Error(diff)
			}
			if start := w.sent[1].Payload(); start["studyId"] != "pilot-01" || start["participantId"] != "P07" {
				t.Errorf("session.start says %v", start)
			}
			if len(h.said) != len(proto.Stages()) {
				t.Errorf("messages, one per stage: %q", h.said)
			}
		})
	}
}

func TestWaitsForJoined(t *testing.T) {
	h := &host{before: func(_ *host, msg Message) ([]Message, bool) {
		if msg.Type() != proto.RelayJoin {
			return nil, false
		}
		return []Message{newPush(proto.RelayJoined, object{"role": "agent", "sessionId": "default"}),
			answerTo(msg.With("id", "join-999"), proto.RelayJoined, object{}), answerTo(msg, proto.SessionStarted,
				object{"sessionId": "s"})}, true
	}}
	w := newWorld(t, h, Options{})
	w.run(4900 * time.Millisecond)
	if diff := cmp.Diff([]string{proto.RelayJoin}, w.types()); diff != "" {
		t.Error(diff)
	}
	w.run(200 * time.Millisecond)
	if w.dials != 2 {
		t.Errorf("%d connections after 5 s without relay.joined", w.dials)
	}
}

// EA-072, EA-074: the tool.result shows a different state than state.updated.
func TestActsOnStateUpdatedAlone(t *testing.T) {
	for _, updateFirst := range []bool{false, true} {
		h := &host{updateFirst: updateFirst, after: func(_ *host, _ Message, answer []Message) []Message {
			for i, a := range answer {
				if a.Type() == proto.ToolResult {
					answer[i] = a.With("payload", object{"ok": true, "toolName": a.Payload()["toolName"],
						"toolSchema": []any{object{"name": "win"}},
						"uiSpec":     object{"stage": "elsewhere", "items": []any{item3("gold", true, "free")}}})
				}
			}
			return answer
		}}
		w := book(t, h, Options{})
		w.wantBooked()
		if diff := cmp.Diff(straight, h.calls); diff != "" {
			t.Error(diff)
		}
	}
}

// EA-053, EA-054: the first state.updated after a result may still show the old state.
func TestWaitsForTheStateThatFollows(t *testing.T) {
	var old Message
	h := &host{}
	h.before = func(h *host, msg Message) ([]Message, bool) { old = h.update(); return nil, false }
	h.after = func(_ *host, msg Message, answer []Message) []Message {
		if msg.Type() == proto.ToolCall && h.name() != "" {
			return slices.Insert(answer, 1, old)
		}
		return answer
	}
	w := book(t, h, Options{})
	w.wantBooked()
	if diff := cmp.Diff(straight, h.calls); diff != "" || w.now != 0 {
		t.Errorf("after %v: %s", w.now, diff)
	}
}

// EA-077: no state.updated at all.
func TestAsksForASnapshotWhenNoStateFollows(t *testing.T) {
	h := &host{after: func(_ *host, msg Message, answer []Message) []Message {
		return slices.DeleteFunc(answer, func(a Message) bool { return a.Type() == proto.StateUpdated })
	}}
	w := book(t, h, Options{Patience: 300 * time.Millisecond})
	w.wantBooked()
	if diff := cmp.Diff(straight, h.calls); diff != "" {
		t.Error(diff)
	}
	if n := count(w.types(), proto.SnapshotGet); n != 14 || w.now != 13*300*time.Millisecond {
		t.Errorf("%d snapshots in %v", n, w.now)
	}
}

// An unanswered call is not repeated: the snapshot shows its effect.
func TestAsksForASnapshotWhenNoResultComes(t *testing.T) {
	h := &host{after: func(h *host, msg Message, answer []Message) []Message {
		if msg.Type() == proto.ToolCall && (len(h.calls) == 1 || len(h.calls) == 4) {
			return nil
		}
		return answer
	}}
	w := book(t, h, Options{})
	w.wantBooked()
	if diff := cmp.Diff(straight, h.calls); diff != "" || w.now != 10*time.Second {
		t.Errorf("after %v: %s", w.now, diff)
	}
}

func TestHearsTheUser(t *testing.T) {
	h := &host{}
	h.after = func(h *host, msg Message, answer []Message) []Message {
		if msg.Type() == proto.SnapshotGet {
			answer = append(answer, newPush(proto.UserMessage, object{"text": "I prefer EVENING showtimes, not afternoon.",
				"stage": "movie"}))
		}
		return answer
	}
	w := book(t, h, Options{})
	w.wantBooked()
	if i := slices.IndexFunc(h.said, func(s string) bool {
		return strings.Contains(s, "EVENING")
	}); i < 0 || len(h.said) != 1+len(proto.Stages()) {
		t.Errorf("said %q", h.said)
	}
	for _, c := range []string{`select {"itemId":"theater-2"}`, `select {"itemId":"time-2"}`} {
		if !slices.Contains(h.calls, c) {
			t.Errorf("%s is missing in %q", c, h.calls)
		}
	}
}

// Nothing follows session.end.
func TestSaysNothingAfterTheEnd(t *testing.T) {
	h := &host{after: func(_ *host, msg Message, answer []Message) []Message {
		if msg.Type() == proto.SessionEnd {
			return append([]Message{newPush(proto.UserMessage, object{"text": "Wait!", "stage": "confirm"})}, answer...)
		}
		return answer
	}}
	w := book(t, h, Options{})
	w.wantBooked()
	if last := w.sent[len(w.sent)-1]; last.Type() != proto.SessionEnd {
		t.Errorf("the last message is %s", canonicalText(last))
	}
}

// The number of tickets equals the number of seats, however many attempts it takes.
func TestSetsTheSumThatIsRight(t *testing.T) {
	h := &host{seats: 2}
	book(t, h, Options{}).wantBooked()
	if !slices.Contains(h.calls, `setQuantity {"itemId":"adult","quantity":2}`) || slices.Contains(h.calls, "prev {}") {
		t.Errorf("calls %q", h.calls)
	}
	// An agent that joins late learns the sum from a refusal.
	late := &host{seats: 2}
	late.after = func(h *host, msg Message, answer []Message) []Message {
		if msg.Type() == proto.SessionStart {
			h.stage, h.chosen[proto.SeatStage] = 5, []string{"seat-1", "seat-2"}
		}
		return answer
	}
	book(t, late, Options{}).wantBooked()
	if diff := cmp.Diff([]string{
		`setQuantity {"itemId":"adult","quantity":1}`, `next {}`, `setQuantity {"itemId":"adult","quantity":2}`, `next {}`,
		`next {}`,
	}, late.calls); diff != "" {
		t.Error(diff)
	}
}

func TestWaitsWhileNothingIsShown(t *testing.T) {
	hidden := 3
	h := &host{after: func(h *host, msg Message, answer []Message) []Message {
		if msg.Type() == proto.SnapshotGet && hidden > 0 {
			hidden--
			return []Message{answerTo(msg, proto.SnapshotState, object{"sessionId": h.id(), "uiSpec": nil,
				"messageHistory": []any{}, "toolSchema": []any{}})}
		}
		return answer
	}}
	w := book(t, h, Options{})
	w.wantBooked()
	if w.now != 7*time.Second || h.sessions != 1 { // 1 + 2 + 4
		t.Errorf("%d sessions in %v", h.sessions, w.now)
	}
}

func TestEndsTheSessionAtTheCallLimit(t *testing.T) {
	w := book(t, &host{}, Options{MaxCalls: 3})
	if o := w.finish.Outcome; o.Booked || !o.Ended || o.Reason != "call-limit" || o.Calls != 3 {
		t.Errorf("finished with %+v", o)
	}
}
