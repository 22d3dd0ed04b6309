package externalagent

import (
	"strings"
	"testing"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

// TestRestarts checks that an agent which only talks is given up, although each of its messages restarts the limit.
func TestRestarts(t *testing.T) {
	const pace = 50 * soon
	within(t, vocab.Agent, "", func(s *suite) error {
		s.agent = &callee{ended: make(chan struct{}), play: host(t, true)}
		s.wire.Agent.Pace.Duration = pace
		ticks, over := time.NewTicker(pace/50), make(chan struct{})
		defer close(over)
		defer ticks.Stop()
		go func() {
			for {
				select {
				case <-ticks.C:
					s.T.Append(talks())
				case <-over:
					return
				}
			}
		}()
		_, miss := s.awaitAgent(t.Context(), 0, s.pace(), received(vocab.ToolCall))
		if miss == nil || !strings.Contains(miss.Reason, "which is 4 times external-agent.agent.pace") {
			t.Errorf("%v", miss)
		}
		s.agent = nil // there is nothing to stop
		return nil
	})
}

func talks() transcript.Record {
	return transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame,
		Bytes: mustEncode(envelope(vocab.AgentMessage, "m", "", object{}))}
}

// TestAbsences checks in which situations a wait is shortened.
func TestAbsences(t *testing.T) {
	const limit = 10 * time.Second
	at := situation{"the booking is done", "agent.message relay.join"}
	for _, row := range []struct {
		reason  string
		prepare func(a *absences)
		at      situation
		want    time.Duration // since the latest act
		all     time.Duration
		short   bool
	}{
		{"missed twice", func(a *absences) {
			a.record(at, false, false, limit)
			a.record(at, false, false, limit)
		}, at, limit, 0, false},
		{"missed three times", missed(at), at, limit / 5, limit, true},
		{"something else is awaited", missed(at), situation{"a call", at.sent}, limit, 0, false},
		{"the agent has sent more", missed(at), situation{at.awaited, at.sent + " session.start"}, limit, 0, false},
		{"it came after all", func(a *absences) { missed(at)(a); a.record(at, true, false, 0) }, at, limit, 0, false},
		{"other things took a second", func(a *absences) {
			missed(at)(a)
			a.record(situation{"a call", at.sent}, true, false, time.Second)
		}, at, 4 * time.Second, limit, true},
		{"other things took long", func(a *absences) {
			missed(at)(a)
			a.record(situation{"a call", at.sent}, true, false, limit)
		}, at, limit, limit, true},
		{"missed three times more, though other things took long", func(a *absences) {
			missed(at)(a)
			a.record(situation{"a call", at.sent}, true, false, limit)
			for range misses {
				a.record(at, false, true, limit)
			}
		}, at, limit / 5, limit / 5, true},
		{"and then it came", func(a *absences) {
			missed(at)(a)
			for range misses {
				a.record(at, false, true, limit)
			}
			a.record(at, true, true, 0)
		}, at, limit, 0, false},
	} {
		var a absences
		row.prepare(&a)
		if got, all, short := a.shorten(row.at, limit); got != row.want || all != row.all || short != row.short {
			t.Errorf("%s: %v, %v, %t; want %v, %v, %t", row.reason, got, all, short, row.want, row.all, row.short)
		}
	}
}

func missed(at situation) func(a *absences) {
	return func(a *absences) {
		for range misses {
			a.record(at, false, false, 0)
		}
	}
}

// TestAgentWait checks what shortens a wait for an agent, and that a call, or a limit of the profile, rules that out.
func TestAgentWait(t *testing.T) {
	within(t, vocab.Agent, "", func(s *suite) error {
		s.agent = &callee{}
		message, call := talks(), talks()
		message.Event = &transcript.Event{Type: vocab.AgentMessage}
		call.Event = &transcript.Event{Type: vocab.ToolCall}
		for range misses {
			w := s.newAgentWait("it", s.pace(), 0)
			w.sees(&message)
			w.over(false)
		}
		w := s.newAgentWait("it", s.pace(), 0)
		if got := w.limit(); got != s.pace().Duration {
			t.Errorf("before its messages: %v", got)
		}
		w.sees(&message)
		if got := w.limit(); got > s.pace().Duration/hurry {
			t.Errorf("after the same messages: %v", got)
		}
		w.sees(&call)
		if got := w.limit(); got != s.pace().Duration {
			t.Errorf("after a call: %v", got)
		}
		s.wire.Agent.Pace.Duration *= 2
		w = s.newAgentWait("it", s.pace(), 0)
		w.sees(&message)
		if got := w.limit(); got != s.pace().Duration {
			t.Errorf("with a limit of the profile: %v", got)
		}
		s.agent = nil
		return nil
	})
}
