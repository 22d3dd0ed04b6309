package model

import (
	"testing"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// TestDeath checks of which message a process is said to have died, if of any.
func TestDeath(t *testing.T) {
	const conn = "agent1"
	said := func(kind string, body object) transcript.Record {
		return transcript.Record{Conn: conn, Dir: transcript.Sent, Kind: transcript.Frame, At: time.Second,
			Event: &transcript.Event{Type: kind, Data: body, Envelope: object{vocab.ReplyTo: "req-1", vocab.Payload: body}}}
	}
	end := func(after time.Duration) transcript.Record {
		return transcript.Record{Dir: transcript.Noted, Kind: transcript.Remark, Label: Exited + "exit status 1",
			At: time.Second + after}
	}
	call := transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Frame, At: time.Second}
	left := transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Closed, At: time.Second}
	cut := transcript.Record{Conn: conn, Dir: transcript.Sent, Kind: transcript.Closed, At: time.Second}
	refusal := said(vocab.ErrorMessage, object{"code": vocab.InvalidParams})
	state := said(vocab.StateUpdated, object{vocab.Spec: object{}})
	null := said(vocab.StateUpdated, object{vocab.Spec: nil})
	user := said(vocab.UserMessage, object{"text": "hello"})
	other := said("parley.unknown", object{})
	for _, r := range []struct {
		reason string
		t      []transcript.Record
		want   string // the first clause
	}{
		{"an error", []transcript.Record{call, refusal, left, end(0)}, "EA-074"},
		{"an unknown code", []transcript.Record{call, said(vocab.ErrorMessage, object{"code": "X"}), end(0)}, ""},
		{"a state", []transcript.Record{call, state, end(0)}, "EA-072"},
		{"the user's words, with a state behind them", []transcript.Record{call, user, state, end(0)}, "EA-060"},
		{"a state without a uiSpec behind an error", []transcript.Record{call, refusal, null, end(0)}, "EA-074"},
		{"a type that no source has", []transcript.Record{call, other, state, end(0)}, ""},
		{"it has acted since", []transcript.Record{refusal, call, end(0)}, ""},
		{"it has waited since", []transcript.Record{call, refusal, end(2 * promptly)}, ""},
		{"the connection was lost", []transcript.Record{call, state, cut, end(0)}, ""},
		{"it has not ended", []transcript.Record{call, state}, ""},
	} {
		m := New(vocab.Agent, obligation.Ours)
		for _, rec := range r.t {
			m.Take(rec)
		}
		f, _ := m.Death()
		if got := append(f.Clauses, "")[0]; got != r.want {
			t.Errorf("%s: %q, want %q", r.reason, got, r.want)
		}
	}
}
