package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
)

// failing returns a host that refuses the nth tool.call of a run with a code, in one of two ways.
func failing(nth int, code string, withOK bool) *host {
	n := 0
	return &host{before: func(_ *host, msg Message) ([]Message, bool) {
		if msg.Type() != proto.ToolCall {
			return nil, false
		}
		if n++; n != nth {
			return nil, false
		}
		if withOK {
			return []Message{answerTo(msg, proto.ToolResult, object{"ok": false, "error": object{"code": code,
				"message": "no"}})}, true
		}
		return []Message{refusal(msg, code)}, true
	}}
}

// EA-078 to EA-083, EA-104: whichever call fails, and however it fails, the booking continues, and the call is not
// repeated in the same state.
func TestGoesOnAfterErrors(t *testing.T) {
	codes := append(proto.Codes(), "SOMETHING_ELSE")
	for _, code := range codes {
		for _, withOK := range []bool{false, true} {
			for nth := 1; nth <= len(straight); nth++ {
				switch {
				case code == proto.SessionNotActive || code == proto.NoActiveSpec:
					continue // of their own
				case withOK && code != proto.ToolExecutionFailed:
					continue // the same as an error
				}
				w := book(t, failing(nth, code, withOK), Options{})
				o := w.wantBooked()
				if o.Failed == 0 || w.host.sessions != 1 {
					t.Errorf("%s, call %d: %+v", code, nth, o)
				}
				calls := slices.DeleteFunc(slices.Clone(w.sent), func(m Message) bool { return m.Type() != proto.ToolCall })
				if a, b := calls[nth-1].Payload(), calls[nth].Payload(); canonicalText(a) == canonicalText(b) {
					t.Errorf("%s, call %d: made again: %s", code, nth, canonicalText(a))
				}
			}
		}
	}
}

func TestStartsTheSessionAgain(t *testing.T) {
	for _, withOK := range []bool{false, true} {
		for nth := 1; nth <= len(straight); nth++ {
			if withOK && nth > 2 {
				continue // the same as an error
			}
			h := failing(nth, proto.SessionNotActive, withOK)
			w := book(t, h, Options{})
			w.wantBooked()
			if h.sessions != 2 || count(w.types(), proto.SessionStart) != 2 {
				t.Errorf("call %d: %d sessions", nth, h.sessions)
			}
			if diff := cmp.Diff(straight, h.calls[nth-1:]); diff != "" {
				t.Errorf("call %d: %s", nth, diff)
			}
		}
	}
}

func TestLooksWhenNoSpecIsActive(t *testing.T) {
	for _, withOK := range []bool{false, true} {
		h := failing(4, proto.NoActiveSpec, withOK)
		w := book(t, h, Options{})
		w.wantBooked()
		if count(w.types(), proto.SnapshotGet) != 2 {
			t.Errorf("sent %q", w.types())
		}
	}
	// The host has booked but sent no state.
	h := failing(4, proto.NoActiveSpec, false)
	before := h.before
	h.before = func(h *host, msg Message) ([]Message, bool) {
		answer, answered := before(h, msg)
		if answered {
			h.stage = len(proto.Stages())
		}
		return answer, answered
	}
	w := book(t, h, Options{})
	if o := w.wantBooked(); o.Calls != 4 {
		t.Errorf("finished with %+v", o)
	}
}

// Requests other than calls.
func TestRepeatsRefusedRequests(t *testing.T) {
	for _, c := range []struct {
		request, code string
		times         int
		reason        string
	}{
		{proto.RelayJoin, proto.InvalidMessage, 3, "a relay that is full"},
		{proto.SessionStart, proto.SessionNotActive, 5, "no host has joined yet"},
		{proto.SessionStart, proto.InvalidMessage, 5, "the same, of another relay"},
		{proto.SessionStart, "SOMETHING_ELSE", 2, "whatever it is"},
		{proto.SnapshotGet, proto.SessionNotActive, 1, "the session is over already"},
		{proto.SnapshotGet, proto.NoActiveSpec, 2, "nothing is shown yet"},
		{proto.SnapshotGet, proto.InvalidMessage, 2, "whatever it is"},
		{proto.SessionEnd, proto.InvalidMessage, 2, "whatever it is"},
		{proto.AgentMessage, proto.InvalidMessage, 99, "a host that takes none"},
	} {
		t.Run(c.request+" "+c.code+" "+c.reason, func(t *testing.T) {
			n := 0
			h := &host{before: func(_ *host, msg Message) ([]Message, bool) {
				if msg.Type() != c.request || n == c.times {
					return nil, false
				}
				n++
				return []Message{refusal(msg, c.code)}, true
			}}
			w := book(t, h, Options{})
			w.wantBooked()
			if diff := cmp.Diff(straight, h.calls); diff != "" {
				t.Error(diff)
			}
			if len(w.sent) > 60 {
				t.Errorf("%d messages", len(w.sent))
			}
		})
	}
}

// Two parties that keep disagreeing do not flood each other.
func TestRestsBetweenRefusals(t *testing.T) {
	h := &host{before: func(_ *host, msg Message) ([]Message, bool) {
		return []Message{refusal(msg, proto.SessionNotActive)}, msg.Type() != proto.RelayJoin
	}}
	w := newWorld(t, h, Options{})
	w.run(30 * time.Second)
	if n := len(w.sent); n < 20 || n > 100 {
		t.Errorf("%d messages in 30 s", n)
	}
}

// session.end is refused because there is no session, or is never answered.
func TestLeavesASessionThatIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		code  string
		ended bool
	}{"not active": {proto.SessionNotActive, true}, "refused": {proto.InvalidMessage, false}, "no answer": {"", false}} {
		t.Run(name, func(t *testing.T) {
			h := &host{before: func(_ *host, msg Message) ([]Message, bool) {
				if msg.Type() != proto.SessionEnd {
					return nil, false
				}
				if c.code == "" {
					return nil, true
				}
				return []Message{refusal(msg, c.code)}, true
			}}
			w := book(t, h, Options{})
			if w.finish == nil || !w.finish.Outcome.Booked || w.finish.Outcome.Ended != c.ended {
				t.Errorf("finished with %+v", w.finish)
			}
		})
	}
}

// The agent eventually leaves a host that refuses every call.
func TestGivesUpWhenNothingWorks(t *testing.T) {
	h := &host{before: func(_ *host, msg Message) ([]Message, bool) {
		return []Message{refusal(msg, proto.ToolExecutionFailed)}, msg.Type() == proto.ToolCall
	}}
	w := book(t, h, Options{})
	if o := w.finish.Outcome; o.Booked || !o.Ended || o.Reason != "no-way-forward" || o.Calls > 30 {
		t.Errorf("finished with %+v", o)
	}
	if slices.Index(h.calls, "next {}") > slices.Index(h.calls, "prev {}") {
		t.Errorf("calls %q", h.calls)
	}
}

// Without any reply the connection counts as dead.
func TestLeavesADeadConnection(t *testing.T) {
	dead := true
	h := &host{before: func(_ *host, msg Message) ([]Message, bool) {
		return nil, dead && (msg.Type() == proto.SnapshotGet || msg.Type() == proto.SessionStart)
	}}
	w := newWorld(t, h, Options{})
	w.run(16 * time.Second)
	if w.dials != 2 {
		t.Errorf("%d connections", w.dials)
	}
	dead = false
	w.run(time.Minute)
	w.wantBooked()
}
